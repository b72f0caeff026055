use std::{fmt, sync::Arc};

use super::dns::check_label;

/// Namespace and name of an object. It identifies the object among those of its kind.
///
/// The text form is client-go's store key: `namespace/name`, or `name` for a cluster-scoped object. It is unambiguous,
/// because a name never contains a slash. Clones share the text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    text: Arc<str>,
}

impl ObjectKey {
    /// The key of `name` in `namespace`. `None` and `""` mean that the object is cluster-scoped.
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

    /// The key of `name` in `namespace`, as somebody else wrote them. Returns `None` if no object can have this key.
    pub(crate) fn of_reference(namespace: Option<&str>, name: &str) -> Option<Self> {
        // The names of some kinds are no DNS names, but the name of each object is one segment of a path.
        let is_name = !matches!(name, "" | "." | "..") && name.len() <= 253;
        let is_segment = !name.contains(['/', '%']) && !name.contains(char::is_control);
        let is_namespace = namespace.is_none_or(|namespace| check_label(namespace).is_ok());
        (is_name && is_segment && is_namespace).then(|| Self::new(namespace, name))
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

/// Allows look-ups by text: `map.get("default/web")`.
impl std::borrow::Borrow<str> for ObjectKey {
    fn borrow(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_to_a_name_that_no_object_can_have_has_no_key() {
        let key = |namespace, name| ObjectKey::of_reference(namespace, name);
        let longest = "a".repeat(253);
        for name in ["web", "system:node", "Web_1", &*longest] {
            assert_eq!(key(Some("default"), name).unwrap().name(), name);
            assert_eq!(key(None, name).unwrap().namespace(), None);
        }
        let too_long = "a".repeat(254);
        for name in ["", ".", "..", "a/b", "a%2fb", "a\n", &*too_long] {
            assert_eq!((key(Some("default"), name), key(None, name)), (None, None));
        }
        for namespace in ["", "a/b", "A", ".."] {
            assert_eq!(key(Some(namespace), "web"), None);
        }
    }

    #[test]
    fn a_key_returns_its_namespace_and_name() {
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
