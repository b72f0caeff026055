//! A store of encoded objects looks as one of decoded objects, and keeps few of them decoded.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use proptest::prelude::*;
use serde_json::json;
use tokio::time::Instant;

use super::{EncodedCache, Entry, decoded_forms::DecodedForms};
use crate::{
    cache::{Index, Store},
    client::{ObjectBytes, Received},
    resource::{ApiResource, Object, ObjectKey, Selector},
};

type Cache = Arc<EncodedCache<ConfigMap>>;

/// An object as a server sends it, with `size` bytes of data. The data of version 13 do not fit the type.
fn json_of(name: u8, version: u32, size: usize) -> String {
    let text = match version {
        13 => json!(["x".repeat(size)]),
        _ => json!("x".repeat(size)),
    };
    let object = json!({
        "metadata": {
            "name": format!("o{name}"), "namespace": "default",
            "uid": format!("u{name}"), "resourceVersion": version.to_string(),
            "labels": {"version": version.to_string()},
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": format!("owner{}", name % 3)},
            ],
            "managedFields": [{"manager": "test", "fieldsV1": {"f:data": {}}}],
        },
        "data": {"text": text},
    });
    object.to_string()
}

fn entry(cache: &Cache, name: u8, version: u32, size: usize) -> Entry<ConfigMap> {
    let bytes = ObjectBytes::of_json::<ConfigMap>(&json_of(name, version, size));
    cache.entry(Received::Bytes(bytes))
}

fn put(store: &mut Store<ConfigMap>, cache: &Cache, name: u8, version: u32, size: usize) {
    store.insert_entry(key(name), entry(cache, name, version, size));
    store.publish();
}

fn key(name: u8) -> ObjectKey {
    ObjectKey::namespaced("default", &format!("o{name}"))
}

fn cache(share: impl Into<Option<f64>>) -> Cache {
    EncodedCache::new(ApiResource::of::<ConfigMap>(), share.into(), false)
}

/// A cache whose dictionary is trained.
fn compressed_cache(share: f64) -> Cache {
    let cache = EncodedCache::new(ApiResource::of::<ConfigMap>(), Some(share), true);
    let mut all = Vec::new();
    for number in 0..148 {
        let size = if number < 20 { 60_000 } else { 600 };
        all.push(entry(&cache, number as u8, number, size));
    }
    cache
}

const FLOOR: usize = DecodedForms::<ConfigMap>::FLOOR;
const PERIOD: Duration = DecodedForms::<ConfigMap>::PERIOD;

/// Lets the informer's rounds of so much time pass.
async fn rounds(cache: &Cache, time: Duration) {
    let end = Instant::now() + time;
    while tokio::time::timeout_at(end, cache.has_work()).await.is_ok() {
        cache.forms.step();
    }
}

#[test]
fn an_object_is_decoded_when_it_is_read_and_once_for_all_readers() {
    let (cache, mut store) = (cache(0.0), Store::new());
    put(&mut store, &cache, 1, 1, 9000);
    assert_eq!(cache.forms.sizes().1, 0, "nobody has read it");
    let lister = store.lister();
    let first = lister.get(&key(1)).unwrap().unwrap();
    let second = lister.get(&key(1)).unwrap().unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!(first.metadata.managed_fields, None);
    let weak = Arc::downgrade(&first);
    drop((first, second));
    assert!(weak.upgrade().is_some(), "nobody needs its room");
}

#[test]
fn a_new_version_is_read_and_not_the_decoded_form_of_the_old_one() {
    let (cache, mut store) = (cache(1.0), Store::new());
    for version in 1..5 {
        put(&mut store, &cache, 1, version, 10);
        let object = store.lister().get(&key(1)).unwrap().unwrap();
        assert_eq!(object.resource_version(), Some(&*version.to_string()));
    }
}

#[test]
fn what_needs_metadata_only_never_decodes() {
    let (cache, mut store) = (cache(0.0), Store::new());
    let by_label = store.add_index(Index::label("version"));
    store.publish();
    put(&mut store, &cache, 1, 7, 100);
    // Its data would be an error.
    put(&mut store, &cache, 2, 13, 100);
    let snapshot = store.lister().snapshot();
    let entry = snapshot.entry(&key(1)).unwrap();
    assert_eq!(
        (entry.uid(), entry.resource_version()),
        (Some("u1"), Some("7"))
    );
    assert_eq!((entry.key(), entry.is_deleting()), (key(1), false));
    assert_eq!(entry.labels()["version"], "7");
    assert_eq!(entry.owner_references()[0].uid, "owner1");
    assert!(entry.matches(&Selector::default().eq("version", "7")));
    assert_eq!(snapshot.by(&by_label, "13").count(), 1);
    assert_eq!(snapshot.by_owner("owner2").count(), 1);
    assert_eq!(cache.forms.sizes().1, 0);
    assert!(cache.take_failed().is_empty());
}

#[test]
fn a_small_object_that_was_read_stays_decoded_and_takes_no_room() {
    let (cache, mut store) = (cache(0.0), Store::new());
    put(&mut store, &cache, 0, 1, 100);
    let lister = store.lister();
    let small = Arc::downgrade(&lister.get(&key(0)).unwrap().unwrap());
    assert_eq!(cache.forms.sizes().1, 0);
    // They need more room than there is.
    for name in 1..6 {
        put(&mut store, &cache, name, 1, FLOOR / 2);
        lister.get(&key(name)).unwrap().unwrap();
    }
    assert!(cache.forms.sizes().1 > 0);
    assert!(small.upgrade().is_some());
    drop((lister, store));
    assert!(small.upgrade().is_none());
    assert_eq!((cache.forms.sizes().0, cache.forms.sizes().1), (0, 0));
}

#[test]
fn an_object_that_does_not_decode_is_found_once_when_it_is_read() {
    let (cache, mut store) = (cache(0.0), Store::new());
    put(&mut store, &cache, 1, 13, 100);
    let entry = store.get(&key(1)).unwrap().clone();
    assert!(entry.undecodable().is_none());
    for _ in 0..2 {
        let error = entry.object().unwrap_err();
        assert_eq!(error.reason, "data.text: expected a string, found a list");
        assert_eq!((&error.key, error.uid.as_deref()), (&key(1), Some("u1")));
        assert_eq!(error.labels["version"], "13");
    }
    assert!(entry.undecodable().is_some());
    assert_eq!(cache.take_failed().len(), 1);
    assert!(cache.take_failed().is_empty());
}

#[test]
fn objects_that_nobody_reads_any_more_give_their_room_to_others() {
    let (cache, mut store) = (cache(0.0), Store::new());
    let mut weak = Vec::new();
    // Two hundred of them have 6 MB.
    for name in 0..200 {
        put(&mut store, &cache, name, 1, 30_000);
        let object = store.lister().get(&key(name)).unwrap().unwrap();
        weak.push(Arc::downgrade(&object));
        // The first one is read again and again.
        assert!(store.lister().get(&key(0)).unwrap().is_some());
    }
    let (_, decoded, _) = cache.forms.sizes();
    assert!((900_000..=FLOOR).contains(&decoded), "{decoded}");
    let alive = weak.iter().filter(|one| one.upgrade().is_some()).count();
    assert!((30..=35).contains(&alive), "{alive}");
    assert!(weak[0].upgrade().is_some() && weak[1].upgrade().is_none());
}

#[test]
fn an_object_that_somebody_holds_is_not_decoded_again() {
    let (cache, mut store) = (cache(0.0), Store::new());
    put(&mut store, &cache, 0, 1, 30_000);
    let held = store.lister().get(&key(0)).unwrap().unwrap();
    for name in 1..100 {
        put(&mut store, &cache, name, 1, 30_000);
        store.lister().get(&key(name)).unwrap();
    }
    let again = store.lister().get(&key(0)).unwrap().unwrap();
    assert!(Arc::ptr_eq(&held, &again));
}

#[test]
fn a_larger_share_keeps_more_objects_decoded() {
    for (share, expected) in [(0.0, 1_000_000), (0.5, 3_000_000), (1.0, 6_000_000)] {
        let (cache, mut store) = (cache(share), Store::new());
        for name in 0..200 {
            put(&mut store, &cache, name, 1, 30_000);
        }
        for name in 0..200 {
            store.lister().get(&key(name)).unwrap();
        }
        let decoded = cache.forms.sizes().1;
        assert!(decoded.abs_diff(expected) < 100_000, "{decoded} of {share}");
    }
}

#[test]
fn an_object_that_changes_all_the_time_leaves_nothing_behind() {
    let (cache, mut store) = (cache(0.0), Store::new());
    for version in 100..2000 {
        put(&mut store, &cache, 1, version, 2000);
        store.lister().get(&key(1)).unwrap();
    }
    let (stored, decoded, places) = cache.forms.sizes();
    assert!((2000..3000).contains(&stored) && decoded == stored && places < 10);
    store.remove(&key(1));
    store.publish();
    assert_eq!((cache.forms.sizes().0, cache.forms.sizes().1), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_decoded_forms_of_a_whole_list_sleep_when_nobody_reads_them_any_more() {
    let (cache, mut store) = (cache(None), Store::new());
    for name in 0..200 {
        put(&mut store, &cache, name, 1, 30_000);
    }
    let list = store.lister().list();
    let (stored, decoded, _) = cache.forms.sizes();
    assert_eq!(decoded, stored, "the caller holds all of them");
    rounds(&cache, PERIOD * 5).await;
    assert_eq!(cache.forms.sizes().1, stored, "the caller still does");
    drop(list);
    rounds(&cache, PERIOD * 2).await;
    let decoded = cache.forms.sizes().1;
    assert!((900_000..=FLOOR).contains(&decoded), "{decoded}");
    // Nothing wakes the informer any more.
    let woken = tokio::time::timeout(PERIOD * 100, cache.has_work()).await;
    assert!(woken.is_err());
}

#[tokio::test(start_paused = true)]
async fn what_is_listed_in_each_period_is_decoded_once() {
    let (cache, mut store) = (cache(None), Store::new());
    for name in 0..200 {
        put(&mut store, &cache, name, 1, 30_000);
    }
    let first = store.lister().list().items;
    let first: Vec<_> = first.iter().map(Arc::downgrade).collect();
    for _ in 0..10 {
        rounds(&cache, PERIOD / 2).await;
        drop(store.lister().list());
    }
    assert!(first.iter().all(|one| one.upgrade().is_some()));
}

#[tokio::test(start_paused = true)]
async fn objects_that_are_decoded_again_and_again_get_room_unless_the_program_has_set_a_share() {
    for (share, is_kept) in [(None, true), (Some(0.0), false)] {
        let (cache, mut store) = (cache(share), Store::new());
        for name in 0..200 {
            put(&mut store, &cache, name, 1, 30_000);
        }
        let read_all = || {
            for name in 0..200 {
                store.lister().get(&key(name)).unwrap();
            }
        };
        // The second time may be the reconcile after the event.
        for _ in 0..2 {
            read_all();
            assert!(cache.forms.sizes().1 <= FLOOR);
        }
        for _ in 0..3 {
            read_all();
            rounds(&cache, PERIOD / 2).await;
        }
        let (stored, decoded, _) = cache.forms.sizes();
        assert_eq!(decoded > stored * 9 / 10, is_kept, "{decoded} of {stored}");
        assert_eq!(decoded <= FLOOR, !is_kept, "{decoded} of {stored}");
        rounds(&cache, PERIOD * 3).await;
        let decoded = cache.forms.sizes().1;
        assert!(decoded <= FLOOR, "{decoded}");
        // A read now and then gets no room.
        for _ in 0..5 {
            read_all();
            rounds(&cache, PERIOD).await;
            let decoded = cache.forms.sizes().1;
            assert!(decoded <= FLOOR, "{decoded}");
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8, u32, usize),
    Remove(u8),
    Get(u8),
    Hold(u8),
    Release,
    List,
    ByOwner(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let size = prop_oneof![0..200usize, 1000..4000usize, 100_000..300_000usize];
    prop_oneof![
        5 => (0..20u8, 1..20u32, size).prop_map(|(name, version, size)| Step::Put(name, version, size)),
        1 => (0..20u8).prop_map(Step::Remove),
        6 => (0..20u8).prop_map(Step::Get),
        2 => (0..20u8).prop_map(Step::Hold),
        1 => Just(Step::Release),
        1 => Just(Step::List),
        1 => (0..3u8).prop_map(Step::ByOwner),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The model is a map of what was put last.
    #[test]
    fn a_store_of_encoded_objects_is_a_map_of_the_newest_versions(
        steps in prop::collection::vec(step(), 1..120),
        share in 0..3u8,
        // To train a dictionary takes long without optimization.
        is_compressed in prop::bool::weighted(0.1),
    ) {
        let share = f64::from(share) / 4.0;
        let cache = match is_compressed {
            true => compressed_cache(share),
            false => cache(share),
        };
        let mut store = Store::new();
        let lister = store.lister();
        let mut model = BTreeMap::new();
        let mut held = Vec::new();
        let expected = |name: u8, (version, size): &(u32, usize)| match version {
            13 => None,
            _ => Some((name, *version, *size)),
        };
        let shown = |object: &ConfigMap| {
            let name = object.name()[1..].parse::<u8>().unwrap();
            let version = object.resource_version().unwrap().parse::<u32>().unwrap();
            (name, version, object.data.as_ref().unwrap()["text"].len())
        };
        for step in steps {
            match step {
                Step::Put(name, version, size) => {
                    put(&mut store, &cache, name, version, size);
                    model.insert(name, (version, size));
                }
                Step::Remove(name) => {
                    store.remove(&key(name));
                    store.publish();
                    model.remove(&name);
                }
                Step::Get(name) | Step::Hold(name) => {
                    let read = lister.get(&key(name));
                    let read = read.map(|object| object.map(|object| {
                        held.push((object.clone(), matches!(step, Step::Hold(_))));
                        shown(&object)
                    }));
                    held.retain(|(_, is_held)| *is_held);
                    match model.get(&name) {
                        None => prop_assert_eq!(read.ok(), Some(None)),
                        Some(present) => prop_assert_eq!(read.ok().flatten(), expected(name, present)),
                    }
                }
                Step::Release => held.clear(),
                Step::List => {
                    let listing = lister.list();
                    let mut items: Vec<_> = listing.items.iter().map(|object| shown(object)).collect();
                    items.sort_unstable();
                    let all = model.iter().filter_map(|(name, present)| expected(*name, present));
                    prop_assert_eq!(items, all.collect::<Vec<_>>());
                    let bad = model.values().filter(|(version, _)| *version == 13).count();
                    prop_assert_eq!(listing.undecodable.len(), bad);
                }
                Step::ByOwner(owner) => {
                    let snapshot = lister.snapshot();
                    let found = snapshot.by_owner(&format!("owner{owner}")).count();
                    let owned = model.keys().filter(|name| *name % 3 == owner).count();
                    prop_assert_eq!(found, owned);
                }
            }
            let (stored, decoded, _) = cache.forms.sizes();
            prop_assert!(decoded <= stored);
        }
        drop((store, lister, held));
        let (stored, decoded, _) = cache.forms.sizes();
        prop_assert_eq!((stored, decoded), (0, 0));
    }
}
