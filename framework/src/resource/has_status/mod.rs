//! The type of a kind's status.
//!
//! | file | holds |
//! | --- | --- |
//! | `has_status.rs` | [`HasStatus`] |
//! | `built_in.rs` | the statuses of the built-in kinds |

mod built_in;
mod has_status;

pub use has_status::HasStatus;
