use serde::{Serialize, de::DeserializeOwned};

use crate::{
    crd::{CrdError, CustomResourceDefinition},
    resource::{DynamicObject, Object, PartialObject, Resource, RulePlace, RuntimeScope, Versions},
};

/// The type that the objects of a reconciled kind are read as.
///
/// Every [`Resource`] is one: its kind is known at compile time. [`PartialObject<K>`](PartialObject) is one of them: the
/// controller then reads only the metadata. The types for kinds that are known only at run time are [`RuntimeKind`]s.
///
/// This trait cannot be implemented outside of the framework.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a Kubernetes kind",
    note = "add `#[derive(Resource)]` and `#[resource(group = \"..\", version = \"v1\", namespaced)]` to the struct that holds `metadata`, `spec` and `status`"
)]
pub trait Reconcilable: Object + Serialize + DeserializeOwned + sealed::Sealed {
    /// The scope of the kind if it is known at compile time, otherwise [`RuntimeScope`].
    type Scope;

    /// Whether the kind is known only at run time.
    #[doc(hidden)]
    const IS_RUNTIME: bool = false;

    /// As [`Resource::definition`]. Returns `None` for a kind that is known only at run time.
    #[doc(hidden)]
    fn definition() -> Option<Result<CustomResourceDefinition, CrdError>> {
        None
    }

    /// The versions of the kind, if the program converts between several.
    #[doc(hidden)]
    fn versions() -> Option<Versions> {
        None
    }

    /// As [`Resource::rule_places`].
    #[doc(hidden)]
    fn rule_places() -> Vec<RulePlace> {
        Vec::new()
    }
}

#[diagnostic::do_not_recommend]
impl<K: Resource> Reconcilable for K {
    type Scope = K::Scope;

    fn definition() -> Option<Result<CustomResourceDefinition, CrdError>> {
        K::definition()
    }

    fn versions() -> Option<Versions> {
        Some(Versions::of::<K>()).filter(Versions::are_converted)
    }

    fn rule_places() -> Vec<RulePlace> {
        K::rule_places()
    }
}

impl Reconcilable for DynamicObject {
    type Scope = RuntimeScope;
    const IS_RUNTIME: bool = true;
}

impl Reconcilable for PartialObject {
    type Scope = RuntimeScope;
    const IS_RUNTIME: bool = true;
}

/// The type that objects of a kind known only at run time are read as: [`DynamicObject`], or [`PartialObject`] if the
/// metadata is enough. The kind is an [`ApiResource`](crate::resource::ApiResource) that is given beside the reconciler.
#[diagnostic::on_unimplemented(
    message = "the kind of `{Self}` is known at compile time",
    label = "the reconciled kind is `{Self}`",
    note = "use `Operator::controller`, `Controller::new` or `Offline::new`, which take no `ApiResource`; a reconciler of a kind known only at run time has `type Resource = DynamicObject`"
)]
pub trait RuntimeKind: Reconcilable<Scope = RuntimeScope> {}

impl RuntimeKind for DynamicObject {}

impl RuntimeKind for PartialObject {}

mod sealed {
    use super::*;

    pub trait Sealed {}

    #[diagnostic::do_not_recommend]
    impl<K: Resource> Sealed for K {}
    impl Sealed for DynamicObject {}
    impl Sealed for PartialObject {}
}
