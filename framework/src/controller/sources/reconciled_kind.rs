use std::sync::Arc;

use super::{
    enqueuer::Enqueuer,
    filter::{passes, priority},
    kind::Kind,
    wiring::{Connection, Wiring},
};
use crate::{
    cache::{Event, EventOrigin},
    controller::{
        annotations,
        cause::Cause,
        environment::Environment,
        predicate::{Change, Predicate, Version, Versions},
        reconcilable::Reconcilable,
        wired::{Role, Wired},
    },
    queue::Priority,
    resource::{ApiResource, ObjectKey, ObjectMeta},
};

/// The reconciled kind.
pub(crate) struct ReconciledKind<K> {
    kind: Kind<K>,
    pub(crate) predicate: Option<Predicate<K>>,
    /// The controller's finalizers.
    pub(crate) finalizers: Vec<Arc<str>>,
}

impl<K> ReconciledKind<K> {
    pub(crate) fn new(resource: ApiResource) -> Self {
        Self {
            kind: Kind::of(resource),
            predicate: None,
            finalizers: Vec::new(),
        }
    }

    pub(crate) fn resource(&self) -> &ApiResource {
        &self.kind.resource
    }
}

impl<K: Reconcilable> Wiring<K> for ReconciledKind<K> {
    fn wired(&self) -> Option<Wired> {
        self.kind.wired(Role::Reconciled)
    }

    fn connect(self: Box<Self>, environment: &Environment, enqueuer: &Enqueuer<K>) -> Connection {
        let (queue, kind) = (enqueuer.clone(), Kind::of(self.resource().clone()));
        kind.listen(environment, enqueuer, move |event: &Event<K>, origin| {
            self.handle(&queue, event, origin)
        })
    }
}

impl<K: Reconcilable> ReconciledKind<K> {
    fn handle(&self, queue: &Enqueuer<K>, event: &Event<K>, origin: EventOrigin) {
        let key = event.key();
        let versions = Versions::of(event);
        let cause = match (event, versions.changes().next()) {
            (Event::Recreated { .. } | Event::Deleted { .. }, _) => {
                if let Some(generations) = &queue.generations {
                    generations.outdate(&key);
                }
                match event {
                    Event::Recreated { .. } => Cause::Created,
                    _ => Cause::Deleted,
                }
            }
            (_, Some(change)) if event.undecodable().is_none() => {
                let initial = matches!(event, Event::Added { initial: true, .. });
                match self.cause(queue, &key, &change, initial) {
                    Some(cause) => cause,
                    None => return,
                }
            }
            _ => Cause::Undecodable,
        };
        let priority = match cause {
            Cause::PausedObjects | Cause::Resumed | Cause::ReconcileNow => Priority::High,
            _ => priority(origin),
        };
        queue.enqueue(key, priority, cause);
    }

    /// Returns `None` if the change does not lead to a reconcile.
    fn cause(
        &self,
        queue: &Enqueuer<K>,
        key: &ObjectKey,
        change: &Change<'_, Version<'_, K>>,
        initial: bool,
    ) -> Option<Cause> {
        let passes = || passes(queue, self.predicate.as_ref(), change);
        let new = change.last().metadata();
        let Some(old) = change.old().map(Version::metadata) else {
            return match change {
                Change::Resync { .. } => passes().then_some(Cause::Resync),
                // Its deletion may have begun while the program did not run.
                _ if !passes() && !self.waits_for_us(new) => None,
                _ if initial => Some(Cause::Initial),
                _ => Some(Cause::Created),
            };
        };
        if let Some(cause) = annotations::requested(old, new) {
            return Some(cause);
        }
        // No predicate may hide a deletion from a controller that keeps something of the object.
        let deletion_began = matches!(change, Change::DeletionBegan { .. });
        let ours = queue.key_states.contains(key) || self.waits_for_us(new);
        let counts = passes() || deletion_began && ours;
        let (old_version, new_version) = (&old.resource_version, &new.resource_version);
        if !counts || queue.is_echo(key, old_version.as_deref(), new_version.as_deref()) {
            return None;
        }
        if let Some(generations) = &queue.generations {
            generations.changed(key, old, new);
        }
        Some(Cause::Updated)
    }

    /// Whether the object is being deleted and has one of our finalizers. No predicate may hide such an object.
    fn waits_for_us(&self, object: &ObjectMeta) -> bool {
        let present = object.finalizers.as_deref().unwrap_or_default();
        let ours = |name: &String| self.finalizers.iter().any(|our| **our == **name);
        object.deletion_timestamp.is_some() && present.iter().any(ours)
    }
}
