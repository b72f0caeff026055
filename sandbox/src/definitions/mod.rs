//! CustomResourceDefinitions: how the server checks them, and which kinds they define.
//!
//! The controller that serves the kinds and deletes their objects is [`crate::controllers::definitions`].
//!
//! | file | what it holds |
//! | --- | --- |
//! | `definition.rs` | access to the fields of a definition |
//! | `check.rs` | validation |
//! | `selectable_fields.rs` | the fields that field selectors may name |
//! | `conditions.rs` | the conditions in the status |
//! | `kinds.rs` | the kinds that a definition defines, as the registry holds them |

mod check;
pub(crate) mod conditions;
mod definition;
mod kinds;
mod selectable_fields;

pub(crate) use check::check;
pub(crate) use definition::{
    defined_resource, definitions, is_definition, items, remember_storage, text,
};
pub(crate) use kinds::kinds;

use definition::flag;
