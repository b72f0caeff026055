//! A store that keeps bytes and decodes on each read, with the same readers.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use k8s_openapi::api::core::v1::ConfigMap;
use tokio_util::sync::CancellationToken;

use super::{recording::RecordingListener, resyncs::informers};
use crate::{
    cache::{
        Batch, Delta, Event, Index, Packed, Packing, Store,
        fake::{FakeServer, object, run_ready_tasks, undecodable},
        informer::Processor,
    },
    resource::{ApiResource, Object, Selector, Undecodable},
};

/// Stores ConfigMaps as JSON.
pub(in crate::cache) struct JsonBytes;

struct Bytes {
    uid: Option<String>,
    resource_version: Option<String>,
    json: Vec<u8>,
    decoded: Arc<AtomicUsize>,
}

fn pack(object: &ConfigMap, decoded: &Arc<AtomicUsize>) -> Option<Arc<dyn Packed<ConfigMap>>> {
    Some(Arc::new(Bytes {
        uid: object.uid().map(str::to_owned),
        resource_version: object.resource_version().map(str::to_owned),
        json: serde_json::to_vec(object).ok()?,
        decoded: decoded.clone(),
    }))
}

impl Packing<ConfigMap> for JsonBytes {
    fn pack(&self, object: &Arc<ConfigMap>) -> Option<Arc<dyn Packed<ConfigMap>>> {
        pack(object, &Arc::default())
    }
}

/// Like [`JsonBytes`], and counts how often an object is decoded.
pub(super) struct Counted(pub(super) Arc<AtomicUsize>);

impl Packing<ConfigMap> for Counted {
    fn pack(&self, object: &Arc<ConfigMap>) -> Option<Arc<dyn Packed<ConfigMap>>> {
        pack(object, &self.0)
    }
}

impl Packed<ConfigMap> for Bytes {
    fn uid(&self) -> Option<&str> {
        self.uid.as_deref()
    }

    fn resource_version(&self) -> Option<&str> {
        self.resource_version.as_deref()
    }

    fn object(&self) -> Result<Arc<ConfigMap>, Arc<Undecodable>> {
        self.decoded.fetch_add(1, Ordering::Relaxed);
        let object = serde_json::from_slice(&self.json).map(Arc::new);
        object.map_err(|_| Arc::new(undecodable("", "", "", 0)))
    }
}

#[test]
fn a_packed_store_holds_no_decoded_object_and_looks_the_same_to_readers() {
    let decoded = Arc::new(AtomicUsize::new(0));
    let mut store = Store::packed(Counted(decoded.clone()));
    let by_name = store.add_index(Index::by(|object: &ConfigMap| [object.name().to_owned()]));
    store.publish();
    let weak: Vec<_> = (0..3)
        .map(|number| {
            let mut object = object("default", &format!("o{number}"), "uid", number, &["owner"]);
            let label = ("app".to_owned(), number.to_string());
            object.metadata.labels = Some([label].into());
            let object = Arc::new(object);
            let weak = Arc::downgrade(&object);
            store.insert(object.key(), object);
            weak
        })
        .collect();
    store.publish();
    let lister = store.lister();
    assert!(weak.iter().all(|object| object.upgrade().is_none()));
    let snapshot = lister.snapshot();
    assert_eq!(snapshot.by(&by_name, "o1").count(), 1);
    assert_eq!(snapshot.by_owner("owner").count(), 3);
    assert_eq!(
        snapshot.iter().filter_map(|(_, entry)| entry.uid()).count(),
        3
    );
    assert_eq!(
        decoded.load(Ordering::Relaxed),
        0,
        "only reading the object decodes it"
    );

    assert_eq!(lister.by(&by_name, "o1").items[0].name(), "o1");
    assert_eq!(lister.list().items.len(), 3);
    assert_eq!(
        lister
            .select(&Selector::default().eq("app", "2"))
            .items
            .len(),
        1
    );
    let one = weak.len();
    assert_eq!(one, 3);
    let key = lister.list().items[0].key();
    assert!(lister.get(&key).unwrap().is_some());
    assert!(store.remove(&key).is_some());
    assert_eq!(store.working().by_owner("owner").count(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_informer_with_a_packing_stores_packed_objects_and_looks_the_same_to_readers() {
    let (server, decoded) = (FakeServer::new(), Arc::new(AtomicUsize::new(0)));
    server.put("a");
    let packing = Counted(decoded.clone());
    let informers = informers(|builder| builder.packing::<ConfigMap>(packing));
    let source = server.clone();
    let configmaps = ApiResource::of::<ConfigMap>();
    let informer = informers.of_source(configmaps, Default::default(), move |_| source.clone());
    let recorded = RecordingListener::at(&informer);
    informers.start(&CancellationToken::new());
    assert!(informer.synced().await);
    let by_name = informer.add_index(Index::by(|object: &ConfigMap| [object.name().to_owned()]));
    run_ready_tasks().await;
    decoded.store(0, Ordering::Relaxed);
    let first = informer.lister().by(&by_name, "a").items.remove(0);
    let second = informer.lister().list().items.remove(0);
    assert!(first == second && !Arc::ptr_eq(&first, &second));
    assert_eq!(decoded.load(Ordering::Relaxed), 2, "once for each reader");
    server.put("a");
    server.delete("a");
    run_ready_tasks().await;
    assert_eq!(recorded.lines(), ["initial a", "updated a", "deleted a"]);
    assert_eq!(recorded.wrong(), [] as [&str; 0]);
}

#[test]
fn the_events_are_the_same_whether_objects_are_packed_or_not() {
    let set = |version, uid: &str| Delta::Set(object("default", "web", uid, version, &[]).into());
    let bad =
        |version| Delta::SetUndecodable(Box::new(undecodable("default", "web", "b", version)));
    let told = |store: Store<ConfigMap>| -> Vec<String> {
        let deltas = vec![
            Delta::ListStarted,
            set(1, "a"),
            Delta::ListEnded {
                resource_version: "1".into(),
            },
            set(1, "a"),
            set(2, "a"),
            set(3, "b"),
            bad(4),
            bad(4),
            set(5, "b"),
            Delta::ListStarted,
            Delta::ListEnded {
                resource_version: "6".into(),
            },
        ];
        let batch = Batch {
            deltas,
            initial: false,
            listed: true,
            gathered: false,
        };
        let mut processor = Processor::new(store, None);
        processor.add(0, None);
        let events = processor.process(0, batch);
        let line = |event: &Event<ConfigMap>| match event {
            Event::Updated { old, .. } | Event::Recreated { old, .. } => {
                format!("{event:?} after {:?}", old.resource_version())
            }
            _ => format!("{event:?}"),
        };
        events.iter().map(line).collect()
    };
    let plain = told(Store::new());
    assert_eq!(plain.len(), 6);
    assert_eq!(told(Store::packed(JsonBytes)), plain);
}
