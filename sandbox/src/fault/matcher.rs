use serde::Deserialize;

use crate::record::RecordedRequest;

/// Selects the requests of a fault: a request must match every part that is set.
///
/// ```
/// use pilothouse_sandbox::RequestMatcher;
/// let matcher = RequestMatcher::any().verb("watch").resource("pods").namespace("default");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct RequestMatcher {
    verb: Option<String>,
    group: Option<String>,
    resource: Option<String>,
    subresource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    user: Option<String>,
    user_agent: Option<String>,
}

impl RequestMatcher {
    /// Matches every request.
    pub fn any() -> Self {
        Self::default()
    }

    /// Matches this Kubernetes verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub fn verb(mut self, verb: impl Into<String>) -> Self {
        self.verb = Some(verb.into());
        self
    }

    /// Matches this API group; the core group is `""`.
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// Matches this resource, by its plural name.
    pub fn resource(mut self, resource: impl Into<String>) -> Self {
        self.resource = Some(resource.into());
        self
    }

    /// Matches this subresource; `""` matches the main resource only.
    pub fn subresource(mut self, subresource: impl Into<String>) -> Self {
        self.subresource = Some(subresource.into());
        self
    }

    /// Matches this namespace; `""` matches requests across namespaces.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Matches this object name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Matches requests of this user, after impersonation.
    pub fn user(mut self, name: impl Into<String>) -> Self {
        self.user = Some(name.into());
        self
    }

    /// Matches requests whose `User-Agent` begins with this text: it tells programs apart that are the same user.
    pub fn user_agent(mut self, start: impl Into<String>) -> Self {
        self.user_agent = Some(start.into());
        self
    }

    pub(crate) fn matches(&self, request: &RecordedRequest) -> bool {
        let agrees =
            |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
        agrees(&self.verb, &request.verb)
            && agrees(&self.group, &request.group)
            && agrees(&self.resource, &request.resource)
            && agrees(&self.subresource, &request.subresource)
            && agrees(&self.namespace, &request.namespace)
            && agrees(&self.name, &request.name)
            && agrees(&self.user, &request.user)
            && self
                .user_agent
                .as_ref()
                .is_none_or(|start| request.user_agent.starts_with(start))
    }
}
