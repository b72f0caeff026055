use std::{borrow::Cow, fmt};

/// A kind as a value: everything about it that a request to the API server needs.
///
/// [`ApiResource::of`] makes it from a type. For a kind known only at run time, the program writes it down or discovers it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApiResource {
    /// API group; `""` is the core group.
    pub group: Cow<'static, str>,
    /// API version within the group, such as `v1`.
    pub version: Cow<'static, str>,
    /// Kind, such as `Deployment`.
    pub kind: Cow<'static, str>,
    /// Plural as in URLs, such as `deployments`.
    pub plural: Cow<'static, str>,
    /// Whether objects of the kind live in a namespace.
    pub namespaced: bool,
}

impl ApiResource {
    /// `group/version`, or only the version for the core group: the value of `apiVersion`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// `plural.group`, or only the plural for the core group: the name that RBAC and kubectl use.
    pub fn qualified_plural(&self) -> String {
        if self.group.is_empty() {
            self.plural.to_string()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }
}

/// `deployments.apps/v1`: plural, group and version.
impl fmt::Display for ApiResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.plural)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        write!(f, "/{}", self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::{apps::v1::Deployment, core::v1::Namespace};

    #[test]
    fn a_type_gives_group_plural_and_scope() {
        let deployments = ApiResource::of::<Deployment>();
        assert_eq!(deployments.api_version(), "apps/v1");
        assert_eq!(deployments.qualified_plural(), "deployments.apps");
        assert!(deployments.namespaced);
        assert_eq!(deployments.to_string(), "deployments.apps/v1");
    }

    #[test]
    fn names_of_the_core_group_contain_no_group() {
        let namespaces = ApiResource::of::<Namespace>();
        assert_eq!(namespaces.api_version(), "v1");
        assert_eq!(namespaces.qualified_plural(), "namespaces");
        assert!(!namespaces.namespaced);
    }
}
