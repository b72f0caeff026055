use std::collections::HashMap;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::resource::{ObjectKey, ObjectMeta};

/// The running calls of a controller that drops a call when its object has a newer generation.
#[derive(Debug, Default)]
pub(crate) struct Generations {
    running: Mutex<HashMap<ObjectKey, CancellationToken>>,
}

impl Generations {
    /// A call for `key` begins. The worker reads the object after this, so that it misses no change.
    pub(crate) fn begin(&self, key: &ObjectKey) -> Generation<'_> {
        let outdated = CancellationToken::new();
        self.running.lock().insert(key.clone(), outdated.clone());
        Generation {
            generations: self,
            key: key.clone(),
            outdated,
        }
    }

    /// The object was changed. Cancels the running call if the generation is another one or the deletion began.
    pub(crate) fn changed(&self, key: &ObjectKey, old: &ObjectMeta, new: &ObjectMeta) {
        let deletion_began = new.deletion_timestamp.is_some() && old.deletion_timestamp.is_none();
        if deletion_began || old.generation != new.generation {
            self.outdate(key);
        }
    }

    /// Cancels the running call: the object was replaced by another one of its name, or is gone.
    pub(crate) fn outdate(&self, key: &ObjectKey) {
        let running = self.running.lock().get(key.as_str()).cloned();
        if let Some(outdated) = running {
            outdated.cancel();
        }
    }
}

/// One running call. The call ends when this is dropped.
pub(crate) struct Generation<'a> {
    generations: &'a Generations,
    key: ObjectKey,
    pub(crate) outdated: CancellationToken,
}

impl Drop for Generation<'_> {
    fn drop(&mut self) {
        self.generations.running.lock().remove(self.key.as_str());
    }
}
