//! The kinds that are served without a CustomResourceDefinition.
//!
//! Their description (names, verbs, fields, list types, merge keys, documentation) is data in `data/`, whose page says where it comes
//! from. `tools/reduce.rs` makes most of it from the documents of the Kubernetes release that [`source`] names. What a real server does in code is code
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
//! | `internal_form/` | the form of values in some errors |
//! | `written.rs` | which fields a server always writes, and which it never writes |
//! | `conversion.rs` | the kinds that are served in two versions and stored in one |

mod conversion;
mod data;
mod defaults;
mod internal_form;
mod kinds;
mod schema;
mod validate;
mod written;

pub use crate::go::canonical_quantity;
pub(crate) use conversion::{
    Conversion, autoscaler_from_stored, autoscaler_to_stored, event_to_core, shared_storage,
};
pub(crate) use data::{
    Resource, Subresource, checksum, column_description, definition, definition_names, describe,
    description, parameter_description, resources, roles, source,
};
pub(crate) use defaults::{
    complete_object, default_object, has_health_check, has_node_ports, qos_class, shown_object,
};
pub use kinds::kinds;
pub(crate) use kinds::mistyped;
pub use schema::{schema, schema_json};
pub(crate) use validate::{
    ip_address_name, policy_with, selects, service_addresses, validate_object, validate_status,
    warnings, webhook_client,
};
pub(crate) use written::{blank_object, complete_nulls, forget_empty_lists};

use crate::registry::ServedKind;

/// The description of a built-in kind. Returns `None` for other kinds.
pub(crate) fn resource(kind: &ServedKind) -> Option<&'static Resource> {
    let mut resources = resources().iter();
    resources.find(|resource| {
        !kind.is_custom()
            && resource.group == kind.group
            && resource.version == kind.version
            && resource.kind == kind.kind
    })
}

/// A subresource of a built-in kind.
pub(crate) fn subresource(kind: &ServedKind, name: &str) -> Option<&'static Subresource> {
    let mut known = resource(kind)?.subresources.iter();
    known.find(|known| known.name == name)
}

/// The name of a built-in kind's definition.
fn definition_of(kind: &ServedKind) -> Option<&'static str> {
    resource(kind).map(|resource| resource.definition.as_str())
}
