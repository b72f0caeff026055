use std::collections::{BTreeMap, BTreeSet};

use super::{NamespaceSet, Namespaces};
use crate::resource::{FieldSelector, ObjectMeta, Selector};

/// The value of a field that a field selector compares.
pub(crate) enum Field {
    Is(String),
    Missing,
}

impl Field {
    fn of(value: Option<&str>) -> Self {
        value.map_or(Self::Missing, |value| Self::Is(value.to_owned()))
    }

    /// The field `path` of an object written as JSON. Returns `None` if the path does not tell the value.
    pub(crate) fn at(path: &str, object: &serde_json::Value) -> Option<Self> {
        let place = path
            .split('.')
            .try_fold(object, |place, name| place.get(name));
        match place {
            None | Some(serde_json::Value::Null) => {
                // This selectable name is not a path.
                (path != "status.successful").then_some(Self::Missing)
            }
            Some(serde_json::Value::String(text)) => Some(Self::Is(text.clone())),
            Some(serde_json::Value::Bool(value)) => Some(Self::Is(value.to_string())),
            Some(serde_json::Value::Number(value)) => Some(Self::Is(value.to_string())),
            Some(_) => None,
        }
    }
}

/// Which objects of a kind a cache holds. The default is all objects.
///
/// The methods set the scope. The fields are there to read the scope of an informer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct InformerScope {
    /// Only objects in these namespaces. Cluster-scoped kinds ignore it.
    pub namespaces: Namespaces,
    /// Only objects whose labels match, like kubectl's `-l`.
    pub label_selector: Option<String>,
    /// Only objects whose fields match, such as `spec.nodeName=node-1`.
    pub field_selector: Option<String>,
}

impl InformerScope {
    /// All objects of the kind.
    pub fn all() -> Self {
        Self::default()
    }

    /// Whether a cache of this scope may hold an object with this metadata. Returns `true` if that is not certain.
    ///
    /// This function knows only the fields `metadata.name` and `metadata.namespace`; `field` returns the others, or
    /// `None` if it does not know the value.
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
        let no_labels = BTreeMap::new();
        let labels = metadata.labels.as_ref().unwrap_or(&no_labels);
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
                Some(Field::Is(value)) => (value == term.value) == term.is_equal,
                // A missing field has the zero value of its type.
                Some(Field::Missing) if matches!(&*term.value, "" | "false" | "0") => true,
                Some(Field::Missing) => !term.is_equal,
            }
        })
    }

    /// Makes scopes with the same meaning equal: an empty selector is no selector.
    pub(in crate::cache) fn normalized(mut self, namespaced: bool) -> Self {
        if !namespaced {
            self.namespaces = Namespaces::All;
        }
        for part in [&mut self.label_selector, &mut self.field_selector] {
            *part = part.take().filter(|text| !text.is_empty());
        }
        self
    }

    /// Only objects in `namespace`; `""` means all namespaces.
    #[must_use]
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        self.namespaces([namespace])
    }

    /// Only objects in these namespaces. Each is listed and watched separately. An empty list, or one that contains
    /// `""`, means all namespaces.
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

    /// Only objects in the namespaces that `set` contains at any time.
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
