use std::marker::PhantomData;

use serde::{Serialize, de::DeserializeOwned};

use super::{
    kind::{Kind, ReadKind},
    mapping::Mapping,
    owned_kind::OwnedKind,
    watched_kind::WatchedKind,
    wiring::Wiring,
};
use crate::{
    controller::{owners::References, predicate::Predicate, reconcilable::Reconcilable},
    resource::{ApiResource, CanOwn, Object, Resource},
};

/// A kind with options that a controller owns, watches or reads: [`Owned`], [`Detached`], [`Watched`], [`Read`] or [`Pruned`].
///
/// [`Controller::watch`](crate::controller::Controller::watch) takes such a value. This trait cannot be implemented outside
/// of the framework.
#[diagnostic::on_unimplemented(
    message = "a controller of `{K}` cannot watch `{Self}`",
    note = "use `Owned`, `Watched` or `Read`",
    note = "a namespaced kind cannot own a cluster-scoped one: declare `.watch(Owned::<Child>::new().detached())` and `.finalizer(\"example.com/name\")` in `wire`, and apply `Child::new(child).detached()`"
)]
pub trait KindSource<K: Reconcilable>: sealed::Declare<K> {}

impl<K: Reconcilable, S: sealed::Declare<K>> KindSource<K> for S {}

/// A [`KindSource`] that can be added while the controller runs, by [`Sources::watch`](super::Sources::watch): all but
/// [`Detached`] and [`Pruned`]. Those change how every object is cleaned up and pruned, so `wire` has to declare them.
pub trait RuntimeSource<K: Reconcilable>: KindSource<K> {}

/// The kind has a Rust type: group, version, kind and scope are known at compile time.
#[derive(Debug)]
pub enum Typed {}

/// The kind is known only at run time.
#[derive(Debug)]
pub enum Dynamic {}

/// Declares that the controller writes objects of kind `C` as their owner, with options.
///
/// [`Controller::owns`](crate::controller::Controller::owns) is the short form of `Owned::<C>::new()`.
///
/// ```
/// # use pilothouse::{controller::{Controller, Owned, Predicate, Reconciler}, k8s::api::{apps::v1::Deployment, core::v1::ConfigMap}};
/// use pilothouse::resource::{ApiResource, DynamicObject};
///
/// # fn wire<R: Reconciler<Resource = Deployment>>(controller: Controller<R>, widgets: ApiResource) -> Controller<R> {
/// controller
///     .watch(Owned::<ConfigMap>::new().when(Predicate::labels()))
///     .watch(Owned::<DynamicObject>::dynamic(widgets).pruned())
/// # }
/// ```
pub struct Owned<C, D = Typed> {
    kind: OwnedKind<C>,
    declared: PhantomData<D>,
}

impl<C: Resource> Owned<C> {
    /// A kind with a Rust type.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self::of(Kind::typed())
    }
}

impl<C: Object + Serialize + DeserializeOwned> Owned<C> {
    /// A kind that is known only at run time. Its objects are read as `C`:
    /// [`DynamicObject`](crate::resource::DynamicObject), or [`PartialObject`](crate::resource::PartialObject) if the
    /// metadata is enough.
    ///
    /// A namespaced object cannot own a cluster-scoped one: a controller that declares this
    /// [does not start](crate::controller::Controller::check).
    pub fn dynamic(resource: ApiResource) -> Owned<C, Dynamic> {
        Owned::of(Kind::of(resource))
    }
}

impl<C, D> Owned<C, D> {
    fn of(kind: Kind<C>) -> Self {
        Self {
            kind: OwnedKind {
                kind,
                predicate: None,
                references: References::Controller,
            },
            declared: PhantomData,
        }
    }
}

impl<C: Object + Serialize + DeserializeOwned, D> Owned<C, D> {
    /// Only changes for which `predicate` holds lead to a reconcile. A change of the owner always counts, for the former
    /// owner and for the new one.
    #[must_use]
    pub fn when(mut self, predicate: Predicate<C>) -> Self {
        self.kind.predicate = Some(predicate);
        self
    }

    /// A change leads to a reconcile of every owner of the reconciled kind, not only of the controlling one.
    #[must_use]
    pub fn every_owner(mut self) -> Self {
        self.kind.references = References::Every;
        self
    }

    /// The children are [detached](crate::controller::Child::detached): in other namespaces than the reconciled object, or
    /// cluster-scoped while the reconciled object is not. Every change of one leads to a reconcile of its owner. The
    /// finalizer deletes them, so [one has to be declared](crate::controller::Controller::finalizer).
    pub fn detached(self) -> Detached<C> {
        Detached {
            kind: self.kind.kind,
            predicate: self.kind.predicate,
        }
    }

    /// Children that a successful reconcile did not apply are deleted: see
    /// [`Controller::prunes`](crate::controller::Controller::prunes).
    pub fn pruned(self) -> Pruned<Self> {
        Pruned(self)
    }
}

/// A kind of [detached](Owned::detached) children.
pub struct Detached<C> {
    kind: Kind<C>,
    predicate: Option<Predicate<C>>,
}

impl<C: Object + Serialize + DeserializeOwned> Detached<C> {
    /// Only changes for which `predicate` holds lead to a reconcile.
    #[must_use]
    pub fn when(mut self, predicate: Predicate<C>) -> Self {
        self.predicate = Some(predicate);
        self
    }

    /// Children that a successful reconcile did not apply are deleted: see
    /// [`Controller::prunes`](crate::controller::Controller::prunes).
    pub fn pruned(self) -> Pruned<Self> {
        Pruned(self)
    }
}

/// Declares that changes of objects of kind `C` lead to reconciles of the keys that a [`Mapping`] returns.
///
/// [`Controller::watches`](crate::controller::Controller::watches) is the short form of
/// `Watched::new(Mapping::objects(..))`.
///
/// ```
/// # use pilothouse::controller::{Controller, Mapping, Reconciler, Watched};
/// use pilothouse::resource::{ApiResource, DynamicObject, Object, PartialObject};
///
/// # fn wire<R: Reconciler>(controller: Controller<R>, widgets: ApiResource, gadgets: ApiResource) -> Controller<R> {
/// controller
///     .watch(Watched::dynamic(widgets, Mapping::objects(|widget: &DynamicObject| vec![widget.key()])))
///     .watch(Watched::dynamic(gadgets, Mapping::objects(|gadget: &PartialObject| vec![gadget.key()])))
/// # }
/// ```
pub struct Watched<C> {
    kind: WatchedKind<C>,
}

impl<C: Resource> Watched<C> {
    /// A kind with a Rust type.
    pub fn new(mapping: Mapping<C>) -> Self {
        Self::of(Kind::typed(), mapping)
    }
}

impl<C: Object + Serialize + DeserializeOwned> Watched<C> {
    /// A kind that is known only at run time. Its objects are read as `C`, whole or only their metadata.
    pub fn dynamic(resource: ApiResource, mapping: Mapping<C>) -> Self {
        Self::of(Kind::of(resource), mapping)
    }

    fn of(kind: Kind<C>, mapping: Mapping<C>) -> Self {
        Self {
            kind: WatchedKind {
                kind,
                mapping,
                predicate: None,
            },
        }
    }

    /// Only changes for which `predicate` holds are mapped.
    #[must_use]
    pub fn when(mut self, predicate: Predicate<C>) -> Self {
        self.kind.predicate = Some(predicate);
        self
    }
}

/// Declares that the controller reads objects of kind `C` from a cache. Their changes lead to no reconcile.
///
/// [`Controller::reads`](crate::controller::Controller::reads) is the short form of `Read::<C>::new()`.
pub struct Read<C> {
    kind: Kind<C>,
}

impl<C: Resource> Read<C> {
    /// A kind with a Rust type.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self {
            kind: Kind::typed(),
        }
    }
}

impl<C: Object + Serialize + DeserializeOwned> Read<C> {
    /// A kind that is known only at run time. Its objects are read as `C`;
    /// [`Context::get_of`](crate::controller::Context::get_of) reads them.
    pub fn dynamic(resource: ApiResource) -> Self {
        Self {
            kind: Kind::of(resource),
        }
    }

    /// Children of this kind that a successful reconcile did not apply are deleted, although the controller does not own the
    /// kind any more: see [`Controller::prunes`](crate::controller::Controller::prunes).
    pub fn pruned(self) -> Pruned<Self> {
        Pruned(self)
    }
}

/// A kind whose unwanted children are deleted: see [`Controller::prunes`](crate::controller::Controller::prunes).
pub struct Pruned<S>(S);

impl<K: Reconcilable, C: Resource> RuntimeSource<K> for Owned<C> where K::Scope: CanOwn<C::Scope> {}
impl<K: Reconcilable, C: Object + Serialize + DeserializeOwned> RuntimeSource<K>
    for Owned<C, Dynamic>
{
}
impl<K: Reconcilable, C: Object + Serialize + DeserializeOwned> RuntimeSource<K> for Watched<C> {}
impl<K: Reconcilable, C: Object + Serialize + DeserializeOwned> RuntimeSource<K> for Read<C> {}

/// What a [`KindSource`] says.
pub struct Declaration<K> {
    pub(crate) resource: ApiResource,
    pub(crate) wiring: Box<dyn Wiring<K>>,
    /// The children have the owner's mark, and the finalizer deletes them.
    pub(crate) is_detached: bool,
    /// Children that a reconcile does not apply are deleted.
    pub(crate) is_pruned: bool,
}

impl<K> Declaration<K> {
    fn new(resource: ApiResource, wiring: impl Wiring<K> + 'static) -> Self {
        Self {
            resource,
            wiring: Box::new(wiring),
            is_detached: false,
            is_pruned: false,
        }
    }
}

mod sealed {
    use super::*;

    pub trait Declare<K: Reconcilable> {
        /// The type that the objects are read as.
        type Object: Object + Serialize + DeserializeOwned;

        fn declare(self) -> Declaration<K>;
    }

    impl<K: Reconcilable, C: Resource> Declare<K> for Owned<C>
    where
        K::Scope: CanOwn<C::Scope>,
    {
        type Object = C;

        fn declare(self) -> Declaration<K> {
            Declaration::new(self.kind.kind.resource.clone(), self.kind)
        }
    }

    impl<K: Reconcilable, C: Object + Serialize + DeserializeOwned> Declare<K> for Owned<C, Dynamic> {
        type Object = C;

        fn declare(self) -> Declaration<K> {
            Declaration::new(self.kind.kind.resource.clone(), self.kind)
        }
    }

    impl<K: Reconcilable, C: Object + Serialize + DeserializeOwned> Declare<K> for Detached<C> {
        type Object = C;

        fn declare(self) -> Declaration<K> {
            let kind = WatchedKind {
                kind: self.kind,
                mapping: Mapping::owner_mark(),
                predicate: self.predicate,
            };
            Declaration {
                is_detached: true,
                ..Declaration::new(kind.kind.resource.clone(), kind)
            }
        }
    }

    impl<K: Reconcilable, C: Object + Serialize + DeserializeOwned> Declare<K> for Watched<C> {
        type Object = C;

        fn declare(self) -> Declaration<K> {
            Declaration::new(self.kind.kind.resource.clone(), self.kind)
        }
    }

    impl<K: Reconcilable, C: Object + Serialize + DeserializeOwned> Declare<K> for Read<C> {
        type Object = C;

        fn declare(self) -> Declaration<K> {
            Declaration::new(self.kind.resource.clone(), ReadKind(self.kind))
        }
    }

    impl<K: Reconcilable, S: Declare<K>> Declare<K> for Pruned<S> {
        type Object = S::Object;

        fn declare(self) -> Declaration<K> {
            Declaration {
                is_pruned: true,
                ..self.0.declare()
            }
        }
    }
}
