//! The kinds that are served without a CustomResourceDefinition.
//!
//! What they look like (names, verbs, fields, list types, merge keys; no prose) is data in `data/`, reduced by
//! `tools/reduce.rs` from the documents published with the Kubernetes release that [`source`] names. What a real server does
//! in code is code here:
//! [`default_object`] fills in what clients expect to see, [`validate_object`] refuses what they know to be refused.

mod conversion;
mod data;
mod defaults;
mod kinds;
mod mistyped;
mod pod_defaults;
mod quantity;
mod schema;
mod time;
mod types;
mod validate;
mod validate_event;
mod validate_pod;
mod validate_status;
#[cfg(test)]
mod validate_tests;
mod validate_workload;
mod written;

pub use conversion::{event_from_core, event_to_core};
pub use data::source;
pub(crate) use data::{Resource, definition, definition_names, resources};
pub use defaults::default_object;
pub(crate) use defaults::{complete_object, shown_object};
pub use kinds::kinds;
pub(crate) use mistyped::{metadata_mistyped, mistyped};
pub use quantity::canonical_quantity;
pub use schema::{schema, schema_json};
pub use validate::validate_object;
pub(crate) use validate_status::validate_status;
pub(crate) use validate_workload::selects;
pub(crate) use written::blank_object;

use crate::registry::ServedKind;

/// The name of a built-in kind's definition.
fn definition_of(kind: &ServedKind) -> Option<&'static str> {
    let mut resources = resources().iter();
    let found = resources.find(|resource| {
        !kind.is_custom()
            && resource.group == kind.group
            && resource.version == kind.version
            && resource.kind == kind.kind
    });
    found.map(|resource| resource.definition.as_str())
}
