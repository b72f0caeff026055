use std::{collections::HashMap, ops::Deref, sync::Arc};

use parking_lot::Mutex;

use crate::{
    cache::Lister,
    controller::{
        cause::{Cause, Causes},
        reconcilable::Reconcilable,
        state::{ControllerState, Shown},
    },
    queue::{Note, Priority},
    resource::ObjectKey,
};

/// The way of a source's keys into the queue.
///
/// The enqueuer of a source that is added at run time is closed until the source has synced: no reconcile that the source
/// causes begins before the source's kind can be read (R4).
pub(crate) struct Enqueuer<K> {
    pub(crate) gate: Gate,
    /// The cache of the reconciled kind.
    pub(super) own: Lister<K>,
}

/// The part of an enqueuer that does not depend on the reconciled kind.
#[derive(Clone)]
pub(crate) struct Gate {
    pub(super) controller: Arc<ControllerState>,
    /// `None` if the gate was never closed.
    held_keys: Option<Arc<Mutex<HeldKeys>>>,
}

enum HeldKeys {
    /// The keys that were added while the gate is closed. Bounded by the cached objects.
    Closed(HashMap<ObjectKey, (Priority, Causes)>),
    Open,
}

impl<K: Reconcilable> Enqueuer<K> {
    /// An open enqueuer.
    pub(crate) fn open(controller: &Arc<ControllerState>, own: &Lister<K>) -> Self {
        Self {
            gate: Gate {
                controller: controller.clone(),
                held_keys: None,
            },
            own: own.clone(),
        }
    }

    /// Another enqueuer of the same queue, which is closed.
    pub(crate) fn closed(&self) -> Self {
        let mut enqueuer = self.clone();
        let closed = HeldKeys::Closed(HashMap::new());
        enqueuer.gate.held_keys = Some(Arc::new(Mutex::new(closed)));
        enqueuer
    }

    /// As [`enqueue`](Self::enqueue). `shown` is the version of another object that an event shows: if it is the echo of a write
    /// of the last run for `key`, `key` is not added. `what` tells what changed, if somebody wants to know.
    pub(crate) fn enqueue_for(
        &self,
        key: ObjectKey,
        priority: Priority,
        cause: Cause,
        shown: Option<Shown<'_>>,
        what: impl Fn() -> String,
    ) {
        if let Some(shown) = shown
            && self.gate.is_open()
            && self.is_echo_of_run(&key, priority, cause, shown, &what)
        {
            return;
        }
        if let Some(history) = &self.history {
            history.caused(&key, cause, what());
        }
        self.enqueue(key, priority, cause);
    }

    /// Adds `key` to the queue, or holds it while the enqueuer is closed.
    pub(crate) fn enqueue(&self, key: ObjectKey, priority: Priority, cause: Cause) {
        self.gate.enqueue(key, priority, cause);
    }
}

impl Gate {
    fn is_open(&self) -> bool {
        let held_keys = self.held_keys.as_ref();
        held_keys.is_none_or(|keys| matches!(&*keys.lock(), HeldKeys::Open))
    }

    fn enqueue(&self, key: ObjectKey, priority: Priority, cause: Cause) {
        if let Some(held_keys) = &self.held_keys
            && let HeldKeys::Closed(keys) = &mut *held_keys.lock()
        {
            let (highest, causes) = keys.entry(key).or_insert((priority, Causes::default()));
            *highest = priority.max(*highest);
            causes.merge(cause.into());
            return;
        }
        self.controller.enqueue(key, priority, cause);
    }

    /// Adds the held keys to the queue. From now on keys are added at once.
    pub(crate) fn open(&self) {
        let Some(held_keys) = &self.held_keys else {
            return;
        };
        let held = std::mem::replace(&mut *held_keys.lock(), HeldKeys::Open);
        if let HeldKeys::Closed(keys) = held {
            for (key, (priority, causes)) in keys {
                self.controller.queue.add_with(key, priority, causes);
            }
        }
    }
}

impl<K> Clone for Enqueuer<K> {
    fn clone(&self) -> Self {
        Self {
            gate: self.gate.clone(),
            own: self.own.clone(),
        }
    }
}

impl<K> Deref for Enqueuer<K> {
    type Target = ControllerState;

    fn deref(&self) -> &ControllerState {
        &self.gate.controller
    }
}
