//! Objects of the API server, which a cache stores as the server sent them.

use std::{convert::Infallible, sync::Arc};

use futures_util::StreamExt;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::*;
use crate::{
    cache::{Event, Index, Informers, InformersBuilder, UndecodableRead},
    client::{Body, BoxError, Client},
    metrics::Metrics,
    resource::{ApiResource, Object},
};

const TEXT: usize = 4000;

/// The object `name` at a version. `data` is a string if it fits the type.
fn map(name: &str, version: u32, data: impl Into<Value>) -> Value {
    json!({
        "metadata": {
            "name": name, "namespace": "default", "uid": name, "resourceVersion": version.to_string(),
            "managedFields": [{"manager": "m".repeat(TEXT)}],
        },
        "data": {"text": "x".repeat(TEXT), "more": data.into()},
    })
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::namespaced("default", name)
}

/// A server with the objects `good`, and `bad`, which does not fit its type. It streams its list, or sends it as a page. The
/// test sends the events of the watch.
struct Server {
    informers: Informers,
    events: mpsc::UnboundedSender<String>,
    metrics: Metrics,
}

impl Server {
    fn new(streams: bool, change: impl FnOnce(InformersBuilder) -> InformersBuilder) -> Self {
        Self::of(vec![map("good", 1, "a"), map("bad", 2, 3)], streams, change)
    }

    fn of(
        objects: Vec<Value>,
        streams: bool,
        change: impl FnOnce(InformersBuilder) -> InformersBuilder,
    ) -> Self {
        let (events, received) = mpsc::unbounded_channel();
        let received = Arc::new(Mutex::new(Some(received)));
        let client = Client::from_service(tower::service_fn(move |request: Request<Body>| {
            let query = request.uri().query().unwrap_or_default().to_owned();
            let objects = objects.clone();
            let is_streamed = query.contains("sendInitialEvents");
            let (code, body) = if is_streamed && !streams {
                (422, Body::empty())
            } else if query.contains("watch=true") {
                let first = match is_streamed {
                    true => {
                        let objects = objects.into_iter().map(|object| event("ADDED", object));
                        objects.collect::<String>() + &mark()
                    }
                    false => String::new(),
                };
                let rest = received.lock().take();
                let rest = futures_util::stream::iter(rest).flat_map(|received| {
                    futures_util::stream::unfold(received, |mut received| async move {
                        received.recv().await.map(|text| (text, received))
                    })
                });
                let all = futures_util::stream::iter([first]).chain(rest);
                let frames = all.map(|text| Ok::<_, BoxError>(Frame::data(text.into())));
                let frames = frames.chain(futures_util::stream::pending());
                (200, Body::new(StreamBody::new(frames)))
            } else {
                let list = json!({"metadata": {"resourceVersion": "2"}, "items": objects});
                (200, Body::from(list.to_string().into_bytes()))
            };
            let answer = Response::builder().status(code).body(body).unwrap();
            std::future::ready(Ok::<_, Infallible>(answer))
        }));
        let metrics = Metrics::new();
        Self {
            informers: change(Informers::builder(client, metrics.clone())).build(),
            events,
            metrics,
        }
    }

    async fn send(&self, kind: &str, object: Value) {
        self.events.send(event(kind, object)).unwrap();
        seconds(1).await;
    }

    async fn start(&self) {
        self.informers.start(&CancellationToken::new());
        assert!(self.informers.readiness().wait().await);
        seconds(1).await;
    }

    fn decode_errors(&self) -> u64 {
        self.metrics
            .informer("", "v1", "configmaps")
            .decode_errors
            .get()
    }
}

fn event(kind: &str, mut object: Value) -> String {
    object["kind"] = "ConfigMap".into();
    object["apiVersion"] = "v1".into();
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

fn mark() -> String {
    let mark = json!({"metadata": {
        "resourceVersion": "2", "annotations": {"k8s.io/initial-events-end": "true"}}});
    event("BOOKMARK", mark)
}

/// The bytes that the cache stores of the good object.
fn stored<K: Object>(informer: &SharedInformer<K>) -> Option<usize> {
    let snapshot = informer.lister().snapshot();
    snapshot.entry(&key("good")).unwrap().packed_size()
}

#[tokio::test(start_paused = true)]
async fn objects_are_stored_as_the_server_sent_them_without_their_managed_fields() {
    for streams in [false, true] {
        let server = Server::new(streams, |builder| builder);
        let typed = server.informers.informer::<ConfigMap>(Default::default());
        let configmaps = ApiResource::of::<ConfigMap>();
        let dynamic = server.informers.dynamic(configmaps, Default::default());
        server.start().await;
        for size in [stored(&typed), stored(&dynamic)] {
            assert!((TEXT..TEXT + 500).contains(&size.unwrap()), "{size:?}");
        }
        let mut expected: ConfigMap = serde_json::from_value(map("good", 1, "a")).unwrap();
        expected.metadata.managed_fields = None;
        let read = typed.lister().get(&key("good")).unwrap().unwrap();
        assert_eq!(*read, expected);
        let read = dynamic.lister().get(&key("bad")).unwrap().unwrap();
        assert_eq!(read.types.kind, "ConfigMap");
        assert_eq!(read.data["data"]["more"], 3);
        server.informers.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_does_not_decode_is_found_when_it_is_read_and_counted_once() {
    let server = Server::new(true, |builder| builder);
    let informer = server.informers.informer::<ConfigMap>(Default::default());
    server.start().await;
    let lister = informer.lister();
    assert_eq!((lister.len(), informer.undecodable().len()), (2, 0));
    for _ in 0..2 {
        let error = lister.get(&key("bad")).unwrap_err();
        assert_eq!(
            error.reason,
            "data.more: expected a string, found an integer"
        );
        seconds(1).await;
        assert_eq!(informer.undecodable().len(), 1);
        assert_eq!(informer.status().undecodable, 1);
        assert_eq!(server.decode_errors(), 1);
    }
    // A list of the same version changes nothing.
    server.send("MODIFIED", map("bad", 2, 3)).await;
    assert_eq!(
        (informer.undecodable().len(), server.decode_errors()),
        (1, 1)
    );
    server.send("MODIFIED", map("bad", 3, "b")).await;
    assert!(lister.get(&key("bad")).unwrap().is_some());
    assert_eq!((lister.len(), informer.undecodable().len()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_reads_the_new_version_finds_the_last_one_that_decoded_beside_it() {
    let server = Server::new(false, |builder| builder);
    let informer = server.informers.informer::<ConfigMap>(Default::default());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sees = seen.clone();
    informer.add_listener(move |event: &Event<ConfigMap>| {
        let version = |object: &ConfigMap| object.resource_version().unwrap_or_default().to_owned();
        let new = event.entry().object().map(|object| version(&object));
        let new = new.unwrap_or_else(|_| "error".to_owned());
        let old = match event {
            Event::Updated { old, .. } => old.object().map(|object| version(&object)).ok(),
            _ => None,
        };
        sees.lock()
            .push(format!("{} {new} after {old:?}", event.key().name()));
    });
    server.start().await;
    server.send("MODIFIED", map("good", 3, 4)).await;
    let entry = informer.lister().snapshot();
    let entry = entry.entry(&key("good")).unwrap();
    assert!(entry.object().is_err());
    assert_eq!(entry.last_object().unwrap().resource_version(), Some("1"));
    // The final state does not decode: the listener gets the last version that did.
    server.send("DELETED", map("good", 4, 4)).await;
    let mut lines = std::mem::take(&mut *seen.lock());
    lines[..2].sort();
    assert_eq!(
        lines,
        [
            "bad error after None",
            "good 1 after None",
            "good error after Some(\"1\")",
            "good error after None",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_index_of_values_decodes_what_arrives_and_finds_what_does_not_decode_under_every_value()
{
    let server = Server::new(false, |builder| builder);
    let informer = server.informers.informer::<ConfigMap>(Default::default());
    let index = informer.add_index(Index::by(|map: &ConfigMap| {
        map.data.as_ref().and_then(|data| data.get("more").cloned())
    }));
    server.start().await;
    assert_eq!(informer.undecodable().len(), 1, "the index has read it");
    let found = informer.lister().by(&index, "a");
    assert_eq!((found.items.len(), found.undecodable.len()), (1, 1));
    let found = informer.lister().by(&index, "b");
    assert_eq!((found.items.len(), found.undecodable.len()), (0, 1));
    server.send("MODIFIED", map("good", 3, "b")).await;
    assert_eq!(informer.lister().by(&index, "b").items.len(), 1);
    assert_eq!(server.decode_errors(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_read_of_a_snapshot_that_fails_later_is_noted() {
    let server = Server::new(false, |builder| builder);
    let informer = server.informers.informer::<ConfigMap>(Default::default());
    server.start().await;
    let notes = Arc::new(Mutex::new(Vec::new()));
    let notes_of = notes.clone();
    let lister = informer.lister().on_undecodable(move |read| {
        if let UndecodableRead::Snapshot(later) = read {
            notes_of.lock().push(later);
        }
    });
    let snapshot = lister.snapshot();
    let failed = || notes.lock().iter().filter_map(|later| later()).count();
    assert!(snapshot.entry(&key("good")).unwrap().object().is_ok());
    assert_eq!(failed(), 0);
    assert!(snapshot.entry(&key("bad")).unwrap().object().is_err());
    assert_eq!(failed(), 1);
    seconds(1).await;
    assert_eq!(failed(), 1, "the cache has marked it since");
}

#[tokio::test(start_paused = true)]
async fn what_a_transform_has_changed_is_stored_decoded() {
    let server = Server::new(true, |builder| {
        builder.transform::<ConfigMap>(|object| {
            object.data = None;
            Ok(())
        })
    });
    let informer = server.informers.informer::<ConfigMap>(Default::default());
    server.start().await;
    assert_eq!(stored(&informer), None);
    let read = informer.lister().get(&key("good")).unwrap().unwrap();
    assert_eq!(read.data, None);
    assert_eq!(
        informer.undecodable().len(),
        1,
        "it was decoded for the transform"
    );
}

#[tokio::test(start_paused = true)]
async fn an_informer_lets_decoded_objects_sleep_when_nobody_reads_them() {
    // The objects have 2.4 MB, and 1 MiB of it may stay decoded.
    let large = "x".repeat(600_000);
    let objects = (1..5).map(|number| map(&format!("o{number}"), number, &*large));
    let server = Server::of(objects.collect(), true, |builder| builder);
    let informer = server.informers.informer::<ConfigMap>(Default::default());
    server.start().await;
    let list = informer.lister().list().items;
    let weak: Vec<_> = list.iter().map(Arc::downgrade).collect();
    let decoded = || weak.iter().filter(|one| one.upgrade().is_some()).count();
    drop(list);
    assert_eq!(decoded(), 4);
    seconds(21).await;
    assert_eq!(decoded(), 1);
    // What is gone is decoded again.
    assert_eq!(informer.lister().list().items.len(), 4);
}

#[cfg(feature = "zstd")]
#[tokio::test(start_paused = true)]
async fn compressed_objects_take_less_memory_and_are_read_changed_and_deleted_as_others() {
    let objects =
        |version: u32| (0..500).map(move |number| map(&format!("o{number}"), version, "a"));
    for streams in [false, true] {
        let server = Server::of(objects(1).collect(), streams, InformersBuilder::compressed);
        let informer = server.informers.informer::<ConfigMap>(Default::default());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sees = seen.clone();
        informer.add_listener(move |event: &Event<ConfigMap>| {
            let object = event.entry().object().unwrap();
            sees.lock()
                .push((event.key(), object.data.clone().unwrap()["more"].clone()));
        });
        server.start().await;
        assert_eq!(seen.lock().len(), 500);
        let lister = informer.lister();
        let sizes = || {
            let snapshot = lister.snapshot();
            let entries = snapshot.iter().map(|(_, entry)| entry);
            let sizes: Vec<_> = entries.filter_map(|entry| entry.packed_size()).collect();
            let large = sizes.iter().filter(|size| **size > TEXT).count();
            (large, sizes.iter().sum::<usize>())
        };
        let (large, before) = sizes();
        assert!((300..450).contains(&large), "{large}: the first ones stay");
        for object in objects(2) {
            server.events.send(event("MODIFIED", object)).unwrap();
        }
        seconds(1).await;
        let (large, after) = sizes();
        assert!(
            large == 0 && after * 5 < before,
            "{large}: {after} of {before}"
        );
        let expected = |number: usize| {
            let mut object: ConfigMap =
                serde_json::from_value(map(&format!("o{number}"), 2, "a")).unwrap();
            object.metadata.managed_fields = None;
            object
        };
        for number in 0..500 {
            let read = lister.get(&key(&format!("o{number}"))).unwrap().unwrap();
            assert_eq!(*read, expected(number));
        }
        server.send("MODIFIED", map("o7", 3, 3)).await;
        let error = lister.get(&key("o7")).unwrap_err();
        assert_eq!(
            error.reason,
            "data.more: expected a string, found an integer"
        );
        server.send("DELETED", map("o8", 4, "a")).await;
        assert!(lister.get(&key("o8")).unwrap().is_none());
        assert_eq!(lister.len(), 499);
        server.informers.shutdown().await;
    }
}
