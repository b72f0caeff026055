use crate::resource::{Access, AccessRule, ApiResource};

/// The verbs that a cache needs.
pub(crate) const CACHE: [&str; 2] = ["list", "watch"];

/// A kind that a controller watches, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wired {
    /// The kind.
    pub resource: ApiResource,
    /// What the controller does with it.
    pub role: Role,
}

/// What a controller does with a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The controller reconciles objects of this kind.
    Reconciled,
    /// The controller writes objects of this kind as their owner.
    Owned,
    /// Changes of objects of this kind lead to reconciles.
    Watched,
    /// The controller only reads objects of this kind.
    Read,
}

impl Wired {
    /// The access that this kind needs in this role. [`Controller::needs`](crate::controller::Controller::needs) adds what the rest of
    /// `wire` declares.
    pub fn access(&self) -> Access {
        let cache = Access::from(AccessRule::of_resource(&self.resource, CACHE));
        match self.role {
            Role::Owned => cache.and(AccessRule::of_resource(
                &self.resource,
                ["create", "get", "patch"],
            )),
            Role::Reconciled | Role::Watched | Role::Read => cache,
        }
    }
}
