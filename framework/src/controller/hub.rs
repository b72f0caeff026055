use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};

use super::{key_states::KeyStates, own_writes::Verdict, read_your_writes::ReadYourWrites};
use crate::{
    cache::Lister,
    metrics::ControllerMetrics,
    queue::WorkQueue,
    resource::{ObjectKey, Resource},
};

/// Where events become keys: shared by the listeners, the workers and the contexts of a controller.
pub(super) struct Hub<K> {
    pub(super) name: String,
    pub(super) queue: WorkQueue<ObjectKey>,
    pub(super) states: KeyStates,
    pub(super) writes: ReadYourWrites,
    pub(super) metrics: ControllerMetrics,
    /// The reconciled kind's cache.
    pub(super) own: Lister<K>,
}

impl<K: Resource> Hub<K> {
    /// Whether a change of the reconciled object from `old` to `new` is our own status and nothing
    /// else. If that is not known yet, the key is added when it is, should it have to be.
    pub(super) fn is_echo(&self, old: &K, new: &K) -> bool {
        let (Some(old), Some(version)) = (old.resource_version(), new.resource_version()) else {
            return false;
        };
        let key = new.key();
        let verdict = self
            .states
            .with(&key, |state| state.own_writes.judge(old, version));
        match verdict.unwrap_or(Verdict::Foreign) {
            Verdict::Foreign => false,
            Verdict::Parked => true,
            Verdict::Echo => {
                self.metrics.status_echoes.inc();
                true
            }
        }
    }

    /// Calls a predicate or a mapping of the user. A panic is counted and logged, and gives `None`.
    pub(super) fn guarded<T>(
        &self,
        what: impl fmt::Display,
        call: impl FnOnce() -> T,
    ) -> Option<T> {
        match catch_unwind(AssertUnwindSafe(call)) {
            Ok(value) => Some(value),
            Err(panic) => {
                self.metrics.handler_panics.inc();
                tracing::error!(
                    controller = self.name,
                    "{what} of {} panicked: {}",
                    K::KIND,
                    message(&*panic)
                );
                None
            }
        }
    }
}

/// A status write that is under way: events of the object are parked until it ends, however it ends.
pub(super) struct WriteGuard<'a, K: Resource> {
    hub: &'a Hub<K>,
    key: &'a ObjectKey,
}

impl<'a, K: Resource> WriteGuard<'a, K> {
    pub(super) fn new(hub: &'a Hub<K>, key: &'a ObjectKey) -> Self {
        hub.states.with(key, |state| state.own_writes.begin());
        Self { hub, key }
    }
}

impl<K: Resource> Drop for WriteGuard<'_, K> {
    fn drop(&mut self) {
        let ended = self
            .hub
            .states
            .with(self.key, |state| state.own_writes.end());
        let (echoes, foreign) = ended.unwrap_or_default();
        self.hub.metrics.status_echoes.inc_by(echoes as u64);
        if foreign {
            self.hub.queue.add(self.key.clone());
        }
    }
}

/// What a panic said.
pub(super) fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
