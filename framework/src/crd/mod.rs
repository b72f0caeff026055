//! Custom resource definitions: made from Rust types, printed, and installed.
//!
//! `#[derive(Resource)]` makes a struct a [`CustomResource`]; `#[derive(Schema)]` describes the
//! types of its spec and status. [`CustomResource::crd`] assembles the definition, [`to_yaml`]
//! prints it, [`install`] applies it and waits until the API server serves the kind.
//!
//! The schema comes from schemars and is rewritten into the form that Kubernetes calls structural:
//! one type at each place, nothing referenced, nothing recursive. What cannot be written in it is
//! refused by the compiler where the types show it, and by [`CrdError`] otherwise; never by the
//! API server, and never by a panic.
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
//!     /// Who is greeted.
//!     #[schema(min_length = 1, column = "Name")]
//!     name: String,
//! }
//!
//! let yaml = to_yaml(&Greeting::crd()?);
//! assert!(yaml.contains("plural: greetings"));
//! # Ok::<(), pilothouse::crd::CrdError>(())
//! ```

mod annotations;
mod build;
mod custom_resource;
mod install;
mod known;
mod schema;
mod structural;
mod yaml;

pub use custom_resource::CustomResource;
pub use install::{InstallError, install};
pub use schema::{MapKey, Schema};
pub use yaml::{to_json, to_yaml};

pub use crate::resource::CrdError;
pub use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

#[doc(hidden)]
pub use build::{Declaration, Describe, build_crd, check_scale, check_status, describe};
