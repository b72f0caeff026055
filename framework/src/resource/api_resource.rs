use std::{borrow::Cow, fmt};

use super::{Resource, Scope};

/// A kind as a value: what a request to the API server must know of it.
///
/// Typed kinds give theirs by [`ApiResource::of`]; for others it is written down or discovered.
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
    /// The value for a kind known at compile time.
    pub const fn of<K: Resource>() -> Self {
        Self {
            group: Cow::Borrowed(K::GROUP),
            version: Cow::Borrowed(K::VERSION),
            kind: Cow::Borrowed(K::KIND),
            plural: Cow::Borrowed(K::PLURAL),
            namespaced: <K::Scope as Scope>::NAMESPACED,
        }
    }

    /// `group/version`, or only the version for the core group, as in `apiVersion`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// `plural.group`, or only the plural for the core group, as RBAC and kubectl name it.
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
    fn a_typed_kind_gives_group_plural_and_scope() {
        let deployments = ApiResource::of::<Deployment>();
        assert_eq!(deployments.api_version(), "apps/v1");
        assert_eq!(deployments.qualified_plural(), "deployments.apps");
        assert!(deployments.namespaced);
        assert_eq!(deployments.to_string(), "deployments.apps/v1");
    }

    #[test]
    fn the_core_group_has_no_group_in_its_names() {
        let namespaces = ApiResource::of::<Namespace>();
        assert_eq!(namespaces.api_version(), "v1");
        assert_eq!(namespaces.qualified_plural(), "namespaces");
        assert!(!namespaces.namespaced);
    }
}
