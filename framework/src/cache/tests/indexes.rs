//! What indexes guarantee, in stores and informers, with decoded and with packed objects.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use k8s_openapi::api::core::v1::ConfigMap;
use proptest::prelude::*;

use crate::{
    cache::{
        Index, IndexHandle, Lister, Snapshot, Store,
        fake::{FakeServer, object, run_ready_tasks, undecodable},
        status::metrics_of,
        tests::packed::JsonBytes,
    },
    metrics::Metrics,
    resource::{ApiResource, Object, ObjectKey},
};

/// The values in the annotation, which may also tell the function to fail or to panic.
fn values(object: &ConfigMap) -> Result<Vec<String>, &'static str> {
    match object.annotation("values") {
        Some("fail") => Err("told to fail"),
        Some("panic") => panic!("told to panic"),
        None | Some("") => Ok(Vec::new()),
        Some(values) => Ok(values.split(',').map(str::to_owned).collect()),
    }
}

fn with_values(name: &str, version: u64, values: &str) -> ConfigMap {
    let mut made = object("default", name, "uid", version, &[]);
    let annotation = ("values".to_owned(), values.to_owned());
    made.metadata.annotations = Some([annotation].into());
    made
}

fn put(store: &mut Store<ConfigMap>, name: &str, values: &str) {
    let object = with_values(name, 1, values);
    store.insert(object.key(), Arc::new(object));
}

fn names(
    snapshot: &Snapshot<ConfigMap>,
    index: &IndexHandle<ConfigMap, String>,
    value: &str,
) -> BTreeSet<String> {
    let entries = snapshot.by(index, value);
    entries.map(|(key, _)| key.name().to_owned()).collect()
}

fn found(
    lister: &Lister<ConfigMap>,
    index: &IndexHandle<ConfigMap, String>,
    value: &str,
) -> Vec<String> {
    names(&lister.snapshot(), index, value)
        .into_iter()
        .collect()
}

#[test]
fn objects_whose_function_fails_or_panics_are_counted_and_the_others_are_found() {
    let mut store = Store::new();
    let (errors, panics) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counted = [errors.clone(), panics.clone()];
    let index = Index::try_by(values).counted(move |panicked| {
        counted[usize::from(panicked)].fetch_add(1, Ordering::Relaxed);
    });
    let index = store.add_index(index);
    store.publish();
    put(&mut store, "good", "a,b");
    put(&mut store, "failing", "fail");
    put(&mut store, "panicking", "panic");
    store.publish();
    assert_eq!(found(&store.lister(), &index, "a"), ["good"]);
    assert_eq!(found(&store.lister(), &index, "b"), ["good"]);
    assert_eq!(store.lister().len(), 3);
    let counts = [errors, panics].map(|count| count.load(Ordering::Relaxed));
    assert_eq!(counts, [1, 1]);
}

#[test]
fn an_object_whose_function_fails_is_no_longer_found_under_its_old_values() {
    let mut store = Store::new();
    let index = store.add_index(Index::try_by(values));
    store.publish();
    put(&mut store, "web", "a");
    put(&mut store, "web", "fail");
    store.publish();
    assert!(found(&store.lister(), &index, "a").is_empty());
}

#[test]
fn values_are_computed_at_insertion_and_a_removed_key_leaves_nothing_behind() {
    let mut store = Store::new();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    // The function returns other values each time: those of the insertion count for the removal too.
    let index = store.add_index(Index::by(move |_: &ConfigMap| {
        [counted.fetch_add(1, Ordering::Relaxed)]
    }));
    store.publish();
    put(&mut store, "web", "");
    store.publish();
    assert_eq!(store.lister().by(&index, &0).items.len(), 1);
    assert_eq!(
        calls.load(Ordering::Relaxed),
        1,
        "reading does not call the function"
    );
    put(&mut store, "web", "");
    put(&mut store, "other", "");
    store.remove(&ObjectKey::namespaced("default", "web"));
    store.remove(&ObjectKey::namespaced("default", "other"));
    store.insert_undecodable(Arc::new(undecodable("default", "bad", "uid", 1)), None);
    store.remove(&ObjectKey::namespaced("default", "bad"));
    assert_eq!(store.working().index_sizes(), [(0, 0, 0)]);
}

#[test]
fn an_index_that_is_not_built_yet_or_belongs_to_another_cache_gives_the_right_answer() {
    let (mut store, other) = (Store::new(), Store::new());
    put(&mut store, "web", "a");
    store.publish();
    let late = store.add_index(Index::try_by(values));
    let strange = other.add_index(Index::try_by(values));
    let before = store.lister().snapshot();
    assert_eq!(before.index_sizes().len(), 0);
    assert_eq!(names(&before, &late, "a").len(), 1);
    store.publish();
    assert_eq!(store.working().index_sizes(), [(1, 1, 0)]);
    for index in [late, strange] {
        assert_eq!(found(&store.lister(), &index, "a"), ["web"]);
        assert!(found(&store.lister(), &index, "b").is_empty());
    }
}

#[test]
fn an_index_is_dropped_with_its_last_handle() {
    let mut store = Store::<ConfigMap>::new();
    let first = store.add_index(Index::try_by(values));
    let second = first.clone();
    for kept in [first, second] {
        store.publish();
        assert_eq!(store.working().index_sizes().len(), 1);
        drop(kept);
    }
    store.publish();
    assert_eq!(store.working().index_sizes().len(), 0);
}

#[test]
fn indexes_that_no_writer_builds_do_not_pile_up() {
    let store = Store::<ConfigMap>::new();
    for _ in 0..100 {
        store.add_index(Index::try_by(values));
    }
    assert!(store.new_indexes() <= 1);
}

#[test]
fn an_undecodable_object_keeps_its_old_values_or_is_found_under_every_value() {
    let mut store = Store::new();
    let index = store.add_index(Index::try_by(values));
    let labels = store.add_index(Index::<ConfigMap, _>::label("app"));
    store.publish();
    let web = Arc::new(with_values("web", 1, "a"));
    store.insert(web.key(), web.clone());
    let mut bad = undecodable("default", "web", "uid", 2);
    bad.labels = [("app".to_owned(), "shop".to_owned())].into();
    store.insert_undecodable(Arc::new(bad), Some(web));
    store.insert_undecodable(Arc::new(undecodable("default", "never", "uid", 3)), None);
    store.publish();
    assert_eq!(found(&store.lister(), &index, "a"), ["never", "web"]);
    assert_eq!(found(&store.lister(), &index, "b"), ["never"]);
    let listing = store.lister().by(&index, "a");
    assert_eq!((listing.items.len(), listing.undecodable.len()), (0, 2));
    let shop = store.lister().by(&labels, "shop").undecodable;
    assert_eq!(
        shop.iter().map(|bad| bad.key.name()).collect::<Vec<_>>(),
        ["web"]
    );
}

#[test]
fn a_snapshot_keeps_its_index() {
    let mut store = Store::new();
    let index = store.add_index(Index::try_by(values));
    store.publish();
    put(&mut store, "web", "a");
    store.publish();
    let before = store.lister().snapshot();
    put(&mut store, "web", "b");
    assert_eq!(
        found(&store.lister(), &index, "a"),
        ["web"],
        "not published yet"
    );
    store.publish();
    assert_eq!(names(&before, &index, "a").len(), 1);
    assert!(found(&store.lister(), &index, "a").is_empty());
    assert_eq!(found(&store.lister(), &index, "b"), ["web"]);
}

#[tokio::test(start_paused = true)]
async fn an_index_can_be_added_before_an_informer_runs_and_while_it_does() {
    let server = FakeServer::new();
    server.put("web");
    let metrics = Metrics::new();
    let resource = ApiResource::of::<ConfigMap>();
    let measured = metrics_of(&metrics, &resource);
    let informer = server.informer_with(&metrics);
    let by_name = || Index::by(|object: &ConfigMap| [object.name().to_owned()]);
    let early = informer.add_index(by_name());
    let task = tokio::spawn(informer.run(Default::default()));
    run_ready_tasks().await;
    let late = informer.add_index(by_name());
    let failing = informer.add_index(Index::try_by(|_: &ConfigMap| Err::<[u8; 0], _>("no")));
    let panicking = informer.add_index(Index::by(|_: &ConfigMap| -> [u8; 0] { panic!("no") }));
    run_ready_tasks().await;
    let snapshot = informer.lister().snapshot();
    assert_eq!(
        snapshot.index_sizes(),
        [(1, 1, 0), (1, 1, 0), (0, 0, 0), (0, 0, 0)]
    );
    for index in [&early, &late] {
        assert_eq!(found(&informer.lister(), index, "web"), ["web"]);
    }
    assert_eq!(informer.lister().by(&failing, &1).items.len(), 0);
    assert_eq!(informer.lister().by(&panicking, &1).items.len(), 0);
    assert_eq!(measured.index_errors.get(), 2);
    assert_eq!(measured.listener_panics.get(), 1);
    task.abort();
}

#[derive(Clone, Debug)]
enum Step {
    Put { name: u8, values: Vec<u8> },
    PutFailing { name: u8, panics: bool },
    PutBad { name: u8, recreated: bool },
    Remove { name: u8 },
    AddIndex,
    Publish,
}

fn step() -> impl Strategy<Value = Step> {
    let name = || 0..8u8;
    prop_oneof![
        6 => (name(), prop::collection::vec(0..4u8, 0..4)).prop_map(|(name, values)| Step::Put { name, values }),
        1 => (name(), any::<bool>()).prop_map(|(name, panics)| Step::PutFailing { name, panics }),
        2 => (name(), any::<bool>()).prop_map(|(name, recreated)| Step::PutBad { name, recreated }),
        3 => name().prop_map(|name| Step::Remove { name }),
        1 => Just(Step::AddIndex),
        3 => Just(Step::Publish),
    ]
}

/// Where an object is found: under these values, or under all values if they are unknown.
type Place = Option<BTreeSet<String>>;

proptest! {
    #[test]
    fn each_index_equals_a_plain_map_after_any_steps(
        steps in prop::collection::vec(step(), 0..80),
        packed: bool,
    ) {
        let mut store = if packed { Store::packed(JsonBytes) } else { Store::new() };
        let mut handles = vec![store.add_index(Index::try_by(values))];
        let mut model: BTreeMap<String, Place> = BTreeMap::new();
        let mut shown = model.clone();
        for (version, step) in steps.into_iter().enumerate() {
            let version = version as u64;
            let place = |name: u8| format!("o{name}");
            match step {
                Step::Put { name, values } => {
                    let values: Vec<String> = values.iter().map(u8::to_string).collect();
                    let object = with_values(&place(name), version, &values.join(","));
                    store.insert(object.key(), Arc::new(object));
                    model.insert(place(name), Some(values.into_iter().collect()));
                }
                Step::PutFailing { name, panics } => {
                    let how = if panics { "panic" } else { "fail" };
                    let object = with_values(&place(name), version, how);
                    store.insert(object.key(), Arc::new(object));
                    model.insert(place(name), Some(BTreeSet::new()));
                }
                Step::PutBad { name, recreated } => {
                    let bad = Arc::new(undecodable("default", &place(name), "uid", version));
                    let last = store.get(&bad.key).filter(|_| !recreated);
                    let last = last.and_then(|entry| entry.last_object());
                    let known = model.get(&place(name)).cloned().flatten();
                    model.insert(place(name), known.filter(|_| !recreated));
                    store.insert_undecodable(bad, last);
                }
                Step::Remove { name } => {
                    model.remove(&place(name));
                    store.remove(&ObjectKey::namespaced("default", &place(name)));
                }
                Step::AddIndex => handles.push(store.add_index(Index::try_by(values))),
                Step::Publish => {
                    store.publish();
                    shown = model.clone();
                }
            }
            let snapshot = store.lister().snapshot();
            for value in 0..4u8 {
                let value = value.to_string();
                let expected: BTreeSet<String> = shown
                    .iter()
                    .filter(|(_, place)| place.as_ref().is_none_or(|values| values.contains(&value)))
                    .map(|(name, _)| name.clone())
                    .collect();
                for index in &handles {
                    prop_assert_eq!(&names(&snapshot, index, &value), &expected);
                }
            }
        }
        let keys: Vec<String> = model.keys().cloned().collect();
        for name in keys {
            store.remove(&ObjectKey::namespaced("default", &name));
        }
        store.publish();
        prop_assert!(store.working().index_sizes().iter().all(|sizes| *sizes == (0, 0, 0)));
    }
}

#[test]
fn the_values_of_an_index_are_listed_once_each_with_the_objects_that_do_not_decode() {
    let mut store = Store::new();
    let index = store.add_index(Index::try_by(values));
    store.publish();
    put(&mut store, "one", "a,b");
    put(&mut store, "two", "b,c");
    store.insert_undecodable(Arc::new(undecodable("default", "bad", "uid", 1)), None);
    store.publish();
    let mut other = Store::new();
    put(&mut other, "three", "d");
    put(&mut other, "four", "d");
    other.publish();
    let list = |lister: Lister<ConfigMap>| {
        let listed = lister.values(&index);
        let values: BTreeSet<_> = listed.items.iter().cloned().collect();
        assert_eq!(values.len(), listed.items.len());
        (Vec::from_iter(values), listed.undecodable.len())
    };
    let all = ["a", "b", "c"].map(str::to_owned).to_vec();
    assert_eq!(list(store.lister()), (all, 1));
    // A cache that does not have the index looks at its objects.
    assert_eq!(list(other.lister()), (vec!["d".to_owned()], 0));

    store.remove(&ObjectKey::namespaced("default", "two"));
    store.publish();
    let left = ["a", "b"].map(str::to_owned).to_vec();
    assert_eq!(list(store.lister()).0, left);
}
