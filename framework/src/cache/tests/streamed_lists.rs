//! Streamed lists: their requests, their fallbacks, and that a stream that failed halfway leaves nothing behind.

use super::*;
use crate::{
    cache::{
        ListBudget,
        fake::{
            Answer, StreamFault, Streaming, broken, expired, forbidden, half_a_frame, refused,
            status, throttled, unsupported,
        },
    },
    client::WatchEvent,
    metrics::Metrics,
};

fn served() -> FakeServer {
    let server = FakeServer::new().streaming(Streaming::Served);
    ["a", "b", "c"]
        .into_iter()
        .for_each(|name| server.put(name));
    server
}

async fn lose_history(server: &FakeServer) {
    server.advance();
    server.compact();
    server.end_watches(expired);
}

#[tokio::test(start_paused = true)]
async fn a_list_is_streamed_and_the_stream_goes_on_as_the_watch() {
    let server = served();
    let (running, recorded) = Running::synced(&server).await;
    assert_eq!(running.informer.status().mode, InformerMode::Watching);
    server.put("d");
    run_ready_tasks().await;
    assert_eq!(recorded.lines(), ["added d"]);
    assert!(server.requests().is_empty());
    seconds(5).await;
    server.close_watches();
    run_ready_tasks().await;
    assert_eq!(server.requests(), ["watch from 4"]);
    lose_history(&server).await;
    seconds(2).await;
    assert_eq!(server.requests(), ["stream from 4"], "nothing older");
}

#[tokio::test(start_paused = true)]
async fn the_first_streamed_list_is_of_the_newest_state_in_any_order() {
    let server = FakeServer::new().streaming(Streaming::Served);
    ["c", "b", "a"]
        .into_iter()
        .for_each(|name| server.put(name));
    let running = Running::of(server.informer());
    run_ready_tasks().await;
    assert_eq!(server.requests(), ["stream from nothing"]);
    let snapshot = running.informer.lister().snapshot();
    assert_eq!(
        (snapshot.len(), snapshot.resource_version()),
        (3, Some("3"))
    );
}

#[tokio::test(start_paused = true)]
async fn an_empty_collection_syncs_with_the_mark() {
    let server = FakeServer::new().streaming(Streaming::Served);
    let _ = Running::synced(&server).await;
}

#[tokio::test(start_paused = true)]
async fn changes_arrive_as_they_are_streamed_and_deletions_after_the_mark() {
    let server = served();
    let (_running, recorded) = Running::synced(&server).await;
    seconds(5).await;
    server.close_watches();
    server.delete("b");
    server.put("c");
    server.put("d");
    server.fail_streams([StreamFault::Unmarked]);
    lose_history(&server).await;
    seconds(3).await;
    let lines = recorded.lines();
    assert_eq!(
        lines,
        ["updated c", "added d"],
        "the mark has not arrived yet"
    );
    seconds(14).await;
    assert_eq!(recorded.lines(), ["vanished b"]);
    assert_eq!(recorded.folded(), server.objects());
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ended_before_its_mark_leaves_no_objects_behind() {
    for fault in [
        StreamFault::Closes(2),
        StreamFault::Fails(2, broken),
        StreamFault::Fails(2, expired),
        StreamFault::Fails(2, half_a_frame),
        StreamFault::Fails(2, || throttled(5)),
        StreamFault::Mute(2),
    ] {
        let server = served();
        server.fail_streams([fault.clone()]);
        // Later requests reach a server without `a`.
        let running = Running::of(server.informer());
        let recorded = RecordingListener::at(&running.informer);
        run_ready_tasks().await;
        server.delete("a");
        server.put("d");
        seconds(20).await;
        assert!(running.informer.has_synced(), "{fault:?}");
        assert_eq!(recorded.folded(), server.objects(), "{fault:?}");
        assert!(running.get("a").is_none(), "{fault:?}");
        assert_eq!(recorded.wrong(), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_stream_that_ends_at_once_is_not_requested_twice() {
    let server = served();
    server.fail_streams([StreamFault::Closes(0)]);
    let _running = Running::of(server.informer());
    run_ready_tasks().await;
    let expected = ["stream from nothing", "list at 0 limit 500", "watch from 3"];
    assert_eq!(server.requests(), expected);
}

#[tokio::test(start_paused = true)]
async fn after_a_stream_that_failed_halfway_no_older_state_is_requested() {
    let server = served();
    server.fail_streams([StreamFault::Closes(2), StreamFault::Closes(1)]);
    server.answer_stale(10);
    let running = Running::of(server.informer());
    let recorded = RecordingListener::at(&running.informer);
    run_ready_tasks().await;
    let expected = [
        "stream from nothing",
        "stream from nothing",
        "list limit 500",
        "watch from 3",
    ];
    assert_eq!(server.requests(), expected);
    assert_eq!(recorded.wrong(), Vec::<String>::new());
    assert_eq!(running.informer.lister().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_stream_is_listed_at_once_and_streaming_is_not_tried_again_for_a_while()
 {
    let server = FakeServer::new().streaming(Streaming::Refused(unsupported));
    server.put("a");
    let running = Running::of(server.informer());
    run_ready_tasks().await;
    assert!(running.informer.has_synced());
    let expected = ["stream from nothing", "list at 0 limit 500", "watch from 1"];
    assert_eq!(server.requests(), expected);
    assert_eq!(running.informer.status().last_error, None);

    lose_history(&server).await;
    seconds(3).await;
    assert_eq!(server.requests(), ["list at 1", "watch from 2"]);

    // The server supports streaming by now.
    let server = server.streaming(Streaming::Served);
    for _ in 0..31 {
        seconds(60).await;
        server.bookmark();
    }
    server.requests();
    lose_history(&server).await;
    seconds(3).await;
    assert_eq!(server.requests(), ["stream from 2"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_sends_the_mark_is_listed_after_a_while_however_busy_it_is() {
    for busy in [false, true] {
        let server = FakeServer::new().streaming(Streaming::Ignored);
        ["a", "b"].into_iter().for_each(|name| server.put(name));
        let running = Running::of(server.informer());
        let recorded = RecordingListener::at(&running.informer);
        for _ in 0..14 {
            seconds(1).await;
            if busy {
                server.put("a");
                server.bookmark();
            }
            assert!(!running.informer.has_synced());
        }
        seconds(2).await;
        server.put("b");
        run_ready_tasks().await;
        assert!(running.informer.has_synced());
        let requests = server.requests();
        let version = if busy {
            "watch from 16"
        } else {
            "watch from 2"
        };
        let expected = ["stream from nothing", "list limit 500", version];
        assert_eq!(
            requests, expected,
            "the newest state, because some objects were delivered already"
        );
        assert_eq!(recorded.folded(), server.objects());
        lose_history(&server).await;
        seconds(3).await;
        let requests = server.requests();
        assert!(requests[0].starts_with("list at"), "{requests:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_throttled_or_unconnected_stream_is_retried_and_not_replaced_by_a_list() {
    let server = served();
    server.fail_watches([throttled(3), refused(), broken()]);
    let running = Running::of(server.informer());
    run_ready_tasks().await;
    let text = running.informer.status().last_error.unwrap();
    assert!(text.starts_with("cannot list configmaps"), "{text}");
    seconds(60).await;
    assert_eq!(server.requests(), ["stream from nothing"; 4]);
    assert_eq!(running.informer.status().last_error, None);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_at_streaming_is_listed_and_streaming_is_tried_again_with_the_next_list()
 {
    let server = served();
    server.fail_watches([status(500, "InternalError", "oops")]);
    let (_running, _) = Running::synced(&server).await;
    lose_history(&server).await;
    seconds(3).await;
    assert_eq!(server.requests(), ["stream from 3"]);
}

#[tokio::test(start_paused = true)]
async fn after_an_unavailable_version_the_newest_one_is_streamed_at_once() {
    for gone in [
        expired(),
        status(504, "Timeout", "Too large resource version: 9, current: 1"),
    ] {
        let server = served();
        let (_running, _) = Running::synced(&server).await;
        server.fail_watches([expired(), gone]);
        seconds(5).await;
        server.close_watches();
        seconds(3).await;
        let expected = ["watch from 3", "stream from 3", "stream from nothing"];
        assert_eq!(server.requests(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_watch_is_reported_at_once_and_lists_keep_the_cache_fresh() {
    let server = FakeServer::new().streaming(Streaming::Refused(forbidden));
    server.put("a");
    server.fail_watches((0..40).map(|_| forbidden()));
    let running = Running::of(server.informer());
    let recorded = RecordingListener::at(&running.informer);
    run_ready_tasks().await;
    assert!(running.informer.has_synced(), "the user may list");
    let status = running.informer.status();
    assert!(status.forbidden);
    let text = status.to_string();
    assert!(
        text.starts_with("cannot watch configmaps in all namespaces: "),
        "{text}"
    );

    let mut lists = Vec::new();
    for number in 0..10 {
        server.put(&format!("b{number}"));
        seconds(61).await;
        assert_eq!(recorded.folded(), server.objects(), "the cache stays fresh");
        assert!(running.informer.status().forbidden, "the status reports it");
        let requests = server.requests();
        lists.push(
            requests
                .iter()
                .filter(|line| line.starts_with("list"))
                .count(),
        );
    }
    assert!(
        lists[4..].iter().all(|count| *count <= 3),
        "paced: {lists:?}"
    );

    server.heal();
    seconds(61).await;
    assert_eq!(running.informer.status().to_string(), "synced");
}

#[test]
fn an_object_without_a_name_has_no_delta() {
    let event = WatchEvent::Added(ConfigMap::default());
    assert!(crate::cache::reflector::delta(event).is_none());
}

#[tokio::test(start_paused = true)]
async fn the_metrics_show_what_an_informer_does_and_end_with_it() {
    let metrics = Metrics::new();
    let server = FakeServer::new().streaming(Streaming::Refused(unsupported));
    server.put("a");
    server.put_undecodable("b");
    let running = Running::of(server.informer_with(&metrics));
    run_ready_tasks().await;
    server.put("a");
    run_ready_tasks().await;
    let has = |lines: &[&str]| {
        let text = metrics.encode();
        for line in lines {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
    };
    has(&[
        "pilothouse_informer_objects{resource=\"configmaps\"} 2\n",
        "pilothouse_informer_undecodable_objects{resource=\"configmaps\"} 1\n",
        "pilothouse_informer_open_watches{resource=\"configmaps\"} 1\n",
        "pilothouse_informer_waiting_lists{resource=\"configmaps\"} 0\n",
        "pilothouse_informer_lists_total{reason=\"initial\",resource=\"configmaps\"} 1\n",
        "pilothouse_informer_list_fallbacks_total{reason=\"unsupported\",resource=\"configmaps\"} 1\n",
        "informer_store_resource_version{group=\"\",name=\"\",resource=\"configmaps\",version=\"v1\"} 3\n",
        "informer_processing_latency_seconds_count{group=\"\",name=\"\",resource=\"configmaps\",version=\"v1\"} 2\n",
    ]);
    running.cancel.cancel();
    running.task.await.unwrap();
    assert!(!metrics.encode().contains("configmaps"));
}

#[tokio::test(start_paused = true)]
async fn the_budget_limits_lists_at_the_same_time_and_a_hanging_list_does_not_block_others() {
    let metrics = Metrics::new();
    let budget = ListBudget::new(2);
    let servers: Vec<FakeServer> = (0..5).map(|_| FakeServer::new()).collect();
    let start = |server: &FakeServer| {
        server.answer_lists([Answer::Hang]);
        Running::of(server.informer_of(&metrics, budget.clone()))
    };
    let running: Vec<Running> = servers.iter().map(start).collect();
    let asked = || {
        servers
            .iter()
            .filter(|one| !one.requests().is_empty())
            .count()
    };
    let waiting = || metrics.informer("", "v1", "configmaps").waiting_lists.get();
    run_ready_tasks().await;
    assert_eq!((asked(), waiting()), (2, 3));
    running[0].cancel.cancel();
    run_ready_tasks().await;
    assert_eq!((asked(), waiting()), (1, 2), "its permit is free at once");
    seconds(29).await;
    assert_eq!(asked(), 0);
    seconds(2).await;
    assert_eq!((asked(), waiting()), (2, 0));
}
