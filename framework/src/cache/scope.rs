use std::collections::BTreeSet;

use super::{NamespaceSet, Namespaces};

/// Which objects of a kind a cache holds. The default is all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct InformerScope {
    /// Only these namespaces; cluster-scoped kinds have none.
    pub namespaces: Namespaces,
    /// Only objects whose labels match, as kubectl's `-l`.
    pub label_selector: Option<String>,
    /// Only objects whose fields match, such as `spec.nodeName=node-1`.
    pub field_selector: Option<String>,
}

impl InformerScope {
    /// All objects of the kind.
    pub fn all() -> Self {
        Self::default()
    }

    /// Scopes that mean the same become equal: what is empty selects nothing in particular.
    pub(super) fn normalized(mut self, namespaced: bool) -> Self {
        if !namespaced {
            self.namespaces = Namespaces::All;
        }
        for part in [&mut self.label_selector, &mut self.field_selector] {
            *part = part.take().filter(|text| !text.is_empty());
        }
        self
    }

    /// Only objects in `namespace`; `""` stands for all namespaces.
    #[must_use]
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        self.namespaces([namespace])
    }

    /// Only objects in these namespaces, each listed and watched by itself; of none of them (or
    /// `""`), all namespaces.
    #[must_use]
    pub fn namespaces<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        let names: BTreeSet<String> = names.into_iter().map(Into::into).collect();
        self.namespaces = if names.is_empty() || names.contains("") {
            Namespaces::All
        } else {
            Namespaces::These(names)
        };
        self
    }

    /// Only objects in the namespaces that are in `set` at any time.
    #[must_use]
    pub fn following(mut self, set: &NamespaceSet) -> Self {
        self.namespaces = Namespaces::Following(set.clone());
        self
    }

    /// Only objects whose labels match `selector`.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.label_selector = Some(selector.into());
        self
    }

    /// Only objects whose fields match `selector`.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.field_selector = Some(selector.into());
        self
    }
}
