use std::{hash::Hash, sync::Arc};

use super::{
    Entry, Index, IndexHandle, Lister, Packing, Snapshot, incoming::Incoming, published::Published,
};
use crate::resource::{Object, ObjectKey, Undecodable};

/// The writer's side of a cache: the one place that changes it.
///
/// Changes gather in a working copy that shares everything unchanged with what readers see;
/// [`publish`](Self::publish) shows them all at once. Neither side ever waits for the other.
/// There is one writer, by `&mut`; any number of [`Lister`]s read.
pub struct Store<K> {
    working: Snapshot<K>,
    published: Arc<Published<K>>,
    packing: Option<Box<dyn Packing<K>>>,
}

impl<K: Object> Store<K> {
    /// An empty store that keeps objects as they were decoded.
    pub fn new() -> Self {
        Self {
            working: Snapshot::default(),
            published: Arc::default(),
            packing: None,
        }
    }

    /// An empty store that keeps objects in the form that `packing` gives them.
    pub fn packed(packing: impl Packing<K>) -> Self {
        Self {
            packing: Some(Box::new(packing)),
            ..Self::new()
        }
    }

    /// A reader of what was published.
    pub fn lister(&self) -> Lister<K> {
        Lister::new(self.published.clone())
    }

    /// What is held for `key`, unpublished changes included.
    pub fn get(&self, key: &ObjectKey) -> Option<&Entry<K>> {
        self.working.entry(key)
    }

    /// The state with all unpublished changes.
    pub fn working(&self) -> &Snapshot<K> {
        &self.working
    }

    /// Puts `object` in the place of what is held for `key`, and gives that back.
    pub fn insert(&mut self, key: ObjectKey, object: Arc<K>) -> Option<Entry<K>> {
        let packed = self.packing.as_ref().and_then(|by| by.pack(&object));
        let entry = match packed {
            Some(packed) => Entry::packed(packed),
            None => Entry::decoded(object.clone()),
        };
        self.working.insert(key, &Incoming::Object(&object), entry)
    }

    /// Keeps the place of an object that does not decode, with the `last` version that did, and
    /// gives back what was held there.
    pub fn insert_undecodable(
        &mut self,
        object: Arc<Undecodable>,
        last: Option<Arc<K>>,
    ) -> Option<Entry<K>> {
        let entry = Entry::of_undecodable(object.clone(), last.clone());
        let version = Incoming::Undecodable {
            object: &object,
            last: last.as_deref(),
        };
        self.working.insert(object.key.clone(), &version, entry)
    }

    /// Removes what is held for `key`, and gives it back.
    pub fn remove(&mut self, key: &ObjectKey) -> Option<Entry<K>> {
        self.working.remove(key)
    }

    /// Adds an index, to be filled when changes are [published](Self::publish) next.
    pub fn add_index<V>(&self, index: Index<K, V>) -> IndexHandle<K, V>
    where
        V: Hash + Eq + Clone + Send + Sync + 'static,
    {
        self.published.add_index(index)
    }

    /// Notes the resource version of the collection.
    pub fn set_resource_version(&mut self, resource_version: &str) {
        self.working.set_resource_version(resource_version);
    }

    /// Shows all changes since the last call to the readers, and takes in the indexes that were
    /// added since.
    pub fn publish(&mut self) {
        self.working.drop_indexes();
        for index in self.published.take_indexes() {
            self.working.add_index(index);
        }
        self.published.show(self.working.clone());
    }

    /// How many indexes wait to be taken in.
    #[cfg(test)]
    pub(super) fn new_indexes(&self) -> usize {
        self.published.take_indexes().len()
    }

    /// Takes in the indexes that were added since the last [`publish`](Self::publish), if any, and
    /// publishes.
    pub(super) fn take_in_indexes(&mut self) {
        if self.published.has_new_indexes() {
            self.publish();
        }
    }
}

impl<K: Object> Default for Store<K> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use k8s_openapi::api::core::v1::ConfigMap;
    use proptest::prelude::*;

    use super::*;
    use crate::cache::fake::{object, undecodable};

    fn names<'a>(
        entries: impl Iterator<Item = (&'a ObjectKey, &'a Entry<ConfigMap>)>,
    ) -> BTreeSet<String> {
        entries.map(|(key, _)| key.to_string()).collect()
    }

    #[test]
    fn readers_see_changes_only_when_they_are_published() {
        let mut store = Store::new();
        let lister = store.lister();
        let web = object("default", "web", "uid", 1, &[]);
        store.insert(web.key(), Arc::new(web.clone()));
        assert!(lister.get(&web.key()).unwrap().is_none());
        store.publish();
        assert!(lister.get(&web.key()).unwrap().is_some());
    }

    #[test]
    fn a_snapshot_stays_as_it_was() {
        let mut store = Store::new();
        let web = object("default", "web", "uid", 1, &["owner"]);
        store.insert(web.key(), Arc::new(web.clone()));
        store.publish();
        let before = store.lister().snapshot();
        store.remove(&web.key());
        store.publish();
        assert_eq!((before.len(), store.lister().len()), (1, 0));
        assert_eq!(before.by_owner("owner").count(), 1);
    }

    #[test]
    fn an_undecodable_object_has_a_place_and_answers_with_an_error() {
        let mut store = Store::<ConfigMap>::new();
        let bad = Arc::new(undecodable("default", "bad", "uid", 3));
        store.insert_undecodable(bad.clone(), None);
        store.publish();
        let lister = store.lister();
        assert_eq!(lister.get(&bad.key).unwrap_err(), bad);
        let listing = lister.list();
        assert_eq!(
            (listing.items.len(), listing.undecodable.len(), lister.len()),
            (0, 1, 1)
        );
        store.remove(&bad.key);
        assert_eq!(store.working().undecodable(), 0);
    }

    #[test]
    fn removing_the_last_object_leaves_no_empty_index_set() {
        let mut store = Store::new();
        let web = object("default", "web", "uid", 1, &["owner"]);
        store.insert(web.key(), Arc::new(web.clone()));
        store.remove(&web.key());
        assert_eq!(store.working().len(), 0);
        assert_eq!(store.working().namespace_count(), 0);
        assert_eq!(store.working().owner_sizes(), (0, 0));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Insert { name: u8, uid: u8, owners: Vec<u8> },
        InsertBad { name: u8 },
        Remove { name: u8 },
        Publish,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0..12u8, 0..3u8, prop::collection::vec(0..3u8, 0..3))
                .prop_map(|(name, uid, owners)| Step::Insert { name, uid, owners }),
            1 => (0..12u8).prop_map(|name| Step::InsertBad { name }),
            2 => (0..12u8).prop_map(|name| Step::Remove { name }),
            1 => Just(Step::Publish),
        ]
    }

    proptest! {
        #[test]
        fn the_store_and_its_indexes_equal_a_plain_map(steps in prop::collection::vec(step(), 0..80)) {
            let mut store = Store::<ConfigMap>::new();
            let mut model: BTreeMap<String, (bool, BTreeSet<String>)> = BTreeMap::new();
            let mut shown = model.clone();
            let place = |name: u8| (format!("ns{}", name % 3), format!("o{name}"));
            for (version, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Insert { name, uid, owners } => {
                        let (namespace, name) = place(name);
                        let owners: Vec<String> = owners.iter().map(|o| format!("owner{o}")).collect();
                        let refs: Vec<&str> = owners.iter().map(String::as_str).collect();
                        let made = object(&namespace, &name, &format!("uid{uid}"), version as u64, &refs);
                        let key = made.key();
                        let old = store.insert(key.clone(), Arc::new(made));
                        let before = model.insert(key.to_string(), (true, owners.into_iter().collect()));
                        prop_assert_eq!(old.is_some(), before.is_some());
                    }
                    Step::InsertBad { name } => {
                        let (namespace, name) = place(name);
                        let bad = undecodable(&namespace, &name, "uid", version as u64);
                        let key = bad.key.clone();
                        store.insert_undecodable(Arc::new(bad), None);
                        model.insert(key.to_string(), (false, BTreeSet::new()));
                    }
                    Step::Remove { name } => {
                        let (namespace, name) = place(name);
                        let key = ObjectKey::namespaced(&namespace, &name);
                        let before = model.remove(key.as_str());
                        prop_assert_eq!(store.remove(&key).is_some(), before.is_some());
                    }
                    Step::Publish => {
                        store.publish();
                        shown = model.clone();
                    }
                }
                let snapshot = store.lister().snapshot();
                prop_assert_eq!(snapshot.len(), shown.len());
                prop_assert_eq!(names(snapshot.iter()), shown.keys().cloned().collect::<BTreeSet<_>>());
                prop_assert_eq!(snapshot.undecodable(), shown.values().filter(|(good, _)| !good).count());
                for index in 0..3 {
                    let (namespace, owner) = (format!("ns{index}"), format!("owner{index}"));
                    let prefix = format!("{namespace}/");
                    prop_assert_eq!(
                        names(snapshot.in_namespace(&namespace)),
                        shown.keys().filter(|key| key.starts_with(&prefix)).cloned().collect::<BTreeSet<_>>()
                    );
                    prop_assert_eq!(
                        names(snapshot.by_owner(&owner)),
                        shown.iter().filter(|(_, (_, owners))| owners.contains(&owner))
                            .map(|(key, _)| key.clone()).collect::<BTreeSet<_>>()
                    );
                }
            }
        }
    }
}
