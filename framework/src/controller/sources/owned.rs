use std::any::TypeId;

use serde::{Serialize, de::DeserializeOwned};

use super::{
    Inlet, Kind,
    passes::{passes, priority},
    wiring::{Connection, Wiring},
};
use crate::{
    cache::Event,
    controller::{
        Change, Environment, Predicate, Role, Wired,
        causes::Cause,
        owner_map::{References, is_of_another, owners},
    },
    queue::Priority,
    resource::{Object, OwnerReference, Resource},
};

/// A kind whose objects are owned by reconciled ones.
pub(in crate::controller) struct Owned<C> {
    pub(in crate::controller) kind: Kind<C>,
    pub(in crate::controller) predicate: Option<Predicate<C>>,
    pub(in crate::controller) references: References,
}

impl<K, C> Wiring<K> for Owned<C>
where
    K: Resource,
    C: Object + Serialize + DeserializeOwned,
{
    fn wired(&self) -> Option<Wired> {
        self.kind.wired(Role::Owned)
    }

    fn read_as(&self) -> Option<TypeId> {
        Some(TypeId::of::<C>())
    }

    #[cfg(feature = "dev")]
    fn offline(
        &self,
        readers: &crate::controller::readers::Readers,
    ) -> Option<crate::controller::offline::Refill> {
        self.kind.offline(readers)
    }

    fn connect(self: Box<Self>, environment: &Environment, inlet: &Inlet<K>) -> Connection {
        let hub = inlet.clone();
        let Self {
            kind,
            predicate,
            references: which,
        } = *self;
        kind.listen(environment, inlet, move |event: &Event<C>, origin| {
            let priority = priority(origin);
            for change in Change::of(event) {
                let add = |child: &C, gone: bool| {
                    let references = child.metadata().owner_references.as_deref();
                    let references = references.unwrap_or_default();
                    add_owners(&hub, references, child.namespace(), which, gone, priority);
                };
                let (old, new) = (change.old(), change.new());
                // To an owner this is a coming or a going, which no predicate hides.
                let changed_hands = matches!((old, new), (Some(old), Some(new))
                    if old.metadata().owner_references != new.metadata().owner_references);
                let lost = matches!(event, Event::Undecodable { .. });
                if lost || changed_hands || passes(&hub, predicate.as_ref(), &change) {
                    if let Some(new) = new {
                        add(new, lost);
                    }
                    if let Some(old) = old
                        && (changed_hands || new.is_none())
                    {
                        add(old, true);
                    }
                }
            }
            if let Event::Undecodable { object, .. } | Event::UndecodableDeleted { object } = event
            {
                let namespace = object.key.namespace();
                let references = &object.owner_references;
                add_owners(&hub, references, namespace, which, true, priority);
            }
        })
    }
}

/// Adds the owners named by a child's references; `gone` if the child is theirs no longer, which
/// concerns a successor of the owner too: the child may have been in its way.
fn add_owners<K: Resource>(
    hub: &Inlet<K>,
    references: &[OwnerReference],
    namespace: Option<&str>,
    which: References,
    gone: bool,
    priority: Priority,
) {
    for (key, uid) in owners::<K>(references, namespace, which) {
        if gone || !is_of_another(&hub.own, &key, uid) {
            hub.ask(key, priority, Cause::Owned);
        }
    }
}
