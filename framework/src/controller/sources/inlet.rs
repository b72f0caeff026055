use std::{
    collections::HashMap,
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    cache::Lister,
    controller::{
        causes::{Cause, Causes},
        hub::Hub,
    },
    queue::{Note, Priority},
    resource::{ObjectKey, Resource},
};

/// Where a source puts its keys.
///
/// That of a source added at run time is shut until the source has synced: no reconcile of which it
/// is the cause begins before its kind can be read (design promise R4).
pub(in crate::controller) struct Inlet<K> {
    pub(in crate::controller) door: Door,
    /// The reconciled kind's cache.
    pub(super) own: Lister<K>,
}

/// The part of an inlet that is the same for all kinds.
#[derive(Clone)]
pub(in crate::controller) struct Door {
    pub(super) hub: Arc<Hub>,
    gate: Option<Arc<Gate>>,
}

#[derive(Default)]
struct Gate {
    /// What was asked for while it is shut, which is bounded by what is cached; `None` once it is open.
    held: Mutex<Held>,
}

enum Held {
    Shut(HashMap<ObjectKey, (Priority, Causes)>),
    Open,
}

impl Default for Held {
    fn default() -> Self {
        Self::Shut(HashMap::new())
    }
}

impl<K: Resource> Inlet<K> {
    pub(in crate::controller) fn open_to(hub: &Arc<Hub>, own: &Lister<K>) -> Self {
        let hub = hub.clone();
        Self {
            door: Door { hub, gate: None },
            own: own.clone(),
        }
    }

    /// Another one to the same queue, which is shut.
    pub(in crate::controller) fn shut(&self) -> Self {
        let mut inlet = self.clone();
        inlet.door.gate = Some(Arc::default());
        inlet
    }

    /// Asks for a reconcile of `key` that begins after now, and not before the inlet is open.
    pub(in crate::controller) fn ask(&self, key: ObjectKey, priority: Priority, cause: Cause) {
        self.door.ask(key, priority, cause);
    }
}

impl Door {
    fn ask(&self, key: ObjectKey, priority: Priority, cause: Cause) {
        if let Some(gate) = &self.gate
            && let Held::Shut(held) = &mut *gate.held()
        {
            let (highest, causes) = held.entry(key).or_insert((priority, Causes::default()));
            *highest = priority.max(*highest);
            causes.merge(cause.into());
            return;
        }
        self.hub.ask(key, priority, cause);
    }

    /// Lets through what was held, and all that comes.
    pub(in crate::controller) fn open(&self) {
        let Some(gate) = &self.gate else { return };
        let held = std::mem::replace(&mut *gate.held(), Held::Open);
        if let Held::Shut(held) = held {
            for (key, (priority, causes)) in held {
                self.hub.queue.add_with(key, priority, causes);
            }
        }
    }
}

impl Gate {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> Clone for Inlet<K> {
    fn clone(&self) -> Self {
        Self {
            door: self.door.clone(),
            own: self.own.clone(),
        }
    }
}

impl<K> Deref for Inlet<K> {
    type Target = Hub;

    fn deref(&self) -> &Hub {
        &self.door.hub
    }
}
