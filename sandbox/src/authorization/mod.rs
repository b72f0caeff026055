//! Who may do what: everybody everything, or what the objects of `rbac.authorization.k8s.io` say, as a real server reads them.

mod action;
mod authorizer;
mod bootstrap;
mod rule;

pub(crate) use action::{Action, What};
pub(crate) use authorizer::{Decision, decide};
pub(crate) use bootstrap::create_roles;

/// How a sandbox decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Everybody who is known may do everything.
    #[default]
    AlwaysAllow,
    /// What roles and their bindings say; the group `system:masters` may do everything.
    Rbac,
}
