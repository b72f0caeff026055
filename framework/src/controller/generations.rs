use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio_util::sync::CancellationToken;

use crate::resource::{Object, ObjectKey};

/// The reconciles that run, for a controller that drops one when its object has a newer generation.
#[derive(Debug, Default)]
pub(super) struct Generations {
    running: Mutex<HashMap<ObjectKey, CancellationToken>>,
}

impl Generations {
    /// A run of `key` begins; its object is taken after this, so that no change goes by unseen.
    pub(super) fn begin(&self, key: &ObjectKey) -> Generation<'_> {
        let outdated = CancellationToken::new();
        self.running().insert(key.clone(), outdated.clone());
        Generation {
            generations: self,
            key: key.clone(),
            outdated,
        }
    }

    /// The object was changed: what runs on an older generation is outdated.
    pub(super) fn changed<K: Object>(&self, key: &ObjectKey, old: &K, new: &K) {
        let begins_to_go = new.is_deleting() && !old.is_deleting();
        if begins_to_go || old.metadata().generation != new.metadata().generation {
            self.outdate(key);
        }
    }

    /// The object is another one, or gone.
    pub(super) fn outdate(&self, key: &ObjectKey) {
        let running = self.running().get(key.as_str()).cloned();
        if let Some(outdated) = running {
            outdated.cancel();
        }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<ObjectKey, CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run; over when it is dropped.
pub(super) struct Generation<'a> {
    generations: &'a Generations,
    key: ObjectKey,
    pub(super) outdated: CancellationToken,
}

impl Drop for Generation<'_> {
    fn drop(&mut self) {
        self.generations.running().remove(self.key.as_str());
    }
}
