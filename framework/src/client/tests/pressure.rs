//! Requests that the client delays, with a paused clock.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::server::{OBJECT, Seen, Site, in_memory, json, object_at};
use crate::{
    client::{Api, Body, Client, Config, Deadlines, ErrorKind, PostParams},
    metrics::Metrics,
};

fn config() -> Config {
    Config::new("http://sandbox".parse().unwrap())
}

fn client(site: &Site, config: Config) -> Client {
    let client = Client::builder(config).connector(in_memory(site));
    client.build().unwrap()
}

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client, "default")
}

/// A server that answers the first `times` requests for which `busy` is true with 429 and these seconds. Records when
/// each request came.
fn busy(
    times: usize,
    seconds: &'static str,
    is_busy: impl Fn(&Seen) -> bool + Send + Sync + 'static,
) -> (Site, Arc<Mutex<Vec<Duration>>>) {
    let (refused, start) = (AtomicUsize::new(0), Instant::now());
    let came = Arc::new(Mutex::new(Vec::new()));
    let log = came.clone();
    let site = Site::new(move |seen| {
        log.lock().push(start.elapsed());
        if !is_busy(seen) || refused.fetch_add(1, Ordering::SeqCst) >= times {
            return json(200, object_at(&seen.uri));
        }
        let mut answer = json(429, "{\"reason\":\"TooManyRequests\",\"code\":429}").unwrap();
        let headers = answer.headers_mut();
        headers.insert("retry-after", seconds.parse().unwrap());
        Some(answer)
    });
    (site, came)
}

#[tokio::test(start_paused = true)]
async fn after_429_other_requests_of_the_flow_wait_and_continue_one_by_one() {
    let (site, came) = busy(1, "5", |_| true);
    let metrics = Metrics::new();
    let client = Client::builder(config()).connector(in_memory(&site));
    let maps = maps(&client.metrics(metrics.clone()).build().unwrap());
    let first = tokio::spawn({
        let maps = maps.clone();
        async move { maps.get("a").await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let others = join_all((0..3).map(|_| maps.get("b"))).await;
    assert!(others.iter().all(Result::is_ok) && first.await.unwrap().is_ok());
    let came: Vec<_> = came.lock().iter().map(Duration::as_millis).collect();
    assert_eq!(came, [0, 5000, 5010, 5020, 5030]);
    let text = metrics.encode();
    for line in [
        "rest_client_requests_total{code=\"429\",host=\"sandbox\",method=\"GET\"} 1\n",
        "rest_client_request_retries_total{code=\"200\",host=\"sandbox\",verb=\"GET\"} 1\n",
        "rest_client_rate_limiter_duration_seconds_count{host=\"sandbox\",verb=\"GET\"} 4\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
    // After no request waits any more, the flow is as before.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let start = Instant::now();
    join_all((0..3).map(|_| maps.get("a"))).await;
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn other_flows_and_clients_with_own_connections_continue() {
    let (site, _) = busy(1, "30", |seen| seen.uri.contains("/default/configmaps"));
    let client = client(&site, config());
    let held = tokio::spawn({
        let maps = maps(&client);
        async move { maps.get("a").await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let start = Instant::now();
    let secret = http::Request::get("/api/v1/namespaces/default/secrets/a");
    let secret = client.send(secret.body(Body::empty()).unwrap()).await;
    assert!(secret.unwrap().status().is_success());
    let other = Api::<ConfigMap>::namespaced(&client, "other");
    other.get("a").await.unwrap();
    let map = ConfigMap::default();
    maps(&client)
        .create(&PostParams::default(), &map)
        .await
        .unwrap();
    let apart = client.with_own_connections(Deadlines::default());
    maps(&apart).get("a").await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO);
    maps(&client).get("b").await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 29);
    held.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_flow_delayed_again_waits_again_up_to_its_deadline() {
    let (site, came) = busy(4, "5", |_| true);
    let deadlines = Deadlines::default().total(Duration::from_secs(18));
    let maps = maps(&client(&site, config().with_deadlines(deadlines)));
    let outcomes = join_all((0..2).map(|_| maps.get("a"))).await;
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    let came: Vec<_> = came.lock().iter().map(Duration::as_millis).collect();
    // From the second time on, one request finds out for both.
    assert_eq!(came, [0, 0, 5000, 10000, 15000, 15010]);

    let (site, came) = busy(usize::MAX, "120", |_| true);
    let maps = self::maps(&client(&site, config()));
    let error = maps.get("a").await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Timeout { .. } | ErrorKind::Api(_)),
        "{error}"
    );
    assert!(came.lock().len() <= 3);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_eviction_delays_no_other() {
    let (site, _) = busy(1, "10", |seen| seen.uri.contains("/pods/a/eviction"));
    let client = client(&site, config());
    let evict = |name: &str| {
        let (client, path) = (
            client.clone(),
            format!("/api/v1/namespaces/n/pods/{name}/eviction"),
        );
        tokio::spawn(async move {
            let request = http::Request::post(path).body(Body::empty());
            client.send(request.unwrap()).await.unwrap().status()
        })
    };
    let start = Instant::now();
    let first = evict("a");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(evict("b").await.unwrap(), 200);
    assert_eq!(start.elapsed().as_secs(), 1);
    assert_eq!(first.await.unwrap(), 200);
    assert_eq!(start.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_request_dropped_while_it_waits_is_not_sent() {
    let (site, came) = busy(1, "20", |_| true);
    let deadlines = Deadlines::default().total(Duration::from_secs(3));
    let maps = maps(&client(&site, config().with_deadlines(deadlines)));
    let error = maps.get("a").await.unwrap_err();
    assert!(
        error.is_too_many_requests(),
        "a pause past the deadline: {error}"
    );
    assert!(matches!(
        maps.get("a").await.unwrap_err().kind(),
        ErrorKind::Timeout { .. }
    ));
    assert_eq!(came.lock().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_configured_token_bucket_limits_requests() {
    let site = Site::new(|_| json(200, OBJECT));
    let start = Instant::now();
    let free = maps(&client(&site, config()));
    join_all((0..50).map(|_| free.get("a"))).await;
    assert_eq!(start.elapsed(), Duration::ZERO);

    let limited = client(&site, config().with_rate_limit(5.0, 10));
    let (maps, apart) = (
        maps(&limited),
        maps(&limited.with_own_connections(Deadlines::default())),
    );
    join_all((0..10).map(|_| maps.get("a"))).await;
    join_all((0..10).map(|_| apart.get("a"))).await;
    assert_eq!(start.elapsed(), Duration::ZERO, "a burst goes at once");
    join_all((0..5).map(|_| maps.get("a"))).await;
    assert_eq!(start.elapsed().as_millis(), 1000);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let start = Instant::now();
    join_all((0..11).map(|_| maps.get("a"))).await;
    assert_eq!(
        start.elapsed().as_millis(),
        200,
        "not more than a burst is saved up"
    );
}

#[test]
fn a_useless_rate_limit_is_an_error() {
    for (per_second, burst) in [
        (0.0, 1),
        (-1.0, 1),
        (f64::NAN, 1),
        (f64::INFINITY, 1),
        // One token in thousands of years.
        (1e-11, 1),
        (1e-19, 1),
        (1.0, 0),
    ] {
        let error = Client::new(config().with_rate_limit(per_second, burst)).unwrap_err();
        assert!(
            error.to_string().contains("give numbers above 0"),
            "{error}"
        );
    }
}
