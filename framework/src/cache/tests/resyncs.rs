//! What a listener with resyncs can rely on.

use std::collections::BTreeSet;

use tokio::time::Instant;

use super::{
    recording::{RecordingListener, RecordingStream},
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

/// Informers whose sources the tests provide.
pub(super) fn informers(build: impl FnOnce(InformersBuilder) -> InformersBuilder) -> Informers {
    let config = Config::new("http://127.0.0.1:1".parse().unwrap());
    let client = Client::new(config).unwrap();
    build(Informers::builder(client, Metrics::new())).build()
}

fn names(lines: &[String]) -> BTreeSet<&str> {
    lines.iter().map(String::as_str).collect()
}

#[tokio::test(start_paused = true)]
async fn a_listener_with_a_resync_receives_each_object_once_in_a_period_and_the_others_receive_nothing()
 {
    let server = FakeServer::new();
    ["a", "b", "c", "d"]
        .iter()
        .for_each(|name| server.put(name));
    server.put_undecodable("bad");
    let running = Running::of(server.informer());
    let (asks, rarely) = (
        RecordingListener::with(&running.informer, every(100)),
        RecordingListener::with(&running.informer, every(1000)),
    );
    let (silent, zero) = (
        RecordingListener::at(&running.informer),
        RecordingListener::with(&running.informer, every(0)),
    );
    run_ready_tasks().await;
    for recorded in [&asks, &rarely, &silent, &zero] {
        assert_eq!(recorded.lines().len(), 5);
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
async fn a_resync_of_many_objects_comes_in_parts_and_does_not_delay_changes() {
    let server = FakeServer::new();
    (0..500).for_each(|number| server.put(&format!("o{number:04}")));
    let running = Running::of(server.informer());
    run_ready_tasks().await;
    let mut stream = RecordingStream::with(&running.informer, every(100));
    assert!(running.informer.synced().await);
    run_ready_tasks().await;
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
    run_ready_tasks().await;
    assert!(stream.take(usize::MAX).contains(&"added new".to_owned()));
    assert_eq!(stream.wrong(), [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_resync_period_of_a_kind_is_the_default_of_its_listeners() {
    let server = FakeServer::new();
    server.put("a");
    let period = Duration::from_secs(100);
    let informers = informers(|builder| builder.resync::<ConfigMap>(period));
    let informer = informers.of_source(
        ApiResource::of::<ConfigMap>(),
        Default::default(),
        move |_| server.clone(),
    );
    let (kinds, own) = (
        RecordingListener::at(&informer),
        RecordingListener::with(&informer, every(0)),
    );
    let cancel = CancellationToken::new();
    informers.start(&cancel);
    seconds(201).await;
    assert!(kinds.lines().contains(&"resync a".to_owned()));
    assert_eq!(own.lines(), ["initial a"]);
}
