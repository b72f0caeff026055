use crate::authentication::User;
use crate::error::ApiError;
use crate::registry::GroupResource;

/// What a user wants to do: the attributes of an authorization request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Action {
    pub(crate) verb: String,
    pub(crate) target: ActionTarget,
}

/// The path or the resource that an action is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ActionTarget {
    Path(String),
    Resource {
        group: String,
        /// Without the subresource.
        resource: String,
        /// Empty for the main resource.
        subresource: String,
        /// Empty for all namespaces and for cluster-scoped kinds.
        namespace: String,
        /// Empty for all objects and for an object that has no name yet.
        name: String,
    },
}

impl Default for ActionTarget {
    fn default() -> Self {
        Self::Path(String::new())
    }
}

impl Action {
    pub(crate) fn namespace(&self) -> &str {
        match &self.target {
            ActionTarget::Path(_) => "",
            ActionTarget::Resource { namespace, .. } => namespace,
        }
    }

    /// The 403 response, with the text of kube-apiserver.
    pub(crate) fn forbidden(&self, user: &User, reason: &str) -> ApiError {
        let (about, name, what) = match &self.target {
            ActionTarget::Path(path) => (GroupResource::new("", ""), "", format!("path {path:?}")),
            ActionTarget::Resource {
                group,
                resource,
                subresource,
                namespace,
                name,
            } => {
                let place = match namespace.as_str() {
                    "" => "at the cluster scope".to_owned(),
                    namespace => format!("in the namespace {namespace:?}"),
                };
                let whole = match subresource.as_str() {
                    "" => resource.clone(),
                    subresource => format!("{resource}/{subresource}"),
                };
                (
                    GroupResource::new(group, resource),
                    name.as_str(),
                    format!("resource {whole:?} in API group {group:?} {place}"),
                )
            }
        };
        let why = format!("User {:?} cannot {} {what}", user.name, self.verb);
        // kube-apiserver escapes text that could pass for HTML.
        let why = why
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        let why = match reason {
            "" => why,
            reason => format!("{why}: {reason}"),
        };
        match &self.target {
            ActionTarget::Path(_) => ApiError::forbidden_path(&why),
            ActionTarget::Resource { .. } => ApiError::forbidden(&about, name, &why),
        }
    }
}
