use std::{
    borrow::Cow,
    fmt::{self, Debug},
};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{ApiResource, Object, ObjectMeta, Scope};

/// A kind known at compile time.
///
/// Do not implement it by hand: every k8s-openapi kind has it already, and `#[derive(Resource)]` implements it for your
/// own kinds.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a Kubernetes kind",
    note = "add `#[derive(Resource)]` and `#[resource(group = \"..\", version = \"v1\", namespaced)]` to the struct that holds `metadata`, `spec` and `status`",
    note = "`DynamicObject` is an object of a kind known only at run time: use the method that takes an `ApiResource`, such as `Operator::dynamic_controller`, `Owned::dynamic` or `Api::of`"
)]
pub trait Resource: Object + Serialize + DeserializeOwned + Clone + Debug {
    /// [`Namespaced`](super::Namespaced) or [`Cluster`](super::Cluster).
    type Scope: Scope;
    /// API group; `""` is the core group.
    const GROUP: &'static str;
    /// API version within the group, such as `v1`.
    const VERSION: &'static str;
    /// Kind, such as `Deployment`.
    const KIND: &'static str;
    /// Plural as in URLs, such as `deployments`.
    const PLURAL: &'static str;

    /// The other versions of the kind, if this is the stored one. `#[derive(Resource)]` sets it.
    #[doc(hidden)]
    const OTHER_VERSIONS: &'static [OtherVersion] = &[];

    /// The definition that must be installed before objects of the kind can exist. Returns `None` for kinds that are
    /// built into the API server. `#[derive(Resource)]` overrides this method.
    ///
    /// # Errors
    ///
    /// Returns a [`CrdError`] if Kubernetes cannot describe the kind's Rust types.
    fn definition() -> Option<Result<CustomResourceDefinition, CrdError>> {
        None
    }

    /// Where the CEL rules of the definition stand in the source. `#[derive(Resource)]` overrides this method.
    #[doc(hidden)]
    fn rule_places() -> Vec<RulePlace> {
        Vec::new()
    }
}

/// Where a CEL rule of a definition stands in the source.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulePlace {
    /// Path of the field in an object, such as `spec.html`; empty for the kind itself.
    pub path: String,
    /// The position of the rule among those of the field.
    pub rule: usize,
    /// File and line.
    pub source: String,
}

/// A version of a kind that is served beside the stored one.
#[doc(hidden)]
#[derive(Debug)]
pub struct OtherVersion {
    pub(crate) resource: ApiResource,
    pub(crate) definition: fn() -> Option<Result<CustomResourceDefinition, CrdError>>,
    /// `None` if the versions differ in `apiVersion` only.
    pub(crate) conversion: Option<TypedConversion>,
}

/// The conversions of a version to and from the stored one, for objects in JSON.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TypedConversion {
    pub(crate) to_stored: ConvertTyped,
    pub(crate) from_stored: ConvertTyped,
}

/// Reads an object into the type of its version, and converts it with the code of the program.
pub(crate) type ConvertTyped = fn(&Value) -> Result<TypedTrip, TypedFailure>;

/// An object before and after a conversion, as its types write it.
pub(crate) struct TypedTrip {
    pub(crate) from: Value,
    pub(crate) made: Value,
}

/// Why a conversion failed.
pub(crate) enum TypedFailure {
    /// The object does not fit its type.
    Unfit { path: String, reason: String },
    /// The text of the program's error.
    Refused(String),
}

impl TypedFailure {
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Unfit { path, reason } => format!("{path}: {reason}"),
            Self::Refused(text) => text.clone(),
        }
    }
}

#[diagnostic::do_not_recommend]
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

impl ApiResource {
    /// The value for the kind `K`.
    pub const fn of<K: Resource>() -> Self {
        Self {
            group: Cow::Borrowed(K::GROUP),
            version: Cow::Borrowed(K::VERSION),
            kind: Cow::Borrowed(K::KIND),
            plural: Cow::Borrowed(K::PLURAL),
            namespaced: <K::Scope as Scope>::NAMESPACED,
        }
    }
}

/// Why a kind has no definition: Kubernetes cannot describe one of its Rust types.
///
/// Most such types do not compile. This error reports the rest, which only the whole schema shows. A test per kind,
/// `Website::crd().unwrap()`, finds it before a user does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrdError {
    /// The kind.
    pub kind: String,
    /// Path of the field in an object, such as `spec.pages[].tree`; empty for the kind itself.
    pub path: String,
    /// What is wrong, and what to do.
    pub problem: String,
}

/// `Website: spec.tree: the type contains itself …`.
impl fmt::Display for CrdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.kind)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.problem)
    }
}

impl std::error::Error for CrdError {}
