//! Objects of the API server, which a cache stores as the server sent them.

use std::convert::Infallible;

use futures_util::StreamExt;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use serde_json::{Value, json};

use super::*;
use crate::{
    cache::{Informers, InformersBuilder},
    client::{Body, BoxError, Client},
    metrics::Metrics,
    resource::{ApiResource, Object},
};

/// Larger than what is stored decoded.
const TEXT: usize = 4000;

fn large(version: u32) -> Value {
    json!({
        "metadata": {
            "name": "large", "namespace": "default", "uid": "u", "resourceVersion": version.to_string(),
            "managedFields": [{"manager": "m".repeat(TEXT)}],
        },
        "data": {"text": "x".repeat(TEXT), "version": version.to_string()},
    })
}

/// Informers of a server with a large and a small ConfigMap at version 1, which streams or pages its list. The watch that
/// follows brings version 2 of the large one.
fn informers(
    streams: bool,
    change: impl FnOnce(InformersBuilder) -> InformersBuilder,
) -> Informers {
    let client = Client::from_service(tower::service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let small = json!({"metadata": {"name": "small", "namespace": "default", "uid": "s", "resourceVersion": "1"}});
        let mark = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {
            "resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}}});
        let typed = |mut object: Value| {
            object["kind"] = "ConfigMap".into();
            object["apiVersion"] = "v1".into();
            object
        };
        let event = |kind: &str, object| format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n");
        let change = event("MODIFIED", typed(large(2)));
        let is_streamed = query.contains("sendInitialEvents");
        let (code, body) = if is_streamed && !streams {
            (422, Body::empty())
        } else if query.contains("watch=true") {
            let first = match is_streamed {
                true => {
                    let added = [large(1), small].map(|object| event("ADDED", typed(object)));
                    added.concat() + &event("BOOKMARK", mark)
                }
                false => String::new(),
            };
            let frames = [first, change].map(|text| Ok::<_, BoxError>(Frame::data(text.into())));
            let frames = futures_util::stream::iter(frames).chain(futures_util::stream::pending());
            (200, Body::new(StreamBody::new(frames)))
        } else {
            let list = json!({"metadata": {"resourceVersion": "1"}, "items": [large(1), small]});
            (200, Body::from(list.to_string().into_bytes()))
        };
        let answer = Response::builder().status(code).body(body).unwrap();
        std::future::ready(Ok::<_, Infallible>(answer))
    }));
    change(Informers::builder(client, Metrics::new())).build()
}

/// The bytes that the cache stores of each object: of the large one, and of the small one.
fn stored<K: Object>(informer: &SharedInformer<K>) -> [Option<usize>; 2] {
    let snapshot = informer.lister().snapshot();
    ["large", "small"].map(|name| {
        let key = ObjectKey::namespaced("default", name);
        snapshot.entry(&key).unwrap().packed_size()
    })
}

#[tokio::test(start_paused = true)]
async fn large_objects_are_stored_as_the_server_sent_them_without_their_managed_fields() {
    for streams in [false, true] {
        let informers = informers(streams, |builder| builder);
        let typed = informers.informer::<ConfigMap>(Default::default());
        let configmaps = ApiResource::of::<ConfigMap>();
        let dynamic = informers.dynamic(configmaps, Default::default());
        informers.start(&CancellationToken::new());
        assert!(typed.synced().await && dynamic.synced().await);
        seconds(1).await;
        for [large, small] in [stored(&typed), stored(&dynamic)] {
            assert!((TEXT..TEXT + 500).contains(&large.unwrap()), "{large:?}");
            assert_eq!(small, None);
        }
        let key = ObjectKey::namespaced("default", "large");
        let mut expected: ConfigMap = serde_json::from_value(large(2)).unwrap();
        expected.metadata.managed_fields = None;
        assert_eq!(*typed.lister().get(&key).unwrap().unwrap(), expected);
        let object = dynamic.lister().get(&key).unwrap().unwrap();
        assert_eq!(object.types.kind, "ConfigMap");
        assert_eq!(object.data["data"], large(2)["data"]);
        informers.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_view_is_stored_decoded_because_it_is_smaller() {
    let informers = informers(true, |builder| builder);
    let informer = informers.metadata::<ConfigMap>(Default::default());
    informers.start(&CancellationToken::new());
    assert!(informer.synced().await);
    seconds(1).await;
    assert_eq!(stored(&informer), [None, None]);
}

#[tokio::test(start_paused = true)]
async fn what_a_transform_has_changed_is_stored_decoded() {
    let informers = informers(true, |builder| {
        builder.transform::<ConfigMap>(|object| {
            object.data = None;
            Ok(())
        })
    });
    let informer = informers.informer::<ConfigMap>(Default::default());
    informers.start(&CancellationToken::new());
    assert!(informer.synced().await);
    seconds(1).await;
    assert_eq!(stored(&informer), [None, None]);
    let all = informer.lister().list().items;
    assert!(all.len() == 2 && all.iter().all(|object| object.data.is_none()));
}
