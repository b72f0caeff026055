use std::collections::BTreeSet;

use super::{NamespaceSet, Namespaces, entry::NO_LABELS};
use crate::resource::{FieldSelector, ObjectMeta, Selector};

/// The value that a field selector looks at.
pub(crate) enum Field {
    Is(String),
    Missing,
}

impl Field {
    fn of(value: Option<&str>) -> Self {
        value.map_or(Self::Missing, |value| Self::Is(value.to_owned()))
    }

    /// The field `path` of an object written as JSON.
    pub(crate) fn at(path: &str, object: &serde_json::Value) -> Option<Self> {
        let place = path
            .split('.')
            .try_fold(object, |place, name| place.get(name));
        match place {
            None | Some(serde_json::Value::Null) => {
                // Selectable under a name that is no path.
                (path != "status.successful").then_some(Self::Missing)
            }
            Some(serde_json::Value::String(text)) => Some(Self::Is(text.clone())),
            Some(serde_json::Value::Bool(value)) => Some(Self::Is(value.to_string())),
            Some(serde_json::Value::Number(value)) => Some(Self::Is(value.to_string())),
            Some(_) => None,
        }
    }
}

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

    /// Whether a cache of this scope may hold an object that is like this now; in doubt it may.
    ///
    /// Of the fields only `metadata.name` and `metadata.namespace` are known here, others are what
    /// `field` gives; `None` is in doubt.
    pub(crate) fn may_hold(
        &self,
        metadata: &ObjectMeta,
        field: &dyn Fn(&str) -> Option<Field>,
    ) -> bool {
        let namespace = metadata
            .namespace
            .as_deref()
            .filter(|name| !name.is_empty());
        if let Some(namespace) = namespace
            && let Some(names) = self.namespaces.names()
            && !names.contains(namespace)
        {
            return false;
        }
        let labels = metadata.labels.as_ref().unwrap_or(&NO_LABELS);
        let selector = self.label_selector.as_deref().map(str::parse::<Selector>);
        if let Some(Ok(selector)) = selector
            && !selector.matches(labels)
        {
            return false;
        }
        let fields = self.field_selector.as_deref().map(str::parse);
        let Some(Ok(FieldSelector { terms })) = fields else {
            return true;
        };
        terms.iter().all(|term| {
            let value = match &*term.field {
                "metadata.name" => Some(Field::of(metadata.name.as_deref())),
                "metadata.namespace" => Some(Field::of(namespace)),
                other => field(other),
            };
            match value {
                None => true,
                Some(Field::Is(value)) => (value == term.value) == term.equal,
                // What is left out has the value that its type has without one.
                Some(Field::Missing) if matches!(&*term.value, "" | "false" | "0") => true,
                Some(Field::Missing) => !term.equal,
            }
        })
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
