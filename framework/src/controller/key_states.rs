use std::{
    hash::BuildHasher,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use hashbrown::{DefaultHashBuilder, HashMap};
use tokio::time::Instant;

use super::{
    applied::{AppliedChildren, Written},
    failure_log::Failing,
    finalizers::Cleaned,
    own_writes::OwnWrites,
    ready_condition::SaidReady,
};
use crate::resource::ObjectKey;

/// What a controller remembers of each object it has reconciled, until the object is gone.
///
/// In parts, each with a lock of its own: all workers come here several times for each key.
#[derive(Debug, Default)]
pub(super) struct KeyStates {
    parts: [Part; PARTS],
    hasher: DefaultHashBuilder,
}

/// Enough that two workers seldom want the same one.
const PARTS: usize = 32;

/// In a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Part(Mutex<HashMap<ObjectKey, KeyState>>);

/// What is remembered of one object. Most objects have little of it, and there is one for each: what is rare is boxed.
#[derive(Debug, Default)]
pub(super) struct KeyState {
    /// The user's code was called for it.
    pub(super) called: bool,
    /// What was applied.
    pub(super) applied: AppliedChildren,
    /// The last status that was written.
    pub(super) status: Option<Box<WrittenStatus>>,
    /// The last successful cleanup.
    pub(super) cleaned: Option<Box<Cleaned>>,
    /// The last run that succeeded.
    pub(super) succeeded: u64,
    /// Which versions of the object are our own doing.
    pub(super) own_writes: Option<Box<OwnWrites>>,
    /// How the last call failed, if it did.
    pub(super) failure: Option<Arc<LastFailure>>,
    /// What its condition says.
    pub(super) ready: Option<Box<SaidReady>>,
}

/// How a call failed, for people to look at.
#[derive(Debug)]
pub(super) struct LastFailure {
    pub(super) text: Box<str>,
    pub(super) at: Instant,
    /// When the first of the failures in a row was.
    pub(super) since: Instant,
    /// Counts the object among those that fail so.
    _failing: Failing,
}

/// A status as it was written and as the server has kept it: it may leave out what is zero.
#[derive(Clone, Debug)]
pub(super) struct WrittenStatus {
    pub(super) written: Written,
    pub(super) kept: u128,
}

/// So much of an error's text is kept, in bytes.
const LONGEST_TEXT: usize = 1024;

impl LastFailure {
    /// One of now, after `before`.
    pub(super) fn new(text: &str, failing: Failing, before: Option<&Self>) -> Arc<Self> {
        let at = Instant::now();
        Arc::new(Self {
            text: text[..text.floor_char_boundary(LONGEST_TEXT)].into(),
            at,
            since: before.map_or(at, |before| before.since),
            _failing: failing,
        })
    }
}

impl KeyStates {
    /// Remembers `key` from now on, and that it was `called`, if it is.
    pub(super) fn begin(&self, key: &ObjectKey, called: bool) {
        let mut states = self.lock(key);
        states.entry_ref(key).or_default().called |= called;
    }

    /// Whether `key` is remembered.
    pub(super) fn contains(&self, key: &ObjectKey) -> bool {
        self.lock(key).contains_key(key.as_str())
    }

    /// Forgets `key`.
    pub(super) fn remove(&self, key: &ObjectKey) {
        // Dropped outside of the lock: it may hold objects.
        let removed = self.lock(key).remove(key.as_str());
        drop(removed);
    }

    /// Forgets all keys.
    #[cfg(feature = "dev")]
    pub(super) fn clear(&self) {
        for part in &self.parts {
            let removed = std::mem::take(&mut *part.lock());
            drop(removed);
        }
    }

    /// Reads or changes what is remembered of `key`; `None` if nothing is.
    pub(super) fn with<T>(
        &self,
        key: &ObjectKey,
        change: impl FnOnce(&mut KeyState) -> T,
    ) -> Option<T> {
        self.lock(key).get_mut(key.as_str()).map(change)
    }

    /// The keys whose last call failed, `limit` at most.
    pub(super) fn failures(&self, limit: usize) -> Vec<(ObjectKey, Arc<LastFailure>)> {
        let mut all = Vec::new();
        for part in &self.parts {
            let states = part.lock();
            let failed = states.iter().filter_map(|(key, state)| {
                let failure = state.failure.clone()?;
                Some((key.clone(), failure))
            });
            all.extend(failed.take(limit - all.len()));
        }
        all
    }

    /// Of how many keys anything is remembered.
    pub(super) fn len(&self) -> usize {
        self.parts.iter().map(|part| part.lock().len()).sum()
    }

    fn lock(&self, key: &ObjectKey) -> MutexGuard<'_, HashMap<ObjectKey, KeyState>> {
        let hash = self.hasher.hash_one(key.as_str());
        self.parts[hash as usize % PARTS].lock()
    }
}

impl Part {
    fn lock(&self) -> MutexGuard<'_, HashMap<ObjectKey, KeyState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
