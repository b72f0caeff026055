use crate::resource::ApiResource;

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
    /// It reconciles it.
    Reconciled,
    /// It writes it, as the owner.
    Owned,
    /// Changes of it lead to reconciles.
    Watched,
    /// It only reads it.
    Read,
}
