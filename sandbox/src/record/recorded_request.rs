/// One request that was answered. A watch is recorded when its stream begins.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// Kubernetes verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`. For a path
    /// that is not a resource, the HTTP method in lower case.
    pub verb: String,
    /// HTTP method.
    pub method: String,
    /// Path without query.
    pub path: String,
    /// Query as sent, or empty.
    pub query: String,
    /// API group; empty for the core group and for paths that are not resources.
    pub group: String,
    /// Version of the group, or empty.
    pub version: String,
    /// Plural name of the resource, or empty.
    pub resource: String,
    /// `status`, `scale`, …, or empty.
    pub subresource: String,
    /// Namespace, or empty.
    pub namespace: String,
    /// Name of the object, or empty. For a `create` that succeeded it is the name that the object got, which the server
    /// generates for `generateName`.
    pub name: String,
    /// Content type of the body, or empty. It tells the patch formats apart.
    pub content_type: String,
    /// `User-Agent`, or empty.
    pub user_agent: String,
    /// Name of the user, or empty if the user is unknown.
    pub user: String,
    /// HTTP status code of the response.
    pub status: u16,
}
