//! Custom resource definitions: made from Rust types, printed, and installed.
//!
//! `#[derive(Resource)]` makes a struct a [`CustomResource`]. `#[derive(Schema)]` describes the types of its spec and
//! status. [`CustomResource::crd`] builds the definition, [`to_yaml`] prints it, and [`install`] applies it and waits until
//! the API server serves the kind.
//!
//! schemars writes the schema. This module rewrites it into the form that Kubernetes calls structural: one type at each
//! place, no references, no recursion. A type that has no such schema does not compile, if the types alone show it.
//! Otherwise [`CustomResource::crd`] returns a [`CrdError`]. The API server never refuses the definition, and nothing
//! panics.
//!
//! ```
//! use pilothouse::crd::{CustomResource, to_yaml};
//! use pilothouse::resource::ObjectMeta;
//! use pilothouse::{Resource, Schema};
//! use serde::{Deserialize, Serialize};
//!
//! /// A greeting.
//! #[derive(Resource, Clone, Debug)]
//! #[resource(group = "demo.pilothouse.dev", version = "v1", namespaced)]
//! struct Greeting {
//!     metadata: ObjectMeta,
//!     spec: GreetingSpec,
//! }
//!
//! #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
//! struct GreetingSpec {
//!     /// Name of the person to greet.
//!     #[schema(min_length = 1, column = "Name")]
//!     name: String,
//! }
//!
//! let yaml = to_yaml([Greeting::crd()?])?;
//! assert!(yaml.contains("plural: greetings"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Map for contributors
//! | file or folder | holds |
//! | --- | --- |
//! | `schema.rs` | [`Schema`], and its implementations for the types of Rust |
//! | `kubernetes_types/` | implementations of [`Schema`] for the types of k8s-openapi |
//! | `structural/` | rewrites a schema into its structural form |
//! | `annotations.rs` | printer columns, scale paths, selectable and immutable fields |
//! | `compatibility/` | [`breaking_changes`]: what stored objects and clients lose with a new definition |
//! | `custom_resource.rs` | [`CustomResource`], and how its definition is built |
//! | `versions.rs` | joins the versions of a kind in one definition |
//! | `size.rs` | whether a definition fits into an annotation of `kubectl apply` |
//! | `to_json.rs` | [`to_json`] |
//! | `install.rs` | [`install`] |
//! | `migration/` | [`migrate`]: writes stored objects again, in the present stored version |

mod annotations;
mod compatibility;
mod custom_resource;
mod install;
mod kubernetes_types;
mod migration;
mod schema;
pub(crate) mod size;
mod structural;
mod to_json;
mod versions;

pub use compatibility::{BreakingChange, breaking_changes};
pub use custom_resource::CustomResource;
pub(crate) use install::{Applied, apply};
pub use install::{InstallError, install, install_access};
pub use migration::{Migrated, MigrationError, MigrationProgress, migrate};
pub use schema::{MapKey, Schema};
pub use to_json::to_json;

pub use crate::resource::{CrdError, to_yaml};
pub use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

#[doc(hidden)]
pub use custom_resource::{
    Declaration, Defined, Describe, Keeps, UNKNOWN_SCALE, check_form, check_scale, check_status,
    first,
};
