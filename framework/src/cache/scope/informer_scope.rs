use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

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

/// Which objects of a kind a cache holds, and how it asks for them. The default is all objects.
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
    /// Only this shard of the objects (KEP-5866).
    pub shard_selector: Option<String>,
    /// How many objects a page of a list has at most. `None` stands for 500.
    pub page_size: Option<u32>,
    /// The server gives up a list after this time; its own default is a minute.
    pub list_timeout: Option<Duration>,
    /// The server ends a watch after a random time between this and twice this. `None` stands for 5 minutes.
    pub min_watch_timeout: Option<Duration>,
}

impl InformerScope {
    /// All objects of the kind.
    pub fn all() -> Self {
        Self::default()
    }

    /// Whether a selector may leave out objects of the watched namespaces.
    pub(in crate::cache) fn has_selector(&self) -> bool {
        let selectors = [
            &self.label_selector,
            &self.field_selector,
            &self.shard_selector,
        ];
        selectors.into_iter().any(Option::is_some)
    }

    /// Whether a cache of this scope holds all objects of the kind.
    pub(crate) fn is_whole(&self) -> bool {
        self.namespaces == Namespaces::All && !self.has_selector()
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
        self.page_size = self.page_size.filter(|size| *size > 0);
        let texts = [
            &mut self.label_selector,
            &mut self.field_selector,
            &mut self.shard_selector,
        ];
        for part in texts {
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

    /// Only this shard of the objects: those whose hash lies in a range. The server sends no others
    /// (KEP-5866).
    ///
    /// The server needs release 1.36 with the feature gate `ShardedListAndWatch`, which is alpha. Other servers ignore
    /// the selector, and the cache then holds all objects: a program that must not work on others' objects checks each
    /// of them. After a write to an object outside of the shard, the next reconcile of the same key waits up to 10 s,
    /// because the cache cannot tell that it will never hold the object.
    ///
    /// ```
    /// use pilothouse::cache::InformerScope;
    ///
    /// let first_half = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')";
    /// let scope = InformerScope::all().shard(first_half);
    /// # drop(scope);
    /// ```
    #[must_use]
    pub fn shard(mut self, selector: impl Into<String>) -> Self {
        self.shard_selector = Some(selector.into());
        self
    }

    /// Reads lists in pages of at most `objects` objects. 0 stands for the default of 500. A list that the server
    /// [streams](crate::cache::Reflector) has no pages.
    #[must_use]
    pub fn page_size(mut self, objects: u32) -> Self {
        self.page_size = Some(objects);
        self
    }

    /// The server gives up each page of a list after `timeout`, rounded up to seconds.
    #[must_use]
    pub fn list_timeout(mut self, timeout: Duration) -> Self {
        self.list_timeout = Some(timeout);
        self
    }

    /// The server ends a watch after a random time between `timeout` and twice that, and the informer opens it again.
    /// The default is 5 minutes. Less than 10 s counts as 10 s, and more than a day as a day.
    #[must_use]
    pub fn min_watch_timeout(mut self, timeout: Duration) -> Self {
        self.min_watch_timeout = Some(timeout);
        self
    }

    /// The range from which the time of a watch is chosen.
    pub(in crate::cache) fn watch_timeouts(&self) -> std::ops::Range<Duration> {
        const DEFAULT: Duration = Duration::from_secs(5 * 60);
        const SHORTEST: Duration = Duration::from_secs(10);
        const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
        let least = self.min_watch_timeout.unwrap_or(DEFAULT);
        let least = least.clamp(SHORTEST, LONGEST);
        least..least * 2
    }
}
