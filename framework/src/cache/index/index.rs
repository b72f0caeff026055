use std::{fmt::Display, hash::Hash, panic::Location, sync::Arc};

use super::{Definition, definition::Lenient};
use crate::resource::{Object, Undecodable};

/// What the objects of a cache can be found by: a function from an object to the values it is
/// filed under. [`SharedInformer::add_index`](crate::cache::SharedInformer::add_index) makes a
/// handle of it, and only with a handle can be asked: an index that nobody added cannot be named.
///
/// By namespace and by owner every cache has an index without being told.
///
/// The function runs once for each version of an object, when that version comes into the cache, on
/// the informer's task. One that fails or panics leaves its object out of the index until
/// the next version; both are counted and logged.
///
/// An object that does not decode stays where its last version was that did. If there was none, it
/// is found, as an error, under every value: it could bear it.
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
    /// By the values that `function` gives: an `Option` of one, a `Vec`, or whatever else can be
    /// iterated. A value is kept for each object that bears it: it should be cheap to clone.
    #[track_caller]
    pub fn by<I: IntoIterator<Item = V>>(
        function: impl Fn(&K) -> I + Send + Sync + 'static,
    ) -> Self {
        Self::new(
            move |object| Ok(function(object).into_iter().collect()),
            None,
        )
    }

    /// As [`by`](Self::by), with a function that can fail.
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

    #[track_caller]
    fn new(
        function: impl Fn(&K) -> Result<Vec<V>, String> + Send + Sync + 'static,
        lenient: Option<Box<Lenient<V>>>,
    ) -> Self {
        Self {
            definition: Definition {
                function: Box::new(function),
                lenient,
                location: Location::caller(),
                failed: Box::new(|_| ()),
            },
        }
    }

    /// Calls `failed` for each failure, with whether it was a panic.
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
    /// By the value of the label `key`, for the objects that bear it. Those that do not decode are
    /// found by it too.
    #[track_caller]
    pub fn label(key: impl Into<String>) -> Self {
        let key = key.into();
        let lenient = {
            let key = key.clone();
            move |object: &Undecodable| {
                let value = object.labels.get(&key);
                value
                    .map(|value| value.as_str().into())
                    .into_iter()
                    .collect()
            }
        };
        Self::new(
            move |object| Ok(object.label(&key).map(Into::into).into_iter().collect()),
            Some(Box::new(lenient)),
        )
    }
}
