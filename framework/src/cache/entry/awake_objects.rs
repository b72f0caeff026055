use std::{
    collections::VecDeque,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use serde::{Serialize, de::DeserializeOwned};

use super::Packed;
use crate::{
    client::ObjectJson,
    resource::{ApiResource, Object, ObjectKey, ObjectMeta, Selector, Undecodable},
};

/// Which of a cache's encoded objects lie in memory decoded as well.
///
/// An object that is read is decoded, and stays decoded until others need its room. Room is counted in bytes of the
/// encoded form: a share of the bytes of all objects of the cache. When it is used up, a clock goes over the decoded objects:
/// it drops those that nobody has read since it came by last. Callers keep what they hold.
pub(in crate::cache) struct AwakeObjects<K> {
    resource: ApiResource,
    decode: fn(&ObjectJson) -> Result<Arc<K>, String>,
    measure: fn(&K) -> usize,
    share: f64,
    /// Whether the type holds most of what the server sends. A view does not, and takes less memory decoded.
    is_whole: OnceLock<bool>,
    /// Bytes of all objects of the cache.
    stored: AtomicUsize,
    /// Bytes of those that lie decoded.
    awake: AtomicUsize,
    /// The objects that lie decoded, and some that are gone. No foreign code runs under this lock.
    clock: Mutex<VecDeque<Weak<SleepingObject<K>>>>,
}

impl<K: Object + Serialize + DeserializeOwned> AwakeObjects<K> {
    /// `measure` returns the size of an object as JSON.
    pub(in crate::cache) fn new(
        resource: ApiResource,
        measure: fn(&K) -> usize,
        share: f64,
    ) -> Arc<Self> {
        Arc::new(Self {
            resource,
            decode: ObjectJson::decode::<K>,
            measure,
            share,
            is_whole: OnceLock::new(),
            stored: AtomicUsize::new(0),
            awake: AtomicUsize::new(0),
            clock: Mutex::default(),
        })
    }
}

impl<K: Object> AwakeObjects<K> {
    /// So many bytes may always lie decoded: a small cache decodes nothing twice.
    const FLOOR: usize = 1024 * 1024;

    /// The object as the cache stores it. Returns `None` if it is better stored decoded. The first object decides that for
    /// all objects of the type.
    pub(in crate::cache) fn pack(
        self: &Arc<Self>,
        object: &K,
        encoded: ObjectJson,
    ) -> Option<Arc<dyn Packed<K>>> {
        let is_whole = || 2 * (self.measure)(object) >= encoded.len();
        if !self.is_whole.get_or_init(is_whole) {
            return None;
        }
        self.stored.fetch_add(encoded.len(), Ordering::Relaxed);
        Some(Arc::new_cyclic(|own| SleepingObject {
            encoded,
            decoded: ArcSwapOption::empty(),
            is_used: AtomicBool::new(false),
            own: own.clone(),
            objects: self.clone(),
        }))
    }

    fn room(&self) -> usize {
        let share = self.stored.load(Ordering::Relaxed) as f64 * self.share;
        Self::FLOOR.max(share as usize)
    }

    /// Notes that an object lies decoded, and drops the decoded form of others if there is no room.
    fn awoke(&self, object: &SleepingObject<K>) {
        let size = object.encoded.len();
        let mut awake = self.awake.fetch_add(size, Ordering::Relaxed) + size;
        let room = self.room();
        // Dropped after the lock, because a type may have code of its own for that.
        let mut seen = Vec::new();
        let mut clock = self.clock.lock();
        clock.push_back(object.own.clone());
        // Each is looked at twice at most: all of them may have been read since the last time.
        for _ in 0..2 * clock.len() {
            if awake <= room {
                break;
            }
            let Some(first) = clock.pop_front() else {
                break;
            };
            let Some(other) = first.upgrade() else {
                continue;
            };
            let mut dropped = None;
            if other.is_used.swap(false, Ordering::Relaxed) {
                clock.push_back(first);
            } else {
                dropped = other.decoded.swap(None);
            }
            if dropped.is_some() {
                awake = self.forget(&other);
            }
            seen.push((other, dropped));
        }
        // Objects that are gone leave their places. They take no room, so that the clock may never come by.
        if clock.len() > 64 && clock.len() > 2 * clock.iter().filter(|one| is_alive(one)).count() {
            clock.retain(is_alive);
        }
        drop(clock);
        drop(seen);
    }

    /// Returns how many bytes lie decoded then.
    fn forget(&self, object: &SleepingObject<K>) -> usize {
        let size = object.encoded.len();
        self.awake.fetch_sub(size, Ordering::Relaxed) - size
    }
}

fn is_alive<K>(object: &Weak<SleepingObject<K>>) -> bool {
    object.strong_count() > 0
}

/// An object that a cache stores encoded.
struct SleepingObject<K> {
    encoded: ObjectJson,
    /// The decoded form, if it lies in memory.
    decoded: ArcSwapOption<K>,
    /// Whether the decoded form was read since the clock came by.
    is_used: AtomicBool,
    own: Weak<Self>,
    objects: Arc<AwakeObjects<K>>,
}

impl<K: Object> SleepingObject<K> {
    /// Keeps the decoded form, unless another caller was first. Returns the form that is kept.
    fn keep(&self, object: Arc<K>) -> Arc<K> {
        let before = self
            .decoded
            .compare_and_swap(&None::<Arc<K>>, Some(object.clone()));
        match &*before {
            Some(first) => first.clone(),
            None => {
                self.objects.awoke(self);
                object
            }
        }
    }

    /// Nothing is wrong with the bytes, because the object was decoded when it arrived. So its type does not decode
    /// them in the same way twice.
    fn undecodable(&self, reason: String) -> Undecodable {
        let metadata = self.encoded.metadata().unwrap_or_default();
        Undecodable {
            resource: self.objects.resource.clone(),
            key: key(&metadata),
            uid: metadata.uid,
            resource_version: metadata.resource_version,
            labels: metadata.labels.unwrap_or_default(),
            owner_references: metadata.owner_references.unwrap_or_default(),
            is_deleting: metadata.deletion_timestamp.is_some(),
            reason,
        }
    }
}

fn key(metadata: &ObjectMeta) -> ObjectKey {
    ObjectKey::new(
        metadata.namespace.as_deref(),
        metadata.name.as_deref().unwrap_or_default(),
    )
}

impl<K: Object> Packed<K> for SleepingObject<K> {
    fn uid(&self) -> Option<&str> {
        Some(self.encoded.uid())
    }

    fn resource_version(&self) -> Option<&str> {
        Some(self.encoded.resource_version())
    }

    fn object(&self) -> Result<Arc<K>, Arc<Undecodable>> {
        if let Some(object) = self.decoded.load_full() {
            self.is_used.store(true, Ordering::Relaxed);
            return Ok(object);
        }
        match (self.objects.decode)(&self.encoded) {
            Ok(mut object) => {
                // No other code has this `Arc` yet.
                if let Some(object) = Arc::get_mut(&mut object) {
                    object.fill_types(&self.objects.resource);
                }
                Ok(self.keep(object))
            }
            Err(reason) => Err(Arc::new(self.undecodable(reason))),
        }
    }

    fn metadata(&self) -> Option<ObjectMeta> {
        self.encoded.metadata()
    }

    fn keep_decoded(&self, object: &Arc<K>, is_change: bool) {
        let size = self.encoded.len();
        let has_room = || self.objects.awake.load(Ordering::Relaxed) + size <= self.objects.room();
        if is_change || has_room() {
            self.keep(object.clone());
        }
    }

    fn size(&self) -> Option<usize> {
        Some(self.encoded.len())
    }

    fn matches(&self, selector: &Selector) -> bool {
        let labels = self.encoded.labels();
        labels.is_some_and(|labels| selector.matches(&labels))
    }
}

impl<K> Drop for SleepingObject<K> {
    fn drop(&mut self) {
        let size = self.encoded.len();
        self.objects.stored.fetch_sub(size, Ordering::Relaxed);
        if self.decoded.load().is_some() {
            self.objects.awake.fetch_sub(size, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use k8s_openapi::api::core::v1::ConfigMap;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::cache::{Index, Store};

    /// An object as a server sends it: of a few bytes, or of some KiB.
    fn json_of(name: u8, version: u32, size: usize) -> String {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": format!("o{name}"), "namespace": "default",
                "uid": format!("u{name}"), "resourceVersion": version.to_string(),
                "labels": {"version": version.to_string()},
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": format!("owner{}", name % 3)},
                ],
                "managedFields": [{"manager": "test", "fieldsV1": {"f:data": {}}}],
            },
            "data": {"text": "x".repeat(size), "quoted": "\"\\\n\u{e9}"},
        });
        object.to_string()
    }

    fn awake(share: f64) -> Arc<AwakeObjects<ConfigMap>> {
        let measure = |map: &ConfigMap| serde_json::to_vec(map).unwrap().len();
        AwakeObjects::new(ApiResource::of::<ConfigMap>(), measure, share)
    }

    /// The object decoded, and as the cache stores it unless it is small.
    fn received(
        objects: &Arc<AwakeObjects<ConfigMap>>,
        json: &str,
    ) -> (Arc<ConfigMap>, Option<Arc<dyn Packed<ConfigMap>>>) {
        let packed = ObjectJson::of(json);
        let mut object: ConfigMap = serde_json::from_str(json).unwrap();
        object.metadata.managed_fields = None;
        let packed = packed.and_then(|json| objects.pack(&object, json));
        (Arc::new(object), packed)
    }

    fn put(
        store: &mut Store<ConfigMap>,
        objects: &Arc<AwakeObjects<ConfigMap>>,
        json: &str,
        is_change: bool,
    ) -> Arc<ConfigMap> {
        let (object, packed) = received(objects, json);
        store.insert_packed(object.key(), object.clone(), packed, is_change);
        store.publish();
        object
    }

    fn key_of(name: u8) -> ObjectKey {
        ObjectKey::namespaced("default", &format!("o{name}"))
    }

    #[test]
    fn a_read_object_stays_decoded_while_there_is_room_and_is_decoded_once() {
        let (objects, mut store) = (awake(0.0), Store::new());
        put(&mut store, &objects, &json_of(1, 1, 9000), true);
        let weak = Arc::downgrade(&store.lister().get(&key_of(1)).unwrap().unwrap());
        let lister = store.lister();
        let (first, second) = (
            lister.get(&key_of(1)).unwrap(),
            lister.get(&key_of(1)).unwrap(),
        );
        assert!(Arc::ptr_eq(&first.unwrap(), &second.unwrap()));
        assert!(weak.upgrade().is_some(), "nobody needs its room");
    }

    #[test]
    fn objects_that_nobody_reads_give_their_room_to_others() {
        let (objects, mut store) = (awake(0.0), Store::new());
        let mut weak = Vec::new();
        for name in 0..100 {
            // A hundred of them have 3 MiB.
            let object = put(&mut store, &objects, &json_of(name, 1, 30_000), true);
            weak.push(Arc::downgrade(&object));
            // The first one is read again and again.
            assert!(store.lister().get(&key_of(0)).unwrap().is_some());
        }
        let awake = objects.awake.load(Ordering::Relaxed);
        assert!((900_000..=AwakeObjects::<ConfigMap>::FLOOR).contains(&awake));
        let alive = weak
            .iter()
            .filter(|object| object.upgrade().is_some())
            .count();
        assert!((30..=35).contains(&alive), "{alive}");
        assert!(weak[0].upgrade().is_some() && weak[1].upgrade().is_none());
        // A list that fills the cache does not push out what is read.
        let listed = put(&mut store, &objects, &json_of(200, 1, 30_000), false);
        let listed = Arc::downgrade(&{ listed });
        assert!(listed.upgrade().is_none());
        assert!(store.lister().get(&key_of(200)).unwrap().is_some());
    }

    #[test]
    fn an_object_that_changes_all_the_time_leaves_nothing_behind() {
        let (objects, mut store) = (awake(0.0), Store::new());
        for version in 0..1000 {
            put(&mut store, &objects, &json_of(1, version, 2000), true);
        }
        assert!(objects.clock.lock().len() <= 130);
        let stored = objects.stored.load(Ordering::Relaxed);
        assert!((2000..3000).contains(&stored), "{stored}");
        store.remove(&key_of(1));
        store.publish();
        assert_eq!(objects.stored.load(Ordering::Relaxed), 0);
        assert_eq!(objects.awake.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn fields_of_the_metadata_are_read_without_decoding() {
        let (objects, mut store) = (awake(0.0), Store::new());
        // There is no room left for it.
        put(&mut store, &objects, &json_of(0, 1, 1_000_000), true);
        put(&mut store, &objects, &json_of(1, 7, 60_000), false);
        let snapshot = store.lister().snapshot();
        let before = objects.awake.load(Ordering::Relaxed);
        let entry = snapshot.entry(&key_of(1)).unwrap();
        assert_eq!(
            (entry.uid(), entry.resource_version()),
            (Some("u1"), Some("7"))
        );
        assert_eq!((entry.key(), entry.is_deleting()), (key_of(1), false));
        assert_eq!(entry.labels()["version"], "7");
        assert_eq!(entry.owner_references()[0].uid, "owner1");
        assert!(entry.matches(&Selector::default().eq("version", "7")));
        assert!(!entry.matches(&Selector::default().eq("version", "8")));
        assert_eq!(objects.awake.load(Ordering::Relaxed), before);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Put(u8, u32, usize, bool),
        Remove(u8),
        Get(u8),
        List,
        ByOwner(u8),
        Sleep,
    }

    fn step() -> impl Strategy<Value = Step> {
        let size = prop_oneof![0..200usize, 1000..4000usize, 100_000..300_000usize];
        prop_oneof![
            4 => (0..12u8, 0..50u32, size, any::<bool>())
                .prop_map(|(name, version, size, change)| Step::Put(name, version, size, change)),
            1 => (0..12u8).prop_map(Step::Remove),
            4 => (0..12u8).prop_map(Step::Get),
            1 => Just(Step::List),
            1 => (0..3u8).prop_map(Step::ByOwner),
            1 => Just(Step::Sleep),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// The model is a map of decoded objects.
        #[test]
        fn a_store_of_encoded_objects_equals_a_map_of_decoded_ones(
            steps in prop::collection::vec(step(), 1..60),
            share in prop_oneof![Just(0.0), Just(0.3), Just(1.0)],
        ) {
            let (objects, mut store) = (awake(share), Store::new());
            let text = |map: &ConfigMap| map.data.as_ref().map_or(0, |data| data["text"].len());
            let by_size = store.add_index(Index::by(move |map: &ConfigMap| [text(map)]));
            let mut model: BTreeMap<ObjectKey, Arc<ConfigMap>> = BTreeMap::new();
            for step in steps {
                let lister = store.lister();
                match step {
                    Step::Put(name, version, size, is_change) => {
                        let object = put(&mut store, &objects, &json_of(name, version, size), is_change);
                        model.insert(object.key(), object);
                    }
                    Step::Remove(name) => {
                        let removed = store.remove(&key_of(name));
                        store.publish();
                        let removed = removed.map(|entry| entry.object().unwrap());
                        prop_assert_eq!(removed, model.remove(&key_of(name)));
                    }
                    Step::Get(name) => {
                        let found = lister.get(&key_of(name)).unwrap();
                        prop_assert_eq!(found.as_ref(), model.get(&key_of(name)));
                    }
                    Step::List => {
                        let mut all = lister.list().items;
                        all.sort_by_key(|object| object.key());
                        prop_assert!(all.iter().eq(model.values()));
                    }
                    Step::ByOwner(number) => {
                        let owner = format!("owner{number}");
                        let mut owned = lister.by_owner(&owner).items;
                        owned.sort_by_key(|object| object.key());
                        let is_owned = |map: &&Arc<ConfigMap>| {
                            map.metadata.owner_references.as_ref().unwrap()[0].uid == owner
                        };
                        prop_assert!(owned.iter().eq(model.values().filter(is_owned)));
                    }
                    Step::Sleep => {
                        for one in objects.clock.lock().drain(..) {
                            let one = one.upgrade();
                            if let Some(one) = one && one.decoded.swap(None).is_some() {
                                objects.forget(&one);
                            }
                        }
                    }
                }
                let (stored, awake) = (&objects.stored, &objects.awake);
                let (stored, awake) = (stored.load(Ordering::Relaxed), awake.load(Ordering::Relaxed));
                prop_assert!(awake <= stored);
                for (key, object) in &model {
                    let snapshot = store.lister().snapshot();
                    let size = text(object);
                    prop_assert!(snapshot.by(&by_size, &size).any(|(one, _)| one == key));
                }
            }
        }
    }
}
