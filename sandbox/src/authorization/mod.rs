//! Authorization: every authenticated user may do everything, or only what the roles and bindings of
//! `rbac.authorization.k8s.io` allow.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `action.rs` | what a user wants to do, and the 403 response |
//! | `authorizer.rs` | the decision, from roles and bindings |
//! | `grant.rs` | what a role grants that a user does not have |
//! | `rule.rs` | whether one rule of a role covers an action |

mod action;
mod authorizer;
mod grant;
mod rule;

pub(crate) use action::{Action, ActionTarget};
pub(crate) use authorizer::{
    Decision, GROUP as RBAC, MASTERS, Rules, decide, missing_rights, rules, rules_for,
};

/// How a sandbox authorizes requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Every authenticated user may do everything.
    #[default]
    AlwaysAllow,
    /// Roles and their bindings decide. The group `system:masters` may do everything.
    Rbac,
}
