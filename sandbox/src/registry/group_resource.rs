use std::fmt;

/// A resource in any version: API group and plural name. Displays as `deployments.apps`, or `pods` in the core group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupResource {
    /// API group; empty for the core group.
    pub group: String,
    /// Plural name in lower case.
    pub resource: String,
}

impl GroupResource {
    /// The resource `resource` in `group`.
    pub fn new(group: impl Into<String>, resource: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            resource: resource.into(),
        }
    }
}

impl fmt::Display for GroupResource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            out.write_str(&self.resource)
        } else {
            write!(out, "{}.{}", self.resource, self.group)
        }
    }
}
