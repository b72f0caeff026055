/// Which objects of a kind a cache holds. The default is all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct InformerScope {
    /// Only this namespace; `None` for all of them, and for cluster-scoped kinds.
    pub namespace: Option<String>,
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
    pub(super) fn normalized(mut self) -> Self {
        for part in [
            &mut self.namespace,
            &mut self.label_selector,
            &mut self.field_selector,
        ] {
            *part = part.take().filter(|text| !text.is_empty());
        }
        self
    }

    /// Only objects in `namespace`.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
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
