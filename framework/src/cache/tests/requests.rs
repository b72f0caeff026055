//! What a reflector asks for, request by request.

use tokio::time::Instant;

use super::*;
use crate::cache::fake::{Answer, broken, expired, refused, status, throttled};

#[tokio::test(start_paused = true)]
async fn it_lists_what_is_at_hand_in_pages_and_watches_from_there() {
    let server = FakeServer::new();
    server.put("a");
    let running = Running::of(server.informer());
    settle().await;
    assert_eq!(server.requests(), ["list at 0 limit 500", "watch from 1"]);
    assert_eq!(running.informer.status().mode, InformerMode::Watching);
}

#[tokio::test(start_paused = true)]
async fn a_server_without_watch_cache_is_read_page_by_page() {
    let server = FakeServer::new();
    server.without_watch_cache(500);
    (0..1200).for_each(|number| server.put(&format!("o{number:04}")));
    let running = Running::of(server.informer());
    settle().await;
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
async fn a_state_forgotten_between_two_pages_is_read_again_in_one() {
    let server = FakeServer::new();
    server.without_watch_cache(500);
    (0..600).for_each(|number| server.put(&format!("o{number:04}")));
    server.answer_lists([Answer::Pass, Answer::Fail(expired())]);
    let running = Running::of(server.informer());
    settle().await;
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
async fn a_watch_that_ended_goes_on_at_once_where_it_was_without_a_list() {
    let server = FakeServer::new();
    server.put("a");
    let (_running, _) = Running::synced(&server).await;
    seconds(5).await;
    server.put("b");
    settle().await;
    let before = Instant::now();
    server.close_watches();
    settle().await;
    assert_eq!(server.requests(), ["watch from 2"]);
    server.end_watches(broken);
    seconds(5).await;
    server.end_watches(broken);
    assert!(before.elapsed().as_secs() < 6);
    settle().await;
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
async fn a_bookmark_moves_the_place_to_go_on_from() {
    let server = FakeServer::new();
    let (running, heard) = Running::synced(&server).await;
    seconds(5).await;
    server.advance();
    server.bookmark();
    settle().await;
    server.close_watches();
    settle().await;
    assert_eq!(server.requests(), ["watch from 1"]);
    let snapshot = running.informer.lister().snapshot();
    assert_eq!(snapshot.resource_version(), Some("1"));
    assert!(heard.lines().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_version_that_expired_is_given_up_for_the_newest_at_once() {
    for gone in [
        expired(),
        status(410, "Gone", ""),
        status(504, "Timeout", "Too large resource version: 3, current: 1"),
    ] {
        let server = FakeServer::new();
        server.answer_lists([Answer::Fail(gone)]);
        let _running = Running::of(server.informer());
        settle().await;
        let expected = ["list at 0 limit 500", "list limit 500", "watch from 0"];
        assert_eq!(server.requests(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_expired_history_leads_to_a_list_at_the_open_and_in_the_stream() {
    for in_stream in [false, true] {
        let server = FakeServer::new();
        if in_stream {
            server.expire_in_stream();
        }
        server.put("a");
        let (_running, heard) = Running::synced(&server).await;
        seconds(5).await;
        server.close_watches();
        server.put("b");
        server.compact();
        seconds(3).await;
        let expected = ["watch from 1", "list at 1", "watch from 2"];
        assert_eq!(server.requests(), expected);
        assert_eq!(heard.lines(), ["added b"]);
    }
}

#[tokio::test(start_paused = true)]
async fn throttling_and_refused_connections_lead_to_pauses_and_not_to_a_list() {
    let server = FakeServer::new();
    let (running, _) = Running::synced(&server).await;
    seconds(5).await;
    server.fail_watches([throttled(0), refused(), throttled(0), refused()]);
    server.close_watches();
    settle().await;
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
        "what the server asks for is the least"
    );
    seconds(2).await;
    assert_eq!(server.requests(), ["watch from 0"]);
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_the_server_asks_for_is_a_minute_at_most() {
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
        "the list came, the watch was refused"
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
async fn a_watch_that_ends_at_once_with_nothing_leads_to_a_pause_and_a_list() {
    let server = FakeServer::new();
    let (_running, _) = Running::synced(&server).await;
    server.close_watches();
    settle().await;
    assert!(server.requests().is_empty());
    seconds(2).await;
    assert_eq!(server.requests(), ["list at 0 limit 500", "watch from 0"]);
}

#[tokio::test(start_paused = true)]
async fn lists_that_fail_are_tried_again_ever_more_slowly() {
    let server = FakeServer::new();
    let failure = || Answer::Fail(status(500, "InternalError", "oops"));
    server.answer_lists((0..8).map(|_| failure()));
    let running = Running::of(server.informer());
    let (mut times, start) = (Vec::new(), Instant::now());
    while !running.informer.has_synced() {
        settle().await;
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
async fn a_stream_that_fell_silent_is_replaced_and_nothing_is_missed() {
    let server = FakeServer::new();
    let (_running, heard) = Running::synced(&server).await;
    server.mute_watches();
    server.put("a");
    seconds(149).await;
    assert!(server.requests().is_empty());
    seconds(2).await;
    assert_eq!(server.requests(), ["watch from 0"]);
    assert_eq!(heard.lines(), ["added a"]);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_outlives_its_time_is_replaced() {
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
async fn cancelling_ends_it_at_once_whatever_it_does() {
    let (listing, pausing, watching) = (FakeServer::new(), FakeServer::new(), FakeServer::new());
    listing.answer_lists([Answer::Hang]);
    pausing.answer_lists([Answer::Fail(throttled(3600))]);
    for (server, mode) in [
        (listing, InformerMode::Listing),
        (pausing, InformerMode::BackingOff),
        (watching, InformerMode::Watching),
    ] {
        let running = Running::of(server.informer());
        settle().await;
        assert_eq!(running.informer.status().mode, mode);
        let before = Instant::now();
        running.cancel.cancel();
        running.task.await.unwrap();
        assert_eq!(before.elapsed(), Duration::ZERO);
        assert_eq!(server.open_watches(), 0);
        assert_eq!(running.informer.status().mode, InformerMode::Stopped);
    }
}
