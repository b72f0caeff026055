/// A subresource of a kind: `status`, `scale`, `eviction`, …
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServedSubresource {
    /// Name, as the last part of the path.
    pub name: String,
    /// `apiVersion` of what is sent and answered: `autoscaling/v1` for `scale`.
    pub api_version: String,
    /// Kind of what is sent and answered: `Scale` for `scale`.
    pub kind: String,
    /// What can be done with it, as RBAC names it.
    pub verbs: Vec<String>,
}
