//! When the framework asks the API server for the state of an object.

use std::time::Duration;

use pilothouse::{k8s::api::core::v1::ConfigMap, testing::Answer};

use super::world::*;

#[tokio::test(start_paused = true)]
async fn after_ten_seconds_one_request_ends_the_wait() {
    let world = behind(Does::Writes).await;
    let wrote = world.writer.last_at();
    world.touch("web").await;
    pass(9900).await;
    assert_eq!(
        (world.writer.count("web"), world.object_requests("web")),
        (1, 0)
    );
    pass(200).await;
    assert_eq!(
        (world.writer.count("web"), world.object_requests("web")),
        (2, 1)
    );
    let waited = world.writer.last_at() - wrote;
    assert!(waited < Duration::from_millis(10_100), "{waited:?}");
    assert_eq!(world.settled("found"), 1.0);
    // It is settled: nothing is left of it.
    world.touch("web").await;
    assert_eq!(
        (world.writer.count("web"), world.object_requests("web")),
        (3, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_is_resolved_by_one_request() {
    let world = World::start(Writer::default()).await;
    world.touch("other").await;
    world.writer.does(Does::Writes);
    let lost = Answer::status(500, "InternalError");
    world.cluster.faults().answer(writes(), lost, 1);
    world.touch("web").await;
    pass(1000).await;
    assert_eq!(world.object_requests("web"), 1);
    assert_eq!(world.settled("gone"), 1.0);
    // It was not done: it is done now, and seen.
    world.writer.does(Does::Nothing);
    world.touch("web").await;
    let written: ConfigMap = world.cluster.get("web").await.unwrap().unwrap();
    assert_eq!(world.writer.saw("web").last(), Some(&value(&written)));
    world.cluster.forget_requests();
    world.touch("web").await;
    assert_eq!(world.object_requests("web"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_write_with_a_lost_answer_is_requested_once_and_waited_for() {
    let world = World::start(Writer::default()).await;
    world.touch("other").await;
    world.writer.does(Does::Writes);
    world.hold_events(true).await;
    world.cluster.faults().lose_responses(writes(), 1);
    world.touch("web").await;
    world.writer.does(Does::Nothing);
    // Both the failure and the change request another call.
    world.touch("web").await;
    pass(3000).await;
    assert_eq!(
        (world.writer.count("web"), world.object_requests("web")),
        (1, 1)
    );
    assert_eq!(world.settled("found"), 1.0);
    world.hold_events(false).await;
    assert_eq!(world.writer.saw("web"), seen(&["", "1"]));
    assert_eq!(
        (world.requests("patch", "web"), world.object_requests("web")),
        (1, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_to_answer_is_asked_again() {
    let world = behind(Does::Writes).await;
    let gets = pilothouse::testing::RequestMatcher::any()
        .verb("get")
        .resource("configmaps");
    // The client itself retries for a while.
    let busy = Answer::status(500, "InternalError");
    world.cluster.faults().answer(gets, busy, 1);
    world.touch("web").await;
    pass(10_200).await;
    let asked = world.settled("unavailable");
    assert_eq!((world.writer.count("web"), asked), (1, 1.0));
    pass(10_200).await;
    assert_eq!(world.writer.count("web"), 2);
    assert_eq!(world.settled("found"), 1.0);
}

#[tokio::test(start_paused = true)]
async fn a_key_also_waits_for_a_write_whose_future_was_dropped() {
    let writer = Writer {
        limit: Some(Duration::from_millis(500)),
        ..Writer::default()
    };
    let world = World::start(writer).await;
    world.touch("other").await;
    world.writer.does(Does::TimesOut);
    world.hold_events(true).await;
    world.touch("web").await;
    world.writer.does(Does::Nothing);
    pass(3000).await;
    assert_eq!(world.writer.count("web"), 1);
    assert_eq!(world.object_requests("web"), 1);
    world.hold_events(false).await;
    assert_eq!(world.writer.saw("web").last(), seen(&["1"]).last());
}
