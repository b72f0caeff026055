use std::fmt;

use super::AccessScope;

/// One verb on one resource, in one scope, for one object or all: what [`Access`](super::Access) is
/// made of.
///
/// `*` stands for every group, resource or verb, as in RBAC; so does `*/status` for that subresource
/// of every resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Permission {
    /// Where.
    pub scope: AccessScope,
    /// API group; `""` is the core group.
    pub group: String,
    /// Plural of the kind, with `/` and the subresource if it is about one: `deployments/scale`.
    pub resource: String,
    /// Only the object of this name.
    pub name: Option<String>,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, …
    pub verb: String,
}

impl Permission {
    /// Whether whoever has this may do what `other` says.
    pub fn covers(&self, other: &Self) -> bool {
        self.scope.covers(&other.scope)
            && self.names_action(
                &other.verb,
                &other.group,
                &other.resource,
                other.name.as_deref(),
            )
    }

    /// Whether it is about this action, wherever that takes place.
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
