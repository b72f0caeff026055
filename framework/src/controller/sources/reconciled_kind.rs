use std::sync::Arc;

use super::{
    described::what_happened,
    enqueuer::Enqueuer,
    filter::{leaves_out, passes, priority},
    kind::Kind,
    wiring::{Connection, Wiring},
};
use crate::{
    cache::{Event, EventOrigin},
    controller::{
        annotations,
        cause::Cause,
        environment::Environment,
        finalizer_rules::FinalizerRules,
        predicate::{Change, Version, Versions},
        reconcilable::Reconcilable,
        wired::{Role, Wired},
    },
    queue::Priority,
    resource::{ApiResource, ObjectKey, ObjectMeta},
};

/// The reconciled kind.
pub(crate) struct ReconciledKind<K> {
    kind: Kind<K>,
    /// The controller's finalizers and its predicate.
    pub(crate) rules: Arc<FinalizerRules<K>>,
}

impl<K> ReconciledKind<K> {
    pub(crate) fn new(resource: ApiResource) -> Self {
        Self {
            kind: Kind::of(resource),
            rules: Arc::default(),
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
        let kind = kind.reading_objects(true);
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
        let change = versions.changes().last();
        let what = || change.as_ref().map_or_else(String::new, what_happened);
        queue.enqueue_for(key, priority, cause, None, what);
    }

    /// Returns `None` if the change does not lead to a reconcile.
    fn cause(
        &self,
        queue: &Enqueuer<K>,
        key: &ObjectKey,
        change: &Change<'_, Version<'_, K>>,
        initial: bool,
    ) -> Option<Cause> {
        let passes = || passes(queue, self.rules.predicate.as_ref(), change);
        let last = change.last();
        let new = last.metadata();
        let Some(before) = change.old() else {
            return match change {
                Change::Resync { .. } => passes().then_some(Cause::Resync),
                // Its deletion may have begun while the program did not run.
                _ if !passes() && !self.rules.hold_back_deletion_of(new) => {
                    self.rules.has_retired(new).then_some(Cause::Finalizers)
                }
                _ if initial => Some(Cause::Initial),
                _ => Some(Cause::Created),
            };
        };
        let old = before.metadata();
        if let Some(cause) = annotations::requested(old, new) {
            return Some(cause);
        }
        // No predicate may hide a deletion from a controller that keeps something of the object.
        let deletion_began = matches!(change, Change::DeletionBegan { .. });
        let ours = queue.key_states.contains(key) || self.rules.hold_back_deletion_of(new);
        let counts = passes() || deletion_began && ours;
        let (old_version, new_version) = (&old.resource_version, &new.resource_version);
        if !counts || queue.is_echo(key, old_version.as_deref(), new_version.as_deref()) {
            let retired = self.retired_finalizers_appear(old, new);
            let changed = match retired || !self.rules.have_conditions() || is_deleting(new) {
                true => retired,
                false => match (before.object(), last.object()) {
                    (Some(old), Some(new)) => self.conditions_change(queue, old, new),
                    _ => return Some(Cause::Undecodable),
                },
            };
            return changed.then_some(Cause::Finalizers);
        }
        if let Some(generations) = &queue.generations {
            generations.changed(key, old, new);
        }
        Some(Cause::Updated)
    }

    /// Whether a change that leads to no reconcile, because of the predicate or because the controller made it itself, leads to
    /// finalizers that have to be removed.
    fn retired_finalizers_appear(&self, old: &ObjectMeta, new: &ObjectMeta) -> bool {
        // A write that an earlier change led to does nothing once the deletion has begun.
        let began = is_deleting(new) && !is_deleting(old);
        self.rules.has_retired(new) && (began || !self.rules.has_retired(old))
    }

    /// Whether such a change leads to finalizers that have to be added or removed because of their conditions.
    fn conditions_change(&self, queue: &Enqueuer<K>, old: &K, new: &K) -> bool {
        let rules = &self.rules;
        let changed = || rules.change_between(old, new);
        // After a panic the reconcile asks the condition again, and its failure is shown on the object.
        let changed = queue.catch_panic("the condition of a finalizer", changed);
        changed.unwrap_or(true) && !leaves_out(queue, rules.predicate.as_ref(), new)
    }
}

fn is_deleting(metadata: &ObjectMeta) -> bool {
    metadata.deletion_timestamp.is_some()
}
