use std::fmt::Debug;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::{Serialize, de::DeserializeOwned};

use super::{CrdError, Object, ObjectMeta, Scope};

/// A kind known at compile time.
///
/// Do not implement it by hand: k8s-openapi's kinds have it already, and
/// `#[derive(Resource)]` writes it for yours.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a Kubernetes kind",
    note = "add `#[derive(Resource)]` and `#[resource(group = \"..\", version = \"v1\", namespaced)]` to the struct that holds `metadata`, `spec` and `status`"
)]
pub trait Resource: Object + Serialize + DeserializeOwned + Clone + Debug {
    /// Namespaced or cluster-wide.
    type Scope: Scope;
    /// API group; `""` is the core group.
    const GROUP: &'static str;
    /// API version within the group, such as `v1`.
    const VERSION: &'static str;
    /// Kind, such as `Deployment`.
    const KIND: &'static str;
    /// Plural as in URLs, such as `deployments`.
    const PLURAL: &'static str;

    /// The definition to install before objects of the kind can exist; `None` for kinds that the
    /// API server brings along. `#[derive(Resource)]` overrides it.
    ///
    /// # Errors
    ///
    /// The kind's types have no schema that Kubernetes accepts.
    fn definition() -> Option<Result<CustomResourceDefinition, CrdError>> {
        None
    }
}

impl<K> Resource for K
where
    K: k8s_openapi::Resource
        + k8s_openapi::Metadata<Ty = ObjectMeta>
        + Serialize
        + DeserializeOwned
        + Clone
        + Debug
        + Send
        + Sync
        + 'static,
    K::Scope: Scope,
{
    type Scope = K::Scope;
    const GROUP: &'static str = <K as k8s_openapi::Resource>::GROUP;
    const VERSION: &'static str = <K as k8s_openapi::Resource>::VERSION;
    const KIND: &'static str = <K as k8s_openapi::Resource>::KIND;
    const PLURAL: &'static str = <K as k8s_openapi::Resource>::URL_PATH_SEGMENT;
}
