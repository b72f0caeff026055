/// A subresource of a kind: `status`, `scale`, `eviction`, …
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServedSubresource {
    /// Name, as the last part of the path.
    pub name: String,
    /// The `apiVersion` of request and answer: `autoscaling/v1` for `scale`.
    pub api_version: String,
    /// The kind of request and answer: `Scale` for `scale`.
    pub kind: String,
    /// The verbs of the subresource, as RBAC names them.
    pub verbs: Vec<String>,
}
