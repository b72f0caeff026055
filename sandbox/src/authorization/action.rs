use crate::api::ApiError;
use crate::auth::User;
use crate::registry::GroupResource;

/// What somebody wants to do, in an authorizer's words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Action {
    pub(crate) verb: String,
    pub(crate) what: What,
}

/// With what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Path(String),
    Resource {
        group: String,
        /// Without subresource.
        resource: String,
        /// Empty for the main resource.
        subresource: String,
        /// Empty for all namespaces, and for kinds that have none.
        namespace: String,
        /// Empty for all, and for what has no name yet.
        name: String,
    },
}

impl Default for What {
    fn default() -> Self {
        Self::Path(String::new())
    }
}

impl Action {
    pub(crate) fn namespace(&self) -> &str {
        match &self.what {
            What::Path(_) => "",
            What::Resource { namespace, .. } => namespace,
        }
    }

    /// 403 in a real server's words.
    pub(crate) fn forbidden(&self, user: &User, reason: &str) -> ApiError {
        let (about, name, what) = match &self.what {
            What::Path(path) => (GroupResource::new("", ""), "", format!("path {path:?}")),
            What::Resource {
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
        // A text that could pass for HTML is not sent.
        let why = why
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        let why = match reason {
            "" => why,
            reason => format!("{why}: {reason}"),
        };
        match &self.what {
            What::Path(_) => ApiError::forbidden_path(&why),
            What::Resource { .. } => ApiError::forbidden(&about, name, &why),
        }
    }
}
