use serde::{Serialize, de::DeserializeOwned};

use super::{
    described::described,
    enqueuer::Enqueuer,
    filter::{passes, priority, shown},
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
        state::Shown,
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
        let resource = kind.resource.clone();
        let name = resource.kind.clone();
        let reads = predicate.as_ref().is_some_and(Predicate::reads_objects);
        let kind = kind.reading_objects(reads);
        kind.listen(environment, enqueuer, move |event: &Event<C>, origin| {
            let priority = priority(origin);
            let is_undecodable = event.undecodable().is_some();
            for change in Versions::of(event).changes() {
                let add = |child: &Version<'_, C>, lost: bool| {
                    let metadata = child.metadata();
                    let owners = Owners {
                        references: metadata.owner_references.as_deref().unwrap_or_default(),
                        namespace: metadata.namespace.as_deref(),
                        which,
                    };
                    let of = match lost {
                        true => Of::LostChild,
                        false => Of::Child(shown(&resource, &change)),
                    };
                    add_owners(&queue, owners, of, priority, &|| described(&name, &change));
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
                let owners = Owners {
                    references: &references,
                    namespace: key.namespace(),
                    which,
                };
                let what = || format!("{name} {key} does not decode");
                add_owners(&queue, owners, Of::LostChild, priority, &what);
            }
        })
    }
}

/// The owners that an object names.
struct Owners<'a> {
    references: &'a [OwnerReference],
    namespace: Option<&'a str>,
    which: References,
}

/// How the object belongs to the owners that it names.
enum Of<'a> {
    /// As a child. The version is that of an event, which may be the echo of a write.
    Child(Option<Shown<'a>>),
    /// Not any more. This concerns a new owner of the same name too: the child may have been in its way.
    LostChild,
}

/// Adds the owners that a child names.
fn add_owners<K: Reconcilable>(
    queue: &Enqueuer<K>,
    owners_of: Owners<'_>,
    of: Of<'_>,
    priority: Priority,
    what: &dyn Fn() -> String,
) {
    let Owners {
        references,
        namespace,
        which,
    } = owners_of;
    for (key, uid) in owners(&queue.resource, references, namespace, which) {
        match of {
            Of::LostChild => queue.enqueue_for(key, priority, Cause::Owned, None, what),
            Of::Child(_) if is_of_another(&queue.own, &key, uid) => {}
            Of::Child(shown) => queue.enqueue_for(key, priority, Cause::Owned, shown, what),
        }
    }
}
