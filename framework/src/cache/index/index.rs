use std::{collections::BTreeMap, fmt::Display, hash::Hash, panic::Location, sync::Arc};

use super::{Definition, definition::LabelsFunction};
use crate::resource::Object;

/// Declares an index: a function from an object to the values that the object is found by.
/// [`SharedInformer::add_index`](crate::cache::SharedInformer::add_index) returns a handle for it. A query needs that
/// handle, so that a program cannot query an index that it did not add.
///
/// Every cache has an index by namespace and an index by owner already.
///
/// The function runs once for each version of an object, on the informer's task, when the version enters the cache.
/// If it fails or panics, the index leaves the object out until its next version. Failures and panics are counted and
/// logged.
///
/// An object that does not decode keeps the values of its last version that decoded. If no version ever decoded, the
/// object is found, as an error, under every value, because it might have that value.
///
/// ```
/// use pilothouse::{
///     cache::{Index, IndexHandle, SharedInformer},
///     k8s::api::core::v1::Pod,
/// };
///
/// fn crowded(pods: &SharedInformer<Pod>) {
///     let by_node: IndexHandle<Pod, String> =
///         pods.add_index(Index::by(|pod: &Pod| pod.spec.as_ref()?.node_name.clone()));
///     let by_app = pods.add_index(Index::label("app"));
///
///     let lister = pods.lister();
///     println!("{} pods on node-1", lister.by(&by_node, "node-1").items.len());
///     println!("{} pods of web", lister.by(&by_app, "web").items.len());
/// }
/// ```
pub struct Index<K, V> {
    definition: Definition<K, V>,
}

impl<K: Object, V: Hash + Eq + Clone + Send + Sync + 'static> Index<K, V> {
    /// An index by the values that `function` returns: an `Option`, a `Vec`, or anything else that can be iterated.
    /// The index stores a value for each object that has it, so the value should be cheap to clone.
    #[track_caller]
    pub fn by<I: IntoIterator<Item = V>>(
        function: impl Fn(&K) -> I + Send + Sync + 'static,
    ) -> Self {
        Self::new(
            move |object| Ok(function(object).into_iter().collect()),
            None,
        )
    }

    /// Like [`by`](Self::by), with a function that can fail.
    #[track_caller]
    pub fn try_by<I: IntoIterator<Item = V>, E: Display>(
        function: impl Fn(&K) -> Result<I, E> + Send + Sync + 'static,
    ) -> Self {
        let function = move |object: &K| {
            let values = function(object).map_err(|error| error.to_string())?;
            Ok(values.into_iter().collect())
        };
        Self::new(function, None)
    }

    /// Whether it reads objects, and not only their labels.
    pub(in crate::cache) fn reads_objects(&self) -> bool {
        self.definition.reads_objects()
    }

    #[track_caller]
    fn new(
        function: impl Fn(&K) -> Result<Vec<V>, String> + Send + Sync + 'static,
        by_labels: Option<Box<LabelsFunction<V>>>,
    ) -> Self {
        Self {
            definition: Definition {
                function: Box::new(function),
                by_labels,
                location: Location::caller(),
                failed: Box::new(|_| ()),
            },
        }
    }

    /// Calls `failed` for each failure; the argument tells whether it was a panic.
    pub(in crate::cache) fn counted(
        mut self,
        failed: impl Fn(bool) + Send + Sync + 'static,
    ) -> Self {
        self.definition.failed = Box::new(failed);
        self
    }

    pub(in crate::cache) fn into_definition(self) -> Arc<Definition<K, V>> {
        Arc::new(self.definition)
    }
}

impl<K: Object> Index<K, Arc<str>> {
    /// An index by the value of the label `key`, for the objects that have it. It finds objects that do not decode
    /// too.
    #[track_caller]
    pub fn label(key: impl Into<String>) -> Self {
        let key = key.into();
        let by_labels = {
            let key = key.clone();
            move |labels: &BTreeMap<String, String>| {
                let value = labels.get(&key);
                value
                    .map(|value| value.as_str().into())
                    .into_iter()
                    .collect()
            }
        };
        Self::new(
            move |object| Ok(object.label(&key).map(Into::into).into_iter().collect()),
            Some(Box::new(by_labels)),
        )
    }
}
