//! The kinds that are served without a CustomResourceDefinition.
//!
//! What they look like (names, verbs, fields, list types, merge keys; no prose) is data in `data/`, reduced by
//! `tools/reduce.rs` from the documents published with the Kubernetes release that [`source`] names. What a real server does
//! in code is code here:
//! [`default_object`] fills in what clients expect to see, [`validate_object`] refuses what they know to be refused.

mod blank;
mod conversion;
mod data;
mod defaults;
mod kinds;
mod pod_defaults;
mod quantity;
mod schema;
mod validate;
mod validate_pod;
#[cfg(test)]
mod validate_tests;
mod validate_workload;

pub(crate) use blank::blank_object;
pub use conversion::{event_from_core, event_to_core};
pub use data::source;
pub(crate) use data::{Resource, definition, definition_names, resources};
pub use defaults::default_object;
pub use kinds::kinds;
pub use quantity::canonical_quantity;
pub(crate) use schema::object_meta;
pub use schema::{schema, schema_json};
pub use validate::validate_object;
pub(crate) use validate_workload::selects;
