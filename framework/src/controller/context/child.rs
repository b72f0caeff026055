use serde::{Serialize, de::DeserializeOwned};

use crate::{
    controller::error::{Error, MissingLine},
    resource::{ApiResource, Object, Resource},
};

/// A child to be applied by [`Context::apply_child`](super::Context::apply_child), with options.
///
/// ```
/// # use pilothouse::{controller::{Child, Context, Error}, k8s::api::{apps::v1::Deployment, core::v1::ConfigMap}};
/// use pilothouse::resource::{ApiResource, DynamicObject};
/// use serde_json::json;
///
/// # async fn example(cx: &Context<Deployment>, page: ConfigMap, widgets: &ApiResource) -> Result<(), Error> {
/// // In another namespace. With `.watch(Owned::<ConfigMap>::new().detached())` in `wire`.
/// cx.apply_child(Child::new(page).detached()).await?;
///
/// // Of a kind known only at run time. With `.watch(Owned::<DynamicObject>::dynamic(widgets))` in `wire`.
/// let mut widget = DynamicObject::new(widgets, "a");
/// widget.data.insert("spec".into(), json!({"size": 3}));
/// let applied = cx.apply_child(Child::dynamic(widgets, widget)).await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Child<C> {
    pub(super) resource: ApiResource,
    pub(super) object: C,
    pub(super) detached: bool,
    dynamic: bool,
    pub(super) adopting: bool,
}

impl<C: Resource> Child<C> {
    /// A child of a kind with a Rust type.
    pub fn new(object: C) -> Self {
        Self {
            resource: ApiResource::of::<C>(),
            object,
            detached: false,
            dynamic: false,
            adopting: false,
        }
    }
}

impl<C: Object + Serialize + DeserializeOwned + Clone> Child<C> {
    /// A child of a kind that is known only at run time. `apiVersion` and `kind` of the object may be empty.
    pub fn dynamic(resource: &ApiResource, object: C) -> Self {
        Self {
            resource: resource.clone(),
            object,
            detached: false,
            dynamic: true,
            adopting: false,
        }
    }

    /// The apply takes over an existing object of the child's name that does not belong to the reconciled object, as
    /// [`Context::adopt`](super::Context::adopt) does. Without this option such an object is refused ([`Error::NotAdopted`]).
    ///
    /// From then on the object is a child like any other: it is deleted together with the reconciled object, and pruned when
    /// it is not applied any more. An object that belongs to another object is refused nevertheless.
    pub fn adopting(mut self) -> Self {
        self.adopting = true;
        self
    }

    /// The child is one that no owner reference can reach: it is in another namespace than the reconciled object, or
    /// cluster-scoped while the reconciled object is not.
    ///
    /// Instead of a reference the child names its owner in the label [`OWNER_UID_LABEL`](crate::controller::OWNER_UID_LABEL)
    /// and the annotation [`OWNER_ANNOTATION`](crate::controller::OWNER_ANNOTATION). A change of the child leads to a
    /// reconcile of the owner. When the owner is deleted, its finalizer deletes the child and waits until the child is gone.
    ///
    /// If somebody removed the finalizer by force, the child stays until an object of the owner's name is reconciled. If
    /// the controller [prunes](crate::controller::Controller::prunes) the kind, it deletes such a child at the child's next
    /// event or at the next start, once the server says that the owner does not exist.
    ///
    /// Before the first apply the server is asked whether an object of that name exists, because two owners may write the same
    /// child and the cache may be behind. An object that belongs to nobody is refused unless the child is
    /// [`adopting`](Self::adopting).
    ///
    /// A label can be copied. So before the framework deletes a detached child, it asks the server whether the operator's
    /// field manager applied the label (`metadata.managedFields`). An object for which this does not hold is not a child: it
    /// is not deleted, the owner's deletion does not wait for it, and a log line and an Event of the owner name it. Users
    /// who may write objects of the kind can still imitate a child on purpose, with an apply in the name of this field
    /// manager. An operator that was renamed deletes a child only after it has applied the child once.
    pub fn detached(mut self) -> Self {
        self.detached = true;
        self
    }

    /// The error for a child whose kind `wire` does not declare with these options.
    pub(super) fn not_wired(&self, verb: &'static str) -> Error {
        let missing = match self.detached {
            true => MissingLine::OwnsDetached,
            false => MissingLine::Owns,
        };
        match self.dynamic {
            true => Error::not_wired_dynamic::<C>(verb, &self.resource, missing),
            false => Error::not_wired(verb, &self.resource.kind, missing),
        }
    }
}
