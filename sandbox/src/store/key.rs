use std::sync::Arc;

/// The name of an object inside its kind: `namespace/name`, or `name` for cluster-scoped kinds. The order is that of a
/// real server's lists.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key(Arc<str>);

impl Key {
    pub(crate) fn new(namespace: Option<&str>, name: &str) -> Self {
        match namespace {
            Some(namespace) => Self(format!("{namespace}/{name}").into()),
            None => Self(name.into()),
        }
    }

    /// Reads a key from a continue token.
    pub(crate) fn parse(text: &str) -> Self {
        Self(text.into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn namespace(&self) -> Option<&str> {
        self.0.split_once('/').map(|(namespace, _)| namespace)
    }

    pub(crate) fn name(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(_, name)| name)
    }

    pub(crate) fn is_in(&self, namespace: Option<&str>) -> bool {
        namespace.is_none() || self.namespace() == namespace
    }
}
