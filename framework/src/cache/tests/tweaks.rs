//! How the options of a scope change the requests of an informer, and which informers share a watch.

use std::{convert::Infallible, sync::Arc};

use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use parking_lot::Mutex;

use super::*;
use crate::{
    cache::{InformerScope, Informers, InformersBuilder},
    client::{Body, BoxError, Client},
    metrics::Metrics,
};

type Requests = Arc<Mutex<Vec<String>>>;

/// Informers of a server that refuses to stream lists, has nothing, and records the queries.
fn informers(change: impl FnOnce(InformersBuilder) -> InformersBuilder) -> (Informers, Requests) {
    let requests = Requests::default();
    let log = requests.clone();
    let client = Client::from_service(tower::service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let is_watch = query.contains("watch=true");
        let (code, body) = if query.contains("sendInitialEvents") {
            (422, Body::empty())
        } else if is_watch {
            let silent = futures_util::stream::pending::<Result<Frame<bytes::Bytes>, BoxError>>();
            (200, Body::new(StreamBody::new(silent)))
        } else {
            let list = r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}"#;
            (200, Body::from(list.as_bytes().to_vec()))
        };
        log.lock().push(query);
        let answer = Response::builder().status(code).body(body).unwrap();
        std::future::ready(Ok::<_, Infallible>(answer))
    }));
    let informers = change(Informers::builder(client, Metrics::new())).build();
    (informers, requests)
}

fn parameter(query: &str, name: &str) -> Option<String> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value.to_owned())
}

#[tokio::test(start_paused = true)]
async fn the_options_of_a_scope_are_in_each_list_and_watch() {
    let (informers, requests) = informers(|builder| builder);
    let scope = InformerScope::all()
        .shard("shardRange(object.metadata.uid, '0x0', '0x8')")
        .page_size(7)
        .list_timeout(Duration::from_secs(3))
        .min_watch_timeout(Duration::from_secs(100));
    let informer = informers.informer::<ConfigMap>(scope);
    informers.start(&CancellationToken::new());
    assert!(informer.synced().await);
    informer.relist();
    seconds(5).await;
    informers.shutdown().await;
    let (mut lists, mut watches) = (0, 0);
    for query in requests.lock().iter() {
        let shard = parameter(query, "shardSelector").unwrap();
        assert_eq!(
            shard,
            "shardRange%28object.metadata.uid%2C%20%270x0%27%2C%20%270x8%27%29"
        );
        let timeout: u64 = parameter(query, "timeoutSeconds").unwrap().parse().unwrap();
        if query.contains("watch=true") {
            watches += 1;
            assert!((100..=200).contains(&timeout), "{timeout}");
        } else {
            lists += 1;
            assert_eq!(timeout, 3);
            assert_eq!(parameter(query, "limit").unwrap(), "7", "{query}");
        }
    }
    assert!(lists == 2 && watches >= 2, "{lists} {watches}");
}

#[tokio::test(start_paused = true)]
async fn informers_with_different_options_do_not_share_a_watch_and_equal_ones_do() {
    let (informers, _) = informers(|builder| builder);
    let all = InformerScope::all;
    let second = Duration::from_secs(1);
    let plain = informers.informer::<ConfigMap>(all());
    let others = [
        all().shard("s"),
        all().page_size(7),
        all().list_timeout(second),
        all().min_watch_timeout(second),
    ];
    for scope in others {
        let one = informers.informer::<ConfigMap>(scope.clone());
        assert!(!one.is(&plain), "{scope:?}");
        assert!(one.is(&informers.informer(scope)));
    }
    assert_eq!(informers.statuses().len(), 5);
    // These mean nothing.
    assert!(
        informers
            .informer::<ConfigMap>(all().page_size(0).shard(""))
            .is(&plain)
    );
}

#[tokio::test(start_paused = true)]
async fn a_tweak_changes_the_scope_of_all_informers_of_a_kind_but_not_their_namespaces() {
    let (informers, _) = informers(|builder| {
        builder.tweak::<ConfigMap>(|scope| scope.namespace("other").page_size(7).labels("a=b"))
    });
    let informer = informers.informer::<ConfigMap>(InformerScope::all().namespace("here"));
    let expected = InformerScope::all()
        .namespace("here")
        .page_size(7)
        .labels("a=b");
    assert_eq!(informer.scope(), &expected);
    assert!(informers.informer::<ConfigMap>(expected).is(&informer));
    let secrets = informers.informer::<k8s_openapi::api::core::v1::Secret>(InformerScope::all());
    assert_eq!(secrets.scope(), &InformerScope::all());
}

#[test]
fn the_time_of_a_watch_is_between_10_seconds_and_two_days() {
    let of = |seconds| {
        let scope = InformerScope::all().min_watch_timeout(Duration::from_secs(seconds));
        let range = scope.watch_timeouts();
        (range.start.as_secs(), range.end.as_secs())
    };
    assert_eq!(
        (of(0), of(60), of(u64::MAX)),
        ((10, 20), (60, 120), (86_400, 172_800))
    );
    let default = InformerScope::all().watch_timeouts();
    assert_eq!(default, Duration::from_secs(300)..Duration::from_secs(600));
}
