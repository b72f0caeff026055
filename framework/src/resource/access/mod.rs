//! What a part of a program needs to be allowed to do.

#[allow(clippy::module_inception)]
mod access;
mod permission;
mod rule;
mod scope;
#[cfg(test)]
mod tests;

pub use access::Access;
pub use permission::Permission;
pub use rule::AccessRule;
pub use scope::AccessScope;
