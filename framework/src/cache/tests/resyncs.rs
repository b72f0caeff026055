//! What a listener that wants to look again can rely on.

use std::collections::BTreeSet;

use tokio::time::Instant;

use super::{
    heard::{Heard, Taken},
    *,
};
use crate::{
    cache::{Informers, InformersBuilder, ListenerOptions},
    client::{Client, Config},
    metrics::Metrics,
    resource::ApiResource,
};

fn every(period: u64) -> ListenerOptions {
    ListenerOptions::new().resync(Duration::from_secs(period))
}

/// Informers whose sources are given to them.
pub(super) fn informers(build: impl FnOnce(InformersBuilder) -> InformersBuilder) -> Informers {
    let config = Config::new("http://127.0.0.1:1".parse().unwrap());
    let client = Client::new(config).unwrap();
    build(Informers::builder(client, Metrics::new())).build()
}

fn names(lines: &[String]) -> BTreeSet<&str> {
    lines.iter().map(String::as_str).collect()
}

#[tokio::test(start_paused = true)]
async fn who_asks_hears_each_object_once_in_a_period_and_the_others_nothing() {
    let server = FakeServer::new();
    ["a", "b", "c", "d"]
        .iter()
        .for_each(|name| server.put(name));
    server.put_bad("bad");
    let running = Running::of(server.informer());
    let (asks, rarely) = (
        Heard::with(&running.informer, every(100)),
        Heard::with(&running.informer, every(1000)),
    );
    let (silent, zero) = (
        Heard::at(&running.informer),
        Heard::with(&running.informer, every(0)),
    );
    settle().await;
    for heard in [&asks, &rarely, &silent, &zero] {
        assert_eq!(heard.lines().len(), 5);
    }
    server.requests();
    seconds(89).await;
    assert_eq!(asks.lines(), [] as [&str; 0]);
    seconds(112).await;
    let lines = asks.lines();
    let again = ["resync a", "resync b", "resync c", "resync d"];
    assert_eq!(names(&lines), BTreeSet::from(again), "{lines:?}");
    assert!((4..=8).contains(&lines.len()), "{lines:?}");
    for quiet in [&rarely, &silent, &zero] {
        assert_eq!(quiet.lines(), [] as [&str; 0]);
    }
    assert_eq!(asks.wrong(), [] as [&str; 0]);
    let lists = server.requests();
    assert!(
        lists.iter().all(|one| one.starts_with("watch")),
        "{lists:?}"
    );
    running.cancel.cancel();
    running.task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_resync_of_many_comes_bit_by_bit_and_lets_changes_pass() {
    let server = FakeServer::new();
    (0..500).for_each(|number| server.put(&format!("o{number:04}")));
    let running = Running::of(server.informer());
    settle().await;
    let mut stream = Taken::with(&running.informer, every(100));
    assert!(running.informer.synced().await);
    settle().await;
    stream.take(usize::MAX);
    let (start, mut most, mut all) = (Instant::now(), 0, 0);
    while all < 500 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let count = stream.take(usize::MAX).len();
        (most, all) = (most.max(count), all + count);
        assert!(start.elapsed() < Duration::from_secs(210));
    }
    assert!(most <= 4, "{most} of 500 in half a second");
    server.put("new");
    settle().await;
    assert!(stream.take(usize::MAX).contains(&"added new".to_owned()));
    assert_eq!(stream.wrong(), [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_kind_has_a_period_for_listeners_that_do_not_say_their_own() {
    let server = FakeServer::new();
    server.put("a");
    let period = Duration::from_secs(100);
    let informers = informers(|builder| builder.resync::<ConfigMap>(period));
    let informer = informers.of_source(
        ApiResource::of::<ConfigMap>(),
        Default::default(),
        move |_| server.clone(),
    );
    let (kinds, own) = (Heard::at(&informer), Heard::with(&informer, every(0)));
    let cancel = CancellationToken::new();
    informers.start(&cancel);
    seconds(201).await;
    assert!(kinds.lines().contains(&"resync a".to_owned()));
    assert_eq!(own.lines(), ["initial a"]);
}
