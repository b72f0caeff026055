//! Reading a cache by selectors, and while it is written.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use k8s_openapi::api::core::v1::ConfigMap;

use crate::{
    cache::{
        Index, Store,
        fake::{object, undecodable},
    },
    resource::{Object, ObjectKey, Selector},
};

fn labelled(namespace: &str, name: &str, app: &str) -> Arc<ConfigMap> {
    let mut object = object(namespace, name, "uid", 1, &[]);
    object.metadata.labels = Some([("app".to_owned(), app.to_owned())].into());
    Arc::new(object)
}

fn store() -> Store<ConfigMap> {
    let mut store = Store::new();
    for (namespace, name, app) in [("x", "web", "web"), ("y", "web", "web"), ("x", "db", "db")] {
        let object = labelled(namespace, name, app);
        store.insert(object.key(), object);
    }
    let plain = Arc::new(object("x", "plain", "uid", 1, &[]));
    store.insert(plain.key(), plain);
    let mut bad = undecodable("x", "bad", "uid", 1);
    bad.labels = [("app".to_owned(), "web".to_owned())].into();
    store.insert_undecodable(Arc::new(bad), None);
    store.publish();
    store
}

#[test]
fn a_selector_finds_the_objects_with_its_labels_undecodable_ones_included() {
    let lister = store().lister();
    let counts = |selector: Selector| {
        let all = lister.select(&selector);
        let within = lister.select_in("x", &selector);
        let numbers = [&all, &within].map(|found| (found.items.len(), found.undecodable.len()));
        (numbers[0], numbers[1])
    };
    assert_eq!(
        counts(Selector::default().eq("app", "web")),
        ((2, 1), (1, 1))
    );
    assert_eq!(counts(Selector::default().absent("app")), ((1, 0), (1, 0)));
    assert_eq!(
        counts(Selector::default().not_eq("app", "web")),
        ((2, 0), (2, 0))
    );
    assert_eq!(counts(Selector::default()), ((4, 1), (3, 1)));
    assert_eq!(
        counts("app in (db, shop)".parse().unwrap()),
        ((1, 0), (1, 0))
    );
}

#[test]
fn a_snapshot_is_iterated_in_the_same_order_each_time_and_shares_its_objects() {
    let store = store();
    let snapshot = store.lister().snapshot();
    let keys = || -> Vec<ObjectKey> { snapshot.iter().map(|(key, _)| key.clone()).collect() };
    assert_eq!(keys(), keys());
    let key = ObjectKey::namespaced("x", "web");
    let of_lister = store.lister().get(&key).unwrap().unwrap();
    assert!(Arc::ptr_eq(
        &of_lister,
        &snapshot.get(&key).unwrap().unwrap()
    ));
}

/// A reader that keeps what it read (and that would hold a lock if there were one) blocks nobody.
#[test]
fn readers_and_the_writer_never_wait_for_each_other() {
    let mut store = store();
    let index = store.add_index(Index::label("app"));
    store.publish();
    let lister = store.lister();
    let held = lister.snapshot();
    let mut reading = held.by(&index, "web");
    let first = reading.next();
    // On this thread: if anything waited for the reader, it would wait forever.
    for version in 0..100 {
        let object = labelled("z", &format!("o{version}"), "web");
        store.insert(object.key(), object);
        store.publish();
    }
    let rest = reading.chain(first).map(|(key, _)| key.clone());
    assert_eq!(rest.collect::<BTreeSet<_>>().len(), 3);
    assert_eq!(lister.by(&index, "web").items.len(), 102);
}

#[test]
fn readers_on_other_threads_see_whole_batches_and_never_go_back() {
    const LAST: u64 = 2000;
    let mut store = Store::new();
    let version = |object: &ConfigMap| object.resource_version()?.parse::<u64>().ok();
    let index = store.add_index(Index::by(version));
    store.publish();
    let (lister, done) = (store.lister(), AtomicBool::new(false));
    let read = || {
        let mut seen = 0;
        loop {
            let at_the_end = done.load(Ordering::Acquire);
            let snapshot = lister.snapshot();
            let [a, b] = ["a", "b"].map(|name| {
                let object = snapshot.get(&ObjectKey::namespaced("x", name)).unwrap();
                object.as_deref().and_then(version).unwrap_or_default()
            });
            assert_eq!(a, b, "a reader saw half a batch");
            assert!(a >= seen, "a reader saw an older state");
            assert_eq!(snapshot.by(&index, &a).count(), if a == 0 { 0 } else { 2 });
            seen = a;
            if at_the_end {
                return seen;
            }
        }
    };
    thread::scope(|scope| {
        let readers = [scope.spawn(read), scope.spawn(read)];
        for number in 1..=LAST {
            for name in ["a", "b"] {
                let object = Arc::new(object("x", name, "uid", number, &[]));
                store.insert(object.key(), object);
            }
            store.publish();
        }
        done.store(true, Ordering::Release);
        for reader in readers {
            assert_eq!(reader.join().unwrap(), LAST);
        }
    });
}
