//! The access that a part of a program needs, from which RBAC roles are written.
//!
//! | file | holds |
//! | --- | --- |
//! | `access.rs` | [`Access`]: a set of permissions, and the rules of a role made from it |
//! | `permission.rs` | [`Permission`]: one verb on one resource; [`AccessScope`]: where |
//! | `rule.rs` | [`AccessRule`]: a builder of permissions |

mod access;
mod permission;
mod rule;
#[cfg(test)]
mod tests;

pub use access::Access;
pub use permission::{AccessScope, Permission};
pub use rule::AccessRule;
