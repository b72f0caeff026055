use std::fmt;

/// One verb on one resource, in one scope, for one object or for all. An [`Access`](super::Access) is a set of these.
///
/// As in RBAC, `*` stands for every group, resource or verb, and `*/status` for that subresource of every resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Permission {
    /// Where the verb is allowed.
    pub scope: AccessScope,
    /// API group; `""` is the core group.
    pub group: String,
    /// Plural of the kind, followed by `/` and the subresource if the permission is for one: `deployments/scale`.
    pub resource: String,
    /// Name of the only object that the permission is for; `None` for all objects.
    pub name: Option<String>,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, …
    pub verb: String,
}

impl Permission {
    /// Whether this permission allows everything that `other` allows.
    pub fn covers(&self, other: &Self) -> bool {
        self.scope.covers(&other.scope)
            && self.names_action(
                &other.verb,
                &other.group,
                &other.resource,
                other.name.as_deref(),
            )
    }

    /// Whether the permission is for this action. The scope is not compared.
    pub(crate) fn names_action(
        &self,
        verb: &str,
        group: &str,
        resource: &str,
        name: Option<&str>,
    ) -> bool {
        any_or(&self.verb, verb)
            && any_or(&self.group, group)
            && self.names_resource(resource)
            && (self.name.is_none() || self.name.as_deref() == name)
    }

    fn names_resource(&self, resource: &str) -> bool {
        if any_or(&self.resource, resource) {
            return true;
        }
        let subresource = self.resource.strip_prefix("*/");
        subresource.is_some() && subresource == resource.split_once('/').map(|(_, part)| part)
    }
}

fn any_or(pattern: &str, value: &str) -> bool {
    pattern == "*" || pattern == value
}

/// `delete deployments.apps`, `patch websites.demo.pilothouse.dev/status`, `get secrets "key" in vault`.
impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (plural, subresource) = match self.resource.split_once('/') {
            Some((plural, subresource)) => (plural, Some(subresource)),
            None => (&*self.resource, None),
        };
        write!(f, "{} {plural}", self.verb)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if let Some(subresource) = subresource {
            write!(f, "/{subresource}")?;
        }
        if let Some(name) = &self.name {
            write!(f, " {name:?}")?;
        }
        match &self.scope {
            AccessScope::Namespace(namespace) => write!(f, " in {namespace}"),
            _ => Ok(()),
        }
    }
}

/// Where a [`Permission`] is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessScope {
    /// In all namespaces and for cluster-scoped objects.
    Cluster,
    /// In the namespaces that the operator works in. These may be all namespaces.
    Operator,
    /// In one namespace.
    Namespace(String),
}

impl AccessScope {
    /// The namespace, if the scope is one.
    pub fn namespace(&self) -> Option<&str> {
        match self {
            Self::Namespace(namespace) => Some(namespace),
            Self::Cluster | Self::Operator => None,
        }
    }

    /// Whether this scope includes `other`, whatever the operator's namespaces are.
    fn covers(&self, other: &Self) -> bool {
        *self == Self::Cluster || self == other
    }
}
