use std::{fmt, sync::Arc};

/// Namespace and name of an object, within its kind.
///
/// The text form `namespace/name` (only `name` for cluster-scoped objects) is client-go's store
/// key. Cloning shares the text. A name never contains a slash, so the text form is unambiguous.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    text: Arc<str>,
}

impl ObjectKey {
    /// The key of `name` in `namespace`; `None` or `""` stands for a cluster-scoped object.
    pub fn new(namespace: Option<&str>, name: &str) -> Self {
        match namespace {
            Some(namespace) if !namespace.is_empty() => Self::namespaced(namespace, name),
            _ => Self::cluster(name),
        }
    }

    /// The key of a namespaced object.
    pub fn namespaced(namespace: &str, name: &str) -> Self {
        let mut text = String::with_capacity(namespace.len() + 1 + name.len());
        text.push_str(namespace);
        text.push('/');
        text.push_str(name);
        Self { text: text.into() }
    }

    /// The key of a cluster-scoped object.
    pub fn cluster(name: &str) -> Self {
        Self { text: name.into() }
    }

    /// The namespace; `None` for a cluster-scoped object.
    pub fn namespace(&self) -> Option<&str> {
        self.text.split_once('/').map(|(namespace, _)| namespace)
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.text
            .split_once('/')
            .map_or(&*self.text, |(_, name)| name)
    }

    /// `namespace/name`, or only the name.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Look-ups by borrowed text: `map.get("default/web")`.
impl std::borrow::Borrow<str> for ObjectKey {
    fn borrow(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_gives_back_its_parts() {
        let web = ObjectKey::namespaced("default", "web");
        assert_eq!(
            (web.namespace(), web.name(), web.as_str()),
            (Some("default"), "web", "default/web")
        );
        let node = ObjectKey::cluster("node-1");
        assert_eq!(
            (node.namespace(), node.name(), node.as_str()),
            (None, "node-1", "node-1")
        );
        assert_eq!(ObjectKey::new(Some(""), "node-1"), node);
    }
}
