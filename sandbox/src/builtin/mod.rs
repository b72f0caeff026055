//! The kinds that are served without a CustomResourceDefinition.
//!
//! Their description (names, verbs, fields, list types, merge keys; no prose) is data in `data/`. `tools/reduce.rs`
//! makes it from the documents of the Kubernetes release that [`source`] names. What a real server does in code is code
//! here: [`default_object`] fills in what clients expect to see, and [`validate_object`] refuses what a real server
//! refuses.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `data.rs` | the embedded data |
//! | `kinds.rs` | the built-in kinds as the registry holds them |
//! | `schema.rs` | their schemas |
//! | `defaults/` | defaults |
//! | `validate/` | validation in code |
//! | `written.rs` | which fields a server always writes, and which it never writes |
//! | `conversion.rs` | the two API versions of Events |

mod conversion;
mod data;
mod defaults;
mod kinds;
mod schema;
mod validate;
mod written;

pub use crate::go::canonical_quantity;
pub(crate) use conversion::{event_from_core, event_to_core};
pub(crate) use data::{Resource, definition, definition_names, resources, source};
pub(crate) use defaults::{complete_object, default_object, shown_object};
pub use kinds::kinds;
pub(crate) use kinds::mistyped;
pub use schema::{schema, schema_json};
pub(crate) use validate::{selects, validate_object, validate_status};
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
