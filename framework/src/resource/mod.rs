//! What Kubernetes objects are: names, kinds, scopes, references and the server's errors.
//!
//! * [`Object`] is anything with metadata; code that works for every kind asks for no more.
//! * [`Resource`] adds what is known at compile time: group, version, kind, plural and [`Scope`].
//!   Every k8s-openapi type is one; your own become one by `#[derive(Resource)]`.
//! * [`PartialObject`] is any kind of which only the metadata is read.
//! * [`Selector`] and [`FieldSelector`] say which objects are meant.
//! * [`DynamicObject`] with an [`ApiResource`] stands for a kind known only at run time.
//! * [`ObjectKey`] names an object within its kind, [`ObjectRef`] names it within the cluster.
//! * [`Scheme`] reads objects from the manifests that people write, and [`to_yaml`] writes them.
//! * [`Access`] is what a part of a program needs to be allowed to do, from which RBAC is written.
//! * [`Conditions`] sets the conditions of a status.
//! * [`Status`] is the server's own error, kept whole.
//!
//! Nothing here does I/O.
//!
//! ```
//! use pilothouse::k8s::api::apps::v1::Deployment;
//! use pilothouse::resource::{ApiResource, Object, ObjectKey};
//!
//! let mut web = Deployment::default();
//! web.metadata_mut().name = Some("web".into());
//! web.metadata_mut().namespace = Some("default".into());
//! assert_eq!(web.key(), ObjectKey::namespaced("default", "web"));
//! assert_eq!(ApiResource::of::<Deployment>().api_version(), "apps/v1");
//! ```

mod access;
mod api_resource;
mod condition;
mod crd_error;
pub(crate) mod dns;
mod dynamic;
mod field_selector;
mod key;
mod labels;
mod lenient;
mod misfit;
mod object;
mod owner;
mod partial;
mod path;
mod reach;
mod reference;
mod requirement;
mod resource;
pub mod scheme;
mod scope;
mod selector;
mod selector_error;
mod status;
mod undecodable;
#[doc(hidden)]
pub mod wire;
pub(crate) mod yaml;

pub use access::{Access, AccessRule, AccessScope, Permission};
pub use api_resource::ApiResource;
pub(crate) use condition::keep_transitions;
pub use condition::{ConditionError, Conditions, NewCondition};
pub use crd_error::CrdError;
pub use dynamic::{DynamicObject, TypeMeta};
pub use field_selector::{FieldSelector, FieldTerm};
pub use key::ObjectKey;
pub use labels::Labels;
pub(crate) use misfit::{DEEPEST, TOO_DEEP, misfit, strip_position};
pub use object::Object;
pub(crate) use owner::control;
pub use owner::{OwnerError, controller_of, controller_reference, owner_reference, set_controller};
pub use partial::PartialObject;
pub(crate) use path::{Step, show};
pub use reach::{AllNamespaces, ByName, Located, Reach};
pub use reference::ObjectRef;
pub(crate) use requirement::check_key as check_qualified_name;
pub use requirement::{Operator, Requirement};
pub use resource::Resource;
pub use scheme::{Manifest, ManifestError, Scheme, to_yaml};
pub use scope::{CanOwn, Cluster, HasNamespace, Namespaced, Scope};
pub use selector::Selector;
pub use selector_error::SelectorError;
pub(crate) use status::LONGEST_RETRY_AFTER;
pub use status::{Status, StatusCause, StatusDetails};
pub use undecodable::Undecodable;

pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ListMeta, ObjectMeta, OwnerReference};
