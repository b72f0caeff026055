use std::{borrow::Borrow, fmt, hash::Hash, sync::Arc};

use super::{
    Listing, Snapshot, ValueListing,
    overlay::{Overlay, SeenState},
    published::PublishedState,
};
use crate::{
    cache::{Index, IndexHandle, InformerScope, entry::FailureCount},
    resource::{Object, ObjectKey, Selector, Undecodable},
};

/// Reads a cache. Cloning it is cheap.
///
/// No call waits for the writer, for I/O or for another reader. Two calls may see different states; a caller that
/// needs consistent values reads them from one [`snapshot`](Self::snapshot). The objects are shared: to change one,
/// clone it.
pub struct Lister<K> {
    published: Arc<PublishedState<K>>,
    on_undecodable: Option<Arc<OnUndecodable>>,
    /// Which objects of the kind the cache holds, if not all.
    scope: Option<Arc<InformerScope>>,
    overlay: Option<Arc<dyn Overlay<K>>>,
    /// Counts the objects that turn out not to decode when they are read.
    failures: Option<Arc<FailureCount>>,
}

type OnUndecodable = dyn Fn(UndecodableRead<'_>) + Send + Sync;

/// A read that may have met objects that do not decode.
pub(crate) enum UndecodableRead<'a> {
    /// The read met this object.
    Object(&'a Arc<Undecodable>),
    /// The caller got a snapshot, in which an object may turn out not to decode. The function returns one that has.
    Snapshot(Box<dyn Fn() -> Option<Arc<Undecodable>> + Send + Sync>),
}

impl<K: Object> Lister<K> {
    pub(super) fn new(published: Arc<PublishedState<K>>) -> Self {
        Self {
            published,
            on_undecodable: None,
            scope: None,
            overlay: None,
            failures: None,
        }
    }

    /// The same lister, of a cache that holds the objects of `scope`.
    pub(in crate::cache) fn scoped(self, scope: &InformerScope) -> Self {
        let scope = (!scope.is_whole()).then(|| Arc::new(scope.clone()));
        Self { scope, ..self }
    }

    /// The same lister, whose reads see the state that `overlay` makes of the published one.
    pub(crate) fn with_overlay(self, overlay: Arc<dyn Overlay<K>>) -> Self {
        let overlay = Some(overlay);
        Self { overlay, ..self }
    }

    /// The same lister, of a cache that counts the objects that turn out not to decode.
    pub(in crate::cache) fn counting(self, failures: Option<Arc<FailureCount>>) -> Self {
        Self { failures, ..self }
    }

    /// Whether a selector may leave out objects of the kind, so that the server may have an object that the cache never has.
    pub(crate) fn is_selective(&self) -> bool {
        let scope = self.scope.as_ref();
        scope.is_some_and(|scope| scope.has_selector())
    }

    /// Which objects of the kind the cache holds. Returns `None` if it holds all.
    pub(crate) fn scope(&self) -> Option<&Arc<InformerScope>> {
        self.scope.as_ref()
    }

    /// The same lister, which calls `function` whenever a read meets an object that does not decode, or may meet one later.
    /// For a whole snapshot it calls the function with one such object.
    pub(crate) fn on_undecodable(
        self,
        function: impl Fn(UndecodableRead<'_>) + Send + Sync + 'static,
    ) -> Self {
        Self {
            on_undecodable: Some(Arc::new(function)),
            ..self
        }
    }

    /// Returns the object with the name `key`, or `None` if the cache does not have it.
    ///
    /// # Errors
    /// Returns what could be read of the object, with the reason, if the server has it but it does not decode as `K`.
    pub fn get(&self, key: &ObjectKey) -> Result<Option<Arc<K>>, Arc<Undecodable>> {
        let object = self.seen().get(key);
        object.inspect_err(|object| self.note(Some(object)))
    }

    /// Whether the cache has an object with the name `key`, decodable or not.
    pub fn contains(&self, key: &ObjectKey) -> bool {
        self.seen().entry(key).is_some()
    }

    /// All objects.
    pub fn list(&self) -> Listing<K> {
        self.noted(self.seen().iter().collect())
    }

    /// The objects in `namespace`, by index.
    pub fn in_namespace(&self, namespace: &str) -> Listing<K> {
        self.noted(self.seen().in_namespace(namespace).collect())
    }

    /// The objects with an owner reference to `uid`, controlling or not, by index.
    pub fn by_owner(&self, uid: &str) -> Listing<K> {
        self.noted(self.seen().by_owner(uid).collect())
    }

    /// The objects that have `value` in `index`: see [`Snapshot::by`].
    pub fn by<V, Q>(&self, index: &IndexHandle<K, V>, value: &Q) -> Listing<K>
    where
        V: Borrow<Q> + Hash + Eq + Clone + Send + Sync + 'static,
        Q: Hash + Eq + ?Sized,
    {
        self.noted(self.seen().by(index, value).collect())
    }

    /// The values that objects have in `index`: see [`Snapshot::values`].
    pub fn values<V>(&self, index: &IndexHandle<K, V>) -> ValueListing<V>
    where
        V: Hash + Eq + Clone + Send + Sync + 'static,
    {
        let snapshot = self.seen_arc();
        let mut undecodable = Vec::new();
        if snapshot.undecodable() > 0 {
            let entries = snapshot.iter();
            undecodable.extend(entries.filter_map(|(_, entry)| entry.undecodable().cloned()));
        }
        self.note(&undecodable);
        ValueListing {
            items: snapshot.values(index),
            undecodable,
        }
    }

    /// The objects whose labels match `selector`. Looks at every object.
    pub fn select(&self, selector: &Selector) -> Listing<K> {
        self.noted(self.seen().select(selector).collect())
    }

    /// The objects in `namespace`, by index, whose labels match `selector`.
    pub fn select_in(&self, namespace: &str, selector: &Selector) -> Listing<K> {
        let snapshot = self.seen();
        let objects = snapshot.in_namespace(namespace);
        let selected = objects.filter(|(_, entry)| entry.matches(selector));
        self.noted(selected.collect())
    }

    /// The present state, to read without copying. It keeps its objects alive as long as the caller holds it.
    pub fn snapshot(&self) -> Arc<Snapshot<K>> {
        let failures = self
            .failures
            .clone()
            .filter(|_| self.on_undecodable.is_some());
        // Read before the snapshot: a failure that is not marked in the snapshot counts as a later one.
        let marked = failures.map(|failures| (failures.marked(), failures));
        let snapshot = self.seen_arc();
        if let Some(function) = &self.on_undecodable {
            if snapshot.undecodable() > 0 {
                self.note(first_undecodable(&snapshot).as_ref());
            } else if let Some((marked, failures)) = marked {
                let snapshot = snapshot.clone();
                function(UndecodableRead::Snapshot(Box::new(move || {
                    let has_failed = failures.found() != marked;
                    has_failed.then(|| first_undecodable(&snapshot)).flatten()
                })));
            }
        }
        snapshot
    }

    fn seen(&self) -> SeenState<K> {
        match &self.overlay {
            None => SeenState::Published(self.published.snapshot()),
            Some(_) => SeenState::Overlaid(self.seen_arc()),
        }
    }

    fn seen_arc(&self) -> Arc<Snapshot<K>> {
        let published = self.published.snapshot_arc();
        match &self.overlay {
            None => published,
            Some(overlay) => overlay.over(published),
        }
    }

    fn noted(&self, listing: Listing<K>) -> Listing<K> {
        self.note(&listing.undecodable);
        listing
    }

    fn note<'a>(&self, objects: impl IntoIterator<Item = &'a Arc<Undecodable>>) {
        if let Some(function) = &self.on_undecodable {
            let objects = objects.into_iter();
            objects.for_each(|object| function(UndecodableRead::Object(object)));
        }
    }

    pub(crate) fn add_index<V>(&self, index: Index<K, V>) -> IndexHandle<K, V>
    where
        V: Hash + Eq + Clone + Send + Sync + 'static,
    {
        self.published.add_index(index)
    }

    /// The number of objects, decodable or not.
    pub fn len(&self) -> usize {
        self.seen().len()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K> Clone for Lister<K> {
    fn clone(&self) -> Self {
        Self {
            published: self.published.clone(),
            on_undecodable: self.on_undecodable.clone(),
            scope: self.scope.clone(),
            overlay: self.overlay.clone(),
            failures: self.failures.clone(),
        }
    }
}

fn first_undecodable<K: Object>(snapshot: &Snapshot<K>) -> Option<Arc<Undecodable>> {
    let mut entries = snapshot.iter();
    entries.find_map(|(_, entry)| entry.undecodable().cloned())
}

impl<K> fmt::Debug for Lister<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lister")
            .field(&*self.published.snapshot())
            .finish()
    }
}
