//! The requests of a reflector, one by one.

use tokio::time::Instant;

use super::*;
use crate::cache::fake::{Answer, broken, expired, refused, status, throttled};

#[tokio::test(start_paused = true)]
async fn the_first_list_accepts_any_version_in_pages_and_the_watch_starts_there() {
    let server = FakeServer::new();
    server.put("a");
    let running = Running::of(server.informer());
    run_ready_tasks().await;
    assert_eq!(server.requests(), ["list at 0 limit 500", "watch from 1"]);
    assert_eq!(running.informer.status().mode, InformerMode::Watching);
}

#[tokio::test(start_paused = true)]
async fn a_server_without_watch_cache_is_read_page_by_page() {
    let server = FakeServer::new();
    server.without_watch_cache(500);
    (0..1200).for_each(|number| server.put(&format!("o{number:04}")));
    let running = Running::of(server.informer());
    run_ready_tasks().await;
    let expected = [
        "list at 0 limit 500",
        "list limit 500 continue",
        "list limit 500 continue",
        "watch from 1200",
    ];
    assert_eq!(server.requests(), expected);
    assert_eq!(running.informer.lister().len(), 1200);
}

#[tokio::test(start_paused = true)]
async fn a_state_that_is_forgotten_between_two_pages_is_listed_again_without_pages() {
    let server = FakeServer::new();
    server.without_watch_cache(500);
    (0..600).for_each(|number| server.put(&format!("o{number:04}")));
    server.answer_lists([Answer::Pass, Answer::Fail(expired())]);
    let running = Running::of(server.informer());
    run_ready_tasks().await;
    let expected = [
        "list at 0 limit 500",
        "list limit 500 continue",
        "list at 600",
        "watch from 600",
    ];
    assert_eq!(server.requests(), expected);
    assert_eq!(running.informer.lister().len(), 600);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ended_is_reopened_at_once_at_its_position_without_a_list() {
    let server = FakeServer::new();
    server.put("a");
    let (_running, _) = Running::synced(&server).await;
    seconds(5).await;
    server.put("b");
    run_ready_tasks().await;
    let before = Instant::now();
    server.close_watches();
    run_ready_tasks().await;
    assert_eq!(server.requests(), ["watch from 2"]);
    server.end_watches(broken);
    seconds(5).await;
    server.end_watches(broken);
    assert!(before.elapsed().as_secs() < 6);
    run_ready_tasks().await;
    assert_eq!(server.open_watches(), 1);
    let requests = server.requests();
    assert!(
        requests.iter().all(|line| line == "watch from 2"),
        "{requests:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_ends_watches_after_five_to_ten_minutes_and_no_list_follows() {
    let server = FakeServer::new();
    let (_running, _) = Running::synced(&server).await;
    for _ in 0..60 {
        seconds(60).await;
        server.bookmark();
    }
    let requests = server.requests();
    assert!((6..=12).contains(&requests.len()), "{requests:?}");
    assert!(
        requests.iter().all(|line| line == "watch from 0"),
        "{requests:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_bookmark_moves_the_position() {
    let server = FakeServer::new();
    let (running, recorded) = Running::synced(&server).await;
    seconds(5).await;
    server.advance();
    server.bookmark();
    run_ready_tasks().await;
    server.close_watches();
    run_ready_tasks().await;
    assert_eq!(server.requests(), ["watch from 1"]);
    let snapshot = running.informer.lister().snapshot();
    assert_eq!(snapshot.resource_version(), Some("1"));
    assert!(recorded.lines().is_empty());
}

#[tokio::test(start_paused = true)]
async fn after_an_expired_version_the_newest_one_is_listed_at_once() {
    for gone in [
        expired(),
        status(410, "Gone", ""),
        status(504, "Timeout", "Too large resource version: 3, current: 1"),
    ] {
        let server = FakeServer::new();
        server.answer_lists([Answer::Fail(gone)]);
        let _running = Running::of(server.informer());
        run_ready_tasks().await;
        let expected = ["list at 0 limit 500", "list limit 500", "watch from 0"];
        assert_eq!(server.requests(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_expired_version_leads_to_a_list_when_the_watch_is_opened_and_within_the_stream() {
    for in_stream in [false, true] {
        let server = FakeServer::new();
        if in_stream {
            server.expire_in_stream();
        }
        server.put("a");
        let (_running, recorded) = Running::synced(&server).await;
        seconds(5).await;
        server.close_watches();
        server.put("b");
        server.compact();
        seconds(3).await;
        let expected = ["watch from 1", "list at 1", "watch from 2"];
        assert_eq!(server.requests(), expected);
        assert_eq!(recorded.lines(), ["added b"]);
    }
}

#[tokio::test(start_paused = true)]
async fn throttling_and_refused_connections_lead_to_pauses_and_not_to_a_list() {
    let server = FakeServer::new();
    let (running, _) = Running::synced(&server).await;
    seconds(5).await;
    server.fail_watches([throttled(0), refused(), throttled(0), refused()]);
    server.close_watches();
    run_ready_tasks().await;
    assert_eq!(server.requests(), ["watch from 0"]);
    assert_eq!(running.informer.status().mode, InformerMode::BackingOff);
    seconds(60).await;
    assert_eq!(server.requests(), ["watch from 0"; 4]);
    assert_eq!(running.informer.status().last_error, None);
}

#[tokio::test(start_paused = true)]
async fn throttling_within_a_stream_leads_to_a_pause_and_not_to_a_list() {
    let server = FakeServer::new();
    let (_running, _) = Running::synced(&server).await;
    server.end_watches(|| throttled(50));
    seconds(49).await;
    assert!(
        server.requests().is_empty(),
        "the pause is at least what the server asks for"
    );
    seconds(2).await;
    assert_eq!(server.requests(), ["watch from 0"]);
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_the_server_asks_for_is_at_most_a_minute() {
    let server = FakeServer::new();
    let day = || throttled(86_400);
    server.answer_lists([Answer::Fail(day())]);
    server.fail_watches([day()]);
    let running = Running::of(server.informer());
    seconds(59).await;
    assert_eq!(server.requests().len(), 1);
    seconds(2).await;
    assert_eq!(
        server.requests().len(),
        2,
        "the list succeeded, and the watch was refused"
    );
    seconds(60).await;
    assert_eq!(server.requests(), ["watch from 0"]);
    seconds(5).await;
    server.end_watches(|| throttled(86_400));
    seconds(62).await;
    assert_eq!(server.requests(), ["watch from 0"]);
    assert_eq!(running.informer.status().mode, InformerMode::Watching);
}

#[tokio::test(start_paused = true)]
async fn an_empty_watch_that_ends_at_once_leads_to_a_pause_and_a_list() {
    let server = FakeServer::new();
    let (_running, _) = Running::synced(&server).await;
    server.close_watches();
    run_ready_tasks().await;
    assert!(server.requests().is_empty());
    seconds(2).await;
    assert_eq!(server.requests(), ["list at 0 limit 500", "watch from 0"]);
}

#[tokio::test(start_paused = true)]
async fn failed_lists_are_retried_with_growing_pauses() {
    let server = FakeServer::new();
    let failure = || Answer::Fail(status(500, "InternalError", "oops"));
    server.answer_lists((0..8).map(|_| failure()));
    let running = Running::of(server.informer());
    let (mut times, start) = (Vec::new(), Instant::now());
    while !running.informer.has_synced() {
        run_ready_tasks().await;
        let lists = server.requests();
        times.extend(
            lists
                .iter()
                .filter(|line| line.starts_with("list"))
                .map(|_| start.elapsed()),
        );
    }
    let pauses: Vec<f64> = times
        .windows(2)
        .map(|two| (two[1] - two[0]).as_secs_f64())
        .collect();
    for (pause, least) in pauses
        .iter()
        .zip([0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0])
    {
        assert!(
            (least - 0.01..least * 2.0 + 0.01).contains(pause),
            "{pauses:?}"
        );
    }
    assert_eq!(pauses.len(), 8);
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_is_replaced_and_nothing_is_missed() {
    let server = FakeServer::new();
    let (_running, recorded) = Running::synced(&server).await;
    server.mute_watches();
    server.put("a");
    seconds(149).await;
    assert!(server.requests().is_empty());
    seconds(2).await;
    assert_eq!(server.requests(), ["watch from 0"]);
    assert_eq!(recorded.lines(), ["added a"]);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_outlives_its_timeout_is_replaced() {
    let server = FakeServer::new();
    server.ignore_timeouts();
    let (_running, _) = Running::synced(&server).await;
    for _ in 0..616 {
        seconds(1).await;
        server.bookmark();
    }
    assert!(!server.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_the_informer_at_once_whatever_it_does() {
    let (listing, pausing, watching) = (FakeServer::new(), FakeServer::new(), FakeServer::new());
    listing.answer_lists([Answer::Hang]);
    pausing.answer_lists([Answer::Fail(throttled(3600))]);
    for (server, mode) in [
        (listing, InformerMode::Listing),
        (pausing, InformerMode::BackingOff),
        (watching, InformerMode::Watching),
    ] {
        let running = Running::of(server.informer());
        run_ready_tasks().await;
        assert_eq!(running.informer.status().mode, mode);
        let before = Instant::now();
        running.cancel.cancel();
        running.task.await.unwrap();
        assert_eq!(before.elapsed(), Duration::ZERO);
        assert_eq!(server.open_watches(), 0);
        assert_eq!(running.informer.status().mode, InformerMode::Stopped);
    }
}
