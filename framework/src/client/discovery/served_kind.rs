use std::fmt;

use crate::resource::ApiResource;

/// A kind that an API server serves, in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServedKind {
    /// Group, version, kind, plural and scope: what [`Api::of`](crate::client::Api::of) takes.
    pub resource: ApiResource,
    /// Singular, such as `deployment`.
    pub singular: String,
    /// Short names for people, such as `deploy`.
    pub short_names: Vec<String>,
    /// The categories of the kind, such as `all`.
    pub categories: Vec<String>,
    /// The verbs of the kind, as RBAC names them: `get`, `list`, `watch`, …
    pub verbs: Vec<String>,
    /// Its subresources, in the server's order.
    pub subresources: Vec<ServedSubresource>,
}

impl ServedKind {
    /// Whether the kind has `verb`. Whether the client is allowed to use it is another question.
    pub fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|known| known == verb)
    }

    /// The subresource of that name.
    pub fn subresource(&self, name: &str) -> Option<&ServedSubresource> {
        self.subresources.iter().find(|known| known.name == name)
    }
}

/// `deployments.apps/v1`.
impl fmt::Display for ServedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.resource.fmt(f)
    }
}

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
