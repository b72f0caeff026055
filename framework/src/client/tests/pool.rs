//! Which connection a request uses: limits of streams, GOAWAY, and dead connections. In memory, with a paused clock.

use std::time::Duration;

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::time::{Instant, timeout};

use super::{
    relay::Relay,
    server::{OBJECT, Site, endless, json},
};
use crate::client::{
    Api, Client, Config, Deadline, Deadlines, Error, ErrorKind, PostParams, WatchParams,
    WatchStream,
};

const BOOKMARK: &str =
    "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}\n";

fn site() -> Site {
    Site::new(|seen| match seen.uri.contains("watch=true") {
        true => endless(BOOKMARK),
        false => json(200, OBJECT),
    })
}

fn client(relay: &Relay, site: &Site) -> Client {
    let config = Config::new("http://sandbox".parse().unwrap());
    let client = Client::builder(config).connector(relay.to(site));
    client.build().unwrap()
}

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client, "default")
}

async fn watch(maps: &Api<ConfigMap>) -> WatchStream<ConfigMap> {
    let mut watch = maps.watch(&WatchParams::default()).await.unwrap();
    watch.next().await.unwrap().unwrap();
    watch
}

fn connections(site: &Site) -> Vec<usize> {
    site.seen().iter().map(|seen| seen.connection).collect()
}

async fn create(maps: &Api<ConfigMap>) -> Result<ConfigMap, Error> {
    let map = ConfigMap::default();
    maps.create(&PostParams::default(), &map).await
}

#[tokio::test(start_paused = true)]
async fn a_lowered_limit_of_streams_applies_at_once() {
    let (relay, site) = (Relay::default(), site());
    let maps = maps(&client(&relay, &site));
    let _first = [watch(&maps).await, watch(&maps).await];
    relay.connection(0).allow(2);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let start = Instant::now();
    let _third = watch(&maps).await;
    assert_eq!(connections(&site), [0, 0, 1]);
    assert_eq!(start.elapsed(), Duration::ZERO);
    // A limit that is raised again applies, too.
    relay.connection(0).allow(3);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let _fourth = watch(&maps).await;
    assert_eq!(connections(&site), [0, 0, 1, 0]);
}

#[tokio::test(start_paused = true)]
async fn after_goaway_running_requests_end_and_new_ones_use_another_connection() {
    let (relay, site) = (Relay::default(), site());
    let maps = maps(&client(&relay, &site));
    let mut running = watch(&maps).await;
    relay.connection(0).say_goodbye(1);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let _new = watch(&maps).await;
    assert_eq!(connections(&site), [0, 1]);
    let goes_on = timeout(Duration::from_secs(600), running.next()).await;
    assert!(goes_on.is_err(), "{goes_on:?}");
}

#[tokio::test(start_paused = true)]
async fn requests_unprocessed_before_goaway_are_repeated_writes_too() {
    let (relay, site) = (Relay::default(), site());
    let maps = maps(&client(&relay, &site));
    maps.get("a").await.unwrap();
    let passage = relay.connection(0);
    passage.stop_after(1);
    let creation = tokio::spawn({
        let maps = maps.clone();
        async move { create(&maps).await }
    });
    passage.begun(3).await;
    passage.say_goodbye(1);
    creation.await.unwrap().unwrap();
    assert_eq!(connections(&site), [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn writes_processed_before_goaway_are_not_repeated() {
    let (relay, site) = (Relay::default(), Site::silent());
    let maps = maps(&client(&relay, &site));
    let creation = tokio::spawn(async move { create(&maps).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let passage = relay.connection(0);
    passage.say_goodbye(1);
    passage.close();
    let error = creation.await.unwrap().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Transport(_)) && error.is_outcome_unknown());
    assert_eq!(site.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn on_a_dead_connection_a_read_succeeds_within_a_minute_and_a_write_fails() {
    let (relay, site) = (Relay::default(), site());
    let maps = maps(&client(&relay, &site));
    maps.get("a").await.unwrap();
    relay.connection(0).die();
    let start = Instant::now();
    maps.get("a").await.unwrap();
    assert!(start.elapsed() <= Duration::from_secs(60));
    assert_eq!(connections(&site), [0, 1]);

    relay.connection(1).die();
    let start = Instant::now();
    let error = create(&maps).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Transport(_)) && error.is_outcome_unknown());
    assert!(start.elapsed() <= Duration::from_secs(60));
    assert_eq!(site.seen().len(), 2);
    maps.get("a").await.unwrap();
    assert_eq!(connections(&site), [0, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_answers_only_pings_gets_no_requests_after_one_deadline() {
    for (deadlines, seconds) in [
        (Deadlines::default(), 65),
        (Deadlines::default().total(Duration::from_secs(5)), 5),
    ] {
        let (relay, site) = (Relay::default(), site());
        let maps = maps(&client(&relay, &site).with_own_connections(deadlines));
        maps.get("a").await.unwrap();
        tokio::time::sleep(Duration::from_secs(600)).await;
        relay.connection(0).swallow();
        let start = Instant::now();
        let error = maps.get("a").await.unwrap_err();
        let &ErrorKind::Timeout { deadline, .. } = error.kind() else {
            panic!("{error}");
        };
        assert_ne!(deadline, Deadline::Idle);
        assert_eq!(start.elapsed().as_secs(), seconds);
        maps.get("a").await.unwrap();
        assert_eq!(connections(&site), [0, 1]);
        assert_eq!(start.elapsed().as_secs(), seconds);
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_watch_that_is_replaced_gets_another_connection() {
    let (relay, site) = (Relay::default(), site());
    let maps = maps(&client(&relay, &site));
    let mut silent = watch(&maps).await;
    relay.connection(0).swallow();
    let noticed = timeout(Duration::from_secs(150), silent.next()).await;
    assert!(noticed.is_err(), "pings are answered: {noticed:?}");
    drop(silent);
    let start = Instant::now();
    watch(&maps).await;
    assert_eq!(connections(&site), [0, 1]);
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_request_dropped_early_leaves_a_healthy_connection_in_use() {
    let site = Site::new(|seen| match seen.uri.ends_with("/slow") {
        true => endless(""),
        false => json(200, OBJECT),
    });
    let relay = Relay::default();
    let maps = maps(&client(&relay, &site));
    for _ in 0..5 {
        let given_up = timeout(Duration::from_secs(10), maps.get("slow")).await;
        assert!(given_up.is_err());
        maps.get("a").await.unwrap();
    }
    assert_eq!(site.connections(), 1);
}
