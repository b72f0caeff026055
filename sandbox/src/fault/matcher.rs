use crate::record::RecordedRequest;

/// Which requests a fault concerns: those that agree in every part that is set.
///
/// ```
/// use pilothouse_sandbox::RequestMatcher;
/// let matcher = RequestMatcher::any().verb("watch").resource("pods").namespace("default");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestMatcher {
    verb: Option<String>,
    group: Option<String>,
    resource: Option<String>,
    subresource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
}

impl RequestMatcher {
    /// Every request.
    pub fn any() -> Self {
        Self::default()
    }

    /// With this Kubernetes verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub fn verb(mut self, verb: impl Into<String>) -> Self {
        self.verb = Some(verb.into());
        self
    }

    /// In this API group; the core group is `""`.
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// For this resource, by plural name.
    pub fn resource(mut self, resource: impl Into<String>) -> Self {
        self.resource = Some(resource.into());
        self
    }

    /// For this subresource; `""` is the main resource only.
    pub fn subresource(mut self, subresource: impl Into<String>) -> Self {
        self.subresource = Some(subresource.into());
        self
    }

    /// In this namespace; `""` are requests across namespaces.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// For the object of this name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
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
    }
}
