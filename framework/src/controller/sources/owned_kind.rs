use serde::{Serialize, de::DeserializeOwned};

use super::{
    described::described,
    enqueuer::Enqueuer,
    filter::{passes, priority},
    kind::{Kind, KindWiring},
    wiring::Connection,
};
use crate::{
    cache::Event,
    controller::{
        cause::Cause,
        environment::Environment,
        owners::{References, is_of_another, owners},
        predicate::{Predicate, Version, Versions},
        reconcilable::Reconcilable,
        wired::Role,
    },
    queue::Priority,
    resource::{Object, OwnerReference},
};

/// A kind whose objects have owner references to reconciled objects.
pub(super) struct OwnedKind<C> {
    pub(super) kind: Kind<C>,
    pub(super) predicate: Option<Predicate<C>>,
    pub(super) references: References,
}

impl<C> KindWiring for OwnedKind<C>
where
    C: Object + Serialize + DeserializeOwned,
{
    type Object = C;
    const ROLE: Role = Role::Owned;

    fn kind(&self) -> &Kind<C> {
        &self.kind
    }

    fn connect<K: Reconcilable>(
        self,
        environment: &Environment,
        enqueuer: &Enqueuer<K>,
    ) -> Connection {
        let queue = enqueuer.clone();
        let Self {
            kind,
            predicate,
            references: which,
        } = self;
        let name = kind.resource.kind.clone();
        kind.listen(environment, enqueuer, move |event: &Event<C>, origin| {
            let priority = priority(origin);
            let is_undecodable = event.undecodable().is_some();
            for change in Versions::of(event).changes() {
                let add = |child: &Version<'_, C>, lost: bool| {
                    let child = child.metadata();
                    let references = child.owner_references.as_deref().unwrap_or_default();
                    let namespace = child.namespace.as_deref();
                    let what = || described(&name, &change);
                    add_owners(&queue, references, namespace, which, lost, priority, &what);
                };
                let (old, new) = (change.old(), change.new());
                // For an owner this is the loss or the gain of a child, which no predicate may hide.
                let owner_changed = matches!((old, new), (Some(old), Some(new))
                    if old.metadata().owner_references != new.metadata().owner_references);
                if is_undecodable || owner_changed || passes(&queue, predicate.as_ref(), &change) {
                    if let Some(new) = new {
                        add(new, is_undecodable);
                    }
                    if let Some(old) = old
                        && (owner_changed || new.is_none())
                    {
                        add(old, true);
                    }
                }
            }
            let entry = event.entry();
            if entry.undecodable().is_some() {
                let (key, references) = (entry.key(), entry.owner_references());
                let what = || format!("{name} {key} does not decode");
                let namespace = key.namespace();
                add_owners(&queue, &references, namespace, which, true, priority, &what);
            }
        })
    }
}

/// Adds the owners that a child's references name. With `lost` the child does not belong to them any more. This concerns a new
/// owner of the same name too: the child may have been in its way.
fn add_owners<K: Reconcilable>(
    queue: &Enqueuer<K>,
    references: &[OwnerReference],
    namespace: Option<&str>,
    which: References,
    lost: bool,
    priority: Priority,
    what: &dyn Fn() -> String,
) {
    for (key, uid) in owners(&queue.resource, references, namespace, which) {
        if lost || !is_of_another(&queue.own, &key, uid) {
            queue.enqueue_for(key, priority, Cause::Owned, what);
        }
    }
}
