use std::{hash::BuildHasher, sync::Arc};

use hashbrown::{DefaultHashBuilder, HashMap};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use super::{
    applied_children::{AppliedChildren, Written},
    failure_log::FailingObject,
    own_writes::OwnWrites,
    run_writes::RunWrites,
    write_limit::{WriteLimit, WritePace},
};
use crate::resource::ObjectKey;

/// What a controller remembers of each object that it has reconciled, until the object is gone.
///
/// The keys are spread over shards, each with its own lock: every worker comes here several times for each key.
#[derive(Debug, Default)]
pub(crate) struct KeyStates {
    shards: [KeyShard; SHARDS],
    hasher: DefaultHashBuilder,
}

/// So many that two workers seldom need the same shard.
const SHARDS: usize = 32;

/// Aligned, so that each shard has its own cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct KeyShard(Mutex<HashMap<ObjectKey, KeyState>>);

/// What is remembered of one object. There is one per object and most fields are empty, so rare fields are boxed.
#[derive(Debug, Default)]
pub(crate) struct KeyState {
    /// Whether the user's code was called for the object, so that `deleted` has to be called when it is gone.
    pub(crate) called: bool,
    /// Whether only `pace` is remembered, because the predicate leaves the object out.
    is_left_out: bool,
    /// How much its calls wrote lately.
    pub(crate) pace: WritePace,
    /// The last apply of each child.
    pub(crate) applied: AppliedChildren,
    /// The last status that was written.
    pub(crate) status: Option<Box<WrittenStatus>>,
    /// The last cleanup that succeeded.
    pub(crate) cleaned: Option<Box<Cleaned>>,
    /// The last run that succeeded.
    pub(crate) succeeded: u64,
    /// The versions of the object that this controller wrote.
    pub(crate) own_writes: Option<Box<OwnWrites>>,
    /// What the last run wrote to other objects, as long as the events of these writes are still to come.
    pub(crate) run_writes: Option<Box<RunWrites>>,
    /// The failure of the last call; `None` if it succeeded.
    pub(crate) failure: Option<Arc<LastFailure>>,
    /// What the framework's condition `Ready` says.
    pub(crate) ready: Option<Box<PublishedReady>>,
}

/// How a call failed, for reports.
#[derive(Debug)]
pub(crate) struct LastFailure {
    pub(crate) text: Box<str>,
    pub(crate) at: Instant,
    /// The time of the first failure in a row.
    pub(crate) since: Instant,
    /// Counts the object in its series of the failure log.
    _failing: FailingObject,
}

/// A status as the controller wrote it and as the server stored it. The two differ if the server leaves out zero values.
#[derive(Clone, Debug)]
pub(crate) struct WrittenStatus {
    pub(crate) written: Written,
    pub(crate) stored: u128,
}

/// An object whose cleanup has succeeded, and for which finalizer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cleaned {
    pub(crate) uid: Option<String>,
    pub(crate) finalizer: Arc<str>,
}

/// What the condition `Ready` of one object says. `version` is the version of the object that says so, or at which the
/// framework left the condition to another field manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PublishedReady {
    pub(crate) fingerprint: u128,
    pub(crate) version: String,
}

/// The longest text that is kept of an error, in bytes.
const LONGEST_TEXT: usize = 1024;

impl LastFailure {
    /// A failure that happened now; `before` is the failure of the call before, if it failed.
    pub(crate) fn new(text: &str, failing: FailingObject, before: Option<&Self>) -> Arc<Self> {
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
    /// A call for `key` begins, and `key` is remembered from now on. With `called`, also that the user's code was called for it.
    pub(crate) fn begin(&self, key: &ObjectKey, called: bool) {
        let mut key_states = self.lock(key);
        let state = key_states.entry_ref(key).or_default();
        state.called |= called;
        state.is_left_out = false;
        state.pace.begin_call();
        // The call begins with what the caches have now. A later event may be news to it.
        state.run_writes = None;
    }

    /// Whether `key` is remembered, and not only how much it wrote.
    pub(crate) fn contains(&self, key: &ObjectKey) -> bool {
        let key_states = self.lock(key);
        key_states
            .get(key.as_str())
            .is_some_and(|state| !state.is_left_out)
    }

    /// Forgets `key` because the predicate leaves its object out, except for how much its calls wrote, as long as that matters
    /// for `limit`.
    pub(crate) fn leave_out(&self, key: &ObjectKey, limit: &WriteLimit) {
        let mut key_states = self.lock(key);
        let Some(state) = key_states.get_mut(key.as_str()) else {
            return;
        };
        let left = KeyState {
            is_left_out: true,
            pace: std::mem::take(&mut state.pace),
            ..KeyState::default()
        };
        let forgotten = match limit.is_full(&left.pace) {
            true => key_states.remove(key.as_str()),
            false => Some(std::mem::replace(state, left)),
        };
        // Dropped after the lock is released: it may hold objects.
        drop(key_states);
        drop(forgotten);
    }

    /// Forgets `key`.
    pub(crate) fn remove(&self, key: &ObjectKey) {
        // Dropped after the lock is released: it may hold objects.
        let removed = self.lock(key).remove(key.as_str());
        drop(removed);
    }

    /// Forgets all keys.
    #[cfg(feature = "dev")]
    pub(crate) fn clear(&self) {
        for shard in &self.shards {
            let removed = std::mem::take(&mut *shard.0.lock());
            drop(removed);
        }
    }

    /// Reads or changes what is remembered of `key`. Returns `None` if nothing is.
    pub(crate) fn with<T>(
        &self,
        key: &ObjectKey,
        change: impl FnOnce(&mut KeyState) -> T,
    ) -> Option<T> {
        self.lock(key).get_mut(key.as_str()).map(change)
    }

    /// The keys whose last call failed, at most `limit`.
    pub(crate) fn failures(&self, limit: usize) -> Vec<(ObjectKey, Arc<LastFailure>)> {
        let mut all = Vec::new();
        for shard in &self.shards {
            let key_states = shard.0.lock();
            let failed = key_states.iter().filter_map(|(key, state)| {
                let failure = state.failure.clone()?;
                Some((key.clone(), failure))
            });
            all.extend(failed.take(limit - all.len()));
        }
        all
    }

    /// All keys that are remembered.
    pub(crate) fn keys(&self) -> Vec<ObjectKey> {
        let mut all = Vec::new();
        for shard in &self.shards {
            all.extend(shard.0.lock().keys().cloned());
        }
        all
    }

    /// The number of keys that are remembered.
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.0.lock().len()).sum()
    }

    fn lock(&self, key: &ObjectKey) -> MutexGuard<'_, HashMap<ObjectKey, KeyState>> {
        let hash = self.hasher.hash_one(key.as_str());
        self.shards[hash as usize % SHARDS].0.lock()
    }
}
