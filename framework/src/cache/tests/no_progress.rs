//! Servers that could make an informer send requests without end: the informer sends them with growing pauses,
//! reports the failure, and recovers. The servers answer at once, so that the clock moves only while the informer
//! pauses.

use super::*;
use crate::{
    cache::fake::{ListHabit, StreamFault, Streaming, WatchHabit, expired},
    metrics::Metrics,
};

/// An informer with one object whose server takes on a habit, and how many requests arrived in each of the next
/// minutes.
async fn minutes_of(
    habit: impl FnOnce(&FakeServer),
    minutes: usize,
) -> (FakeServer, Running, Metrics, Vec<usize>) {
    let (server, metrics) = (FakeServer::new(), Metrics::new());
    server.put("a");
    let running = Running::of(server.informer_with(&metrics));
    seconds(10).await;
    assert!(running.informer.has_synced());
    server.requests();
    habit(&server);
    let mut counts = Vec::new();
    for _ in 0..minutes {
        seconds(60).await;
        counts.push(server.requests().len());
    }
    (server, running, metrics, counts)
}

/// The informer reports the failure, has reported it all the time, and recovers.
async fn reports_and_recovers(server: &FakeServer, running: &Running, told: &str) {
    let status = running.informer.status();
    let text = status.last_error.clone().unwrap_or_default();
    assert!(text.contains(told), "{text}");
    let unhealthy_for = status.unhealthy_for.unwrap();
    assert!(
        unhealthy_for > Duration::from_secs(150),
        "{unhealthy_for:?}"
    );
    server.heal();
    server.put("later");
    seconds(70).await;
    let status = running.informer.status();
    assert_eq!(
        (status.to_string(), status.unhealthy_for),
        ("synced".into(), None)
    );
    assert!(running.get("later").is_some());
}

#[tokio::test(start_paused = true)]
async fn watches_that_end_after_a_bookmark_are_reopened_with_growing_pauses() {
    let habit = |server: &FakeServer| server.watch_habit(WatchHabit::Bookmark);
    let (server, running, _, counts) = minutes_of(habit, 4).await;
    assert!(
        counts[0] <= 12 && counts[1..].iter().all(|count| *count <= 3),
        "{counts:?}"
    );
    reports_and_recovers(&server, &running, "ends each watch").await;
}

#[tokio::test(start_paused = true)]
async fn watches_that_end_after_a_change_are_reopened_once_a_second_and_deliver_the_changes() {
    let habit = |server: &FakeServer| server.watch_habit(WatchHabit::Change);
    let (server, running, _, counts) = minutes_of(habit, 4).await;
    assert!(
        counts.iter().all(|count| (29..=66).contains(count)),
        "{counts:?}"
    );
    let changing = running.get("changing").unwrap();
    assert_eq!(changing.metadata.resource_version, Some(server.version()));
    reports_and_recovers(&server, &running, "ends each watch").await;
}

#[tokio::test(start_paused = true)]
async fn a_history_that_is_always_forgotten_leads_to_lists_with_growing_pauses() {
    let habit = |server: &FakeServer| server.watch_habit(WatchHabit::Expired);
    let (server, running, metrics, counts) = minutes_of(habit, 4).await;
    // A list and a watch each time.
    assert!(
        counts[0] <= 14 && counts[1..].iter().all(|count| *count <= 6),
        "{counts:?}"
    );
    assert!(metrics.informer("", "v1", "configmaps").errors.get() > 0);
    reports_and_recovers(&server, &running, "cannot watch configmaps").await;
}

#[tokio::test(start_paused = true)]
async fn an_event_that_repeats_without_end_ends_the_watch() {
    let habit = |server: &FakeServer| server.watch_habit(WatchHabit::Repeats);
    let (server, running, _, counts) = minutes_of(habit, 4).await;
    assert!(counts[0] <= 12 && counts[0] > 1, "{counts:?}");
    assert!(counts[1..].iter().all(|count| *count <= 3), "{counts:?}");
    reports_and_recovers(
        &server,
        &running,
        "repeats one resource version without end",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_does_not_end_fails_and_is_retried_with_growing_pauses() {
    for (habit, per_list, told) in [
        (ListHabit::SameToken, 2, "the same continue token twice"),
        (
            ListHabit::SameObject,
            101,
            "100 pages in a row brought no new object",
        ),
        (ListHabit::ForgetsLaterPages, 8, "too old resource version"),
    ] {
        let lists = |server: &FakeServer| {
            server.list_habit(habit);
            server.advance();
            server.compact();
            server.close_watches();
        };
        let (server, running, _, counts) = minutes_of(lists, 4).await;
        // The watch that expired, and seven lists if the jitter is small.
        assert!(counts[0] <= 1 + 7 * per_list, "{habit:?} {counts:?}");
        assert!(
            counts[1..].iter().all(|count| *count <= 3 * per_list),
            "{habit:?} {counts:?}"
        );
        assert!(
            running.get("a").is_some(),
            "an unfinished list deletes nothing"
        );
        reports_and_recovers(&server, &running, told).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_streamed_list_that_repeats_an_object_is_read_in_pages() {
    let server = FakeServer::new().streaming(Streaming::Served);
    server.put("a");
    server.fail_streams([StreamFault::Repeats]);
    let running = Running::of(server.informer());
    for _ in 0..14 {
        seconds(1).await;
        server.repeat_last_event();
        assert!(!running.informer.has_synced());
    }
    for _ in 0..3 {
        seconds(1).await;
        server.repeat_last_event();
    }
    assert!(running.informer.has_synced());
    let requests = server.requests();
    assert_eq!(requests[..2], ["stream from nothing", "list limit 500"]);
}

#[tokio::test(start_paused = true)]
async fn failing_watches_are_logged_once_however_often_they_end() {
    let habit = |server: &FakeServer| server.watch_habit(WatchHabit::Change);
    let lines = Lines::default();
    let _log = tracing::subscriber::set_default(lines.clone());
    // With a single subscriber, tracing lets the thread that comes first disable a log line for all threads.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    tracing::callsite::rebuild_interest_cache();
    let (_server, running, ..) = minutes_of(habit, 2).await;
    assert!(running.informer.status().last_error.is_some());
    assert_eq!(lines.count(), 1);
}

/// Counts log lines of level INFO and above.
#[derive(Clone, Default)]
struct Lines(Arc<std::sync::atomic::AtomicUsize>);

impl Lines {
    fn count(&self) -> usize {
        self.0.load(std::sync::atomic::Ordering::SeqCst)
    }
}

impl tracing::Subscriber for Lines {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::INFO
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let is_ours = event.metadata().target().contains("cache");
        self.0
            .fetch_add(usize::from(is_ours), std::sync::atomic::Ordering::SeqCst);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_because_the_source_has_a_list_did_not_fail() {
    let server = FakeServer::new();
    let (running, _recorded) = Running::synced(&server).await;
    server.has_a_list();
    server.end_watches(expired);
    run_ready_tasks().await;
    assert_eq!(server.requests().len(), 2, "a list without a pause");
    // One after the other, and nobody would stop this.
    server.end_watches(expired);
    run_ready_tasks().await;
    assert_eq!(server.requests().len(), 0, "a pause");
    for _ in 0..10 {
        seconds(4).await;
        server.end_watches(expired);
    }
    assert_eq!(running.informer.status().last_error, None);
}
