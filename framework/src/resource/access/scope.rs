/// Where a [`Permission`](super::Permission) holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessScope {
    /// Everywhere, cluster-scoped objects included.
    Cluster,
    /// In the namespaces that the operator works in, which may be all.
    Operator,
    /// In this namespace.
    Namespace(String),
}

impl AccessScope {
    /// Whether this is at least as far as `other`, whatever the operator's namespaces are.
    pub(super) fn covers(&self, other: &Self) -> bool {
        *self == Self::Cluster || self == other
    }
}
