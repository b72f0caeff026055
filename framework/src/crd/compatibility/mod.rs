//! What a new definition of a kind takes away from the objects that are stored, and from the programs that use the kind.
//!
//! [`breaking_changes`] compares two definitions and lists each change with its place, the reason, and what to do instead. It
//! decides as an API server does that reads the stored objects with the new definition: what only allows more is no change.
//!
//! A server of Kubernetes 1.33 or later lets an object keep a value that became invalid as long as nobody changes it. Such a
//! change is listed nevertheless: the next writer of the value is refused.
//!
//! | file | holds |
//! | --- | --- |
//! | `breaking_change.rs` | [`BreakingChange`] |
//! | `definition.rs` | compares names, versions and subresources |
//! | `schema.rs` | compares schemas |
//! | `json.rs` | reads definitions as JSON |

mod breaking_change;
mod definition;
mod json;
mod schema;

pub use breaking_change::BreakingChange;
pub use definition::breaking_changes;
