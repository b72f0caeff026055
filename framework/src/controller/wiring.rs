use std::{marker::PhantomData, sync::Arc};

use futures_util::future::BoxFuture;

use super::{
    Environment, Predicate,
    hub::Hub,
    owner_map::{References, is_of_another, owners},
    readers::Readers,
    wired::{Role, Wired},
};
use crate::{
    cache::{Event, InformerScope, InformerStatus, SharedInformer, Subscription},
    resource::{ApiResource, Object, ObjectKey, OwnerReference, Resource},
};

/// One line of `wire`, whatever its kind.
pub(super) trait Wiring<K>: Send {
    fn wired(&self) -> Wired;
    /// Makes the kind readable.
    fn read(&self, environment: &Environment, readers: &mut Readers);
    /// Begins to listen.
    fn connect(self: Box<Self>, environment: &Environment, hub: &Arc<Hub<K>>) -> Connection;
}

/// A wired kind from its first listener to its last.
pub(super) struct Connection {
    pub(super) status: Arc<dyn Fn() -> InformerStatus + Send + Sync>,
    /// Whether the first list has reached the cache and the listener; `false` if it never will.
    pub(super) synced: BoxFuture<'static, bool>,
    pub(super) subscription: Option<Subscription>,
}

pub(super) fn informer<C: Resource>(environment: &Environment) -> SharedInformer<C> {
    let namespaces = environment.namespace.iter();
    let scope = InformerScope::all().namespaces(namespaces);
    environment.informers.informer(scope)
}

/// Listens in the controller's name.
fn listen<C: Resource>(
    informer: &SharedInformer<C>,
    name: &str,
    listener: impl FnMut(&Event<C>) + Send + 'static,
) -> Connection {
    let subscription = informer.add_named_listener(name, listener);
    let (ready, informer) = (subscription.clone(), informer.clone());
    Connection {
        synced: Box::pin(async move { ready.synced().await }),
        status: Arc::new(move || informer.status()),
        subscription: Some(subscription),
    }
}

/// The reconciled kind.
pub(super) struct Own<K> {
    pub(super) predicate: Option<Predicate<K>>,
}

impl<K: Resource> Wiring<K> for Own<K> {
    fn wired(&self) -> Wired {
        Wired {
            resource: ApiResource::of::<K>(),
            role: Role::Reconciled,
        }
    }

    fn read(&self, environment: &Environment, readers: &mut Readers) {
        readers.insert(informer::<K>(environment).lister());
    }

    fn connect(self: Box<Self>, environment: &Environment, hub: &Arc<Hub<K>>) -> Connection {
        let hub = hub.clone();
        let name = hub.name.clone();
        listen(
            &informer::<K>(environment),
            &name,
            move |event: &Event<K>| {
                let counts = match event {
                    Event::Updated { old, new } => {
                        passes(&hub, self.predicate.as_ref(), old, new) && !hub.is_echo(old, new)
                    }
                    _ => true,
                };
                if counts {
                    hub.queue.add(event.key());
                }
            },
        )
    }
}

/// A kind whose objects are owned by reconciled ones.
pub(super) struct Owned<C> {
    pub(super) predicate: Option<Predicate<C>>,
    pub(super) references: References,
}

impl<K: Resource, C: Resource> Wiring<K> for Owned<C> {
    fn wired(&self) -> Wired {
        Wired {
            resource: ApiResource::of::<C>(),
            role: Role::Owned,
        }
    }

    fn read(&self, environment: &Environment, readers: &mut Readers) {
        readers.insert(informer::<C>(environment).lister());
    }

    fn connect(self: Box<Self>, environment: &Environment, hub: &Arc<Hub<K>>) -> Connection {
        let hub = hub.clone();
        let which = self.references;
        let add = move |hub: &Hub<K>, child: &C, gone: bool| {
            let references = child.metadata().owner_references.as_deref();
            let references = references.unwrap_or_default();
            add_owners(hub, references, child.namespace(), which, gone);
        };
        let name = hub.name.clone();
        listen(
            &informer::<C>(environment),
            &name,
            move |event| match event {
                Event::Added { object, .. } | Event::Resync { object } => add(&hub, object, false),
                Event::Updated { old, new } => {
                    // To an owner this is a coming or a going, which no predicate hides.
                    let changed_hands =
                        old.metadata().owner_references != new.metadata().owner_references;
                    if changed_hands || passes(&hub, self.predicate.as_ref(), old, new) {
                        add(&hub, new, false);
                    }
                    if changed_hands {
                        add(&hub, old, true);
                    }
                }
                Event::Recreated { old, new } => {
                    add(&hub, old, true);
                    add(&hub, new, false);
                }
                Event::Deleted { object, .. } => add(&hub, object, true),
                Event::Undecodable { object, last } => {
                    let namespace = object.key.namespace();
                    add_owners(&hub, &object.owner_references, namespace, which, true);
                    if let Some(last) = last {
                        add(&hub, last, true);
                    }
                }
                Event::UndecodableDeleted { object } => {
                    let namespace = object.key.namespace();
                    add_owners(&hub, &object.owner_references, namespace, which, true);
                }
            },
        )
    }
}

/// Adds the owners named by a child's references; `gone` if the child is theirs no longer, which
/// concerns a successor of the owner too: the child may have been in its way.
fn add_owners<K: Resource>(
    hub: &Hub<K>,
    references: &[OwnerReference],
    namespace: Option<&str>,
    which: References,
    gone: bool,
) {
    for (key, uid) in owners::<K>(references, namespace, which) {
        if gone || !is_of_another(&hub.own, &key, uid) {
            hub.queue.add(key);
        }
    }
}

/// A kind whose objects concern reconciled ones by a mapping.
pub(super) struct Watched<C> {
    pub(super) map: Box<Map<C>>,
    pub(super) predicate: Option<Predicate<C>>,
}

pub(super) type Map<C> = dyn Fn(&C) -> Vec<ObjectKey> + Send;

impl<K: Resource, C: Resource> Wiring<K> for Watched<C> {
    fn wired(&self) -> Wired {
        Wired {
            resource: ApiResource::of::<C>(),
            role: Role::Watched,
        }
    }

    fn read(&self, environment: &Environment, readers: &mut Readers) {
        readers.insert(informer::<C>(environment).lister());
    }

    fn connect(self: Box<Self>, environment: &Environment, hub: &Arc<Hub<K>>) -> Connection {
        let hub = hub.clone();
        let name = hub.name.clone();
        listen(&informer::<C>(environment), &name, move |event| {
            let objects = match event {
                Event::Added { object, .. }
                | Event::Deleted { object, .. }
                | Event::Resync { object } => [Some(object), None],
                Event::Updated { old, new } => {
                    if !passes(&hub, self.predicate.as_ref(), old, new) {
                        return;
                    }
                    [Some(old), Some(new)]
                }
                Event::Recreated { old, new } => [Some(old), Some(new)],
                // The mapping needs an object: the last one that could be read.
                Event::Undecodable { last, .. } => [last.as_ref(), None],
                Event::UndecodableDeleted { .. } => [None, None],
            };
            for object in objects.into_iter().flatten() {
                let what = format_args!("the mapping from {} {}", C::KIND, object.key());
                let keys = hub.guarded(what, || (self.map)(object));
                keys.into_iter()
                    .flatten()
                    .for_each(|key| hub.queue.add(key));
            }
        })
    }
}

/// A kind that is only read.
pub(super) struct Read<C>(pub(super) PhantomData<fn() -> C>);

impl<K: Resource, C: Resource> Wiring<K> for Read<C> {
    fn wired(&self) -> Wired {
        Wired {
            resource: ApiResource::of::<C>(),
            role: Role::Read,
        }
    }

    fn read(&self, environment: &Environment, readers: &mut Readers) {
        readers.insert(informer::<C>(environment).lister());
    }

    fn connect(self: Box<Self>, environment: &Environment, _: &Arc<Hub<K>>) -> Connection {
        let informer = informer::<C>(environment);
        let waited = informer.clone();
        Connection {
            synced: Box::pin(async move { waited.synced().await }),
            status: Arc::new(move || informer.status()),
            subscription: None,
        }
    }
}

/// Whether a change counts: the predicate says so, deletion began, or the predicate panicked.
fn passes<K: Resource, C: Object>(
    hub: &Hub<K>,
    predicate: Option<&Predicate<C>>,
    old: &C,
    new: &C,
) -> bool {
    let Some(predicate) = predicate else {
        return true;
    };
    (new.is_deleting() && !old.is_deleting())
        || hub
            .guarded("a predicate", || predicate.holds(old, new))
            .unwrap_or(true)
}
