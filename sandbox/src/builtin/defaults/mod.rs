//! The defaults that a real server writes into objects of the built-in kinds.
//!
//! | file | what it fills in |
//! | --- | --- |
//! | `object.rs` | every kind, and what a server sets for a new object or hides from clients |
//! | `fields.rs` | sets fields that are absent |
//! | `pod.rs` | the specification of a Pod, alone or in a template |

mod fields;
mod object;
mod pod;

pub(crate) use object::{complete_object, default_object, qos_class, shown_object};
