use serde_json::Value;

use crate::resource::{DynamicObject, Object, PartialObject};

/// A kind with a status, and the type of it.
///
/// Do not implement it by hand: `#[derive(Resource)]` implements it for a struct with the field `status`, and every
/// k8s-openapi kind with a status has it already. The status of a [`DynamicObject`] is a [`Value`]: write it with
/// `serde_json::json!`, or convert any other type with `serde_json::to_value`. A [`PartialObject`] does not hold the status,
/// but it can be written.
///
/// ```
/// use pilothouse::{k8s::api::apps::v1::{Deployment, DeploymentStatus}, resource::HasStatus};
///
/// fn empty<K: HasStatus<Status: Default>>() -> K::Status {
///     K::Status::default()
/// }
/// assert_eq!(empty::<Deployment>(), DeploymentStatus::default());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no status",
    label = "the kind `{Self}` has no field `status`",
    note = "add `pub status: Option<YourStatus>` to the struct with `#[derive(Resource)]`, where `YourStatus` derives `Schema`, `Clone`, `Debug`, `Default`, `Deserialize` and `Serialize`"
)]
pub trait HasStatus: Object {
    /// The type of the field `status`, without the `Option`.
    type Status;

    /// Whether the kind is built into Kubernetes, so that Kubernetes' own controllers write the status, too.
    #[doc(hidden)]
    const BUILT_IN: bool = false;
}

impl HasStatus for DynamicObject {
    type Status = Value;
}

impl<K: HasStatus> HasStatus for PartialObject<K> {
    type Status = K::Status;
    const BUILT_IN: bool = K::BUILT_IN;
}
