//! The objects for which a key waits, and those for which it does not.

use pilothouse::{k8s::api::core::v1::ConfigMap, testing::Answer};
use serde_json::json;

use super::world::*;

#[tokio::test(start_paused = true)]
async fn a_key_waits_without_a_worker_until_the_cache_holds_its_write() {
    let world = behind(Does::Writes).await;
    world.touch("web").await;
    world.touch("web").await;
    pass(2000).await;
    assert_eq!(world.writer.count("web"), 1);
    assert_eq!(world.skips(), 1.0);
    // There is one worker, and it is free.
    world.touch("other").await;
    assert_eq!(world.writer.count("other"), 1);

    world.hold_events(false).await;
    assert_eq!(world.writer.saw("web"), seen(&["", "1"]));
    assert_eq!(world.object_requests("web"), 0);
    assert_eq!(
        world.metric("pilothouse_controller_stale_wait_seconds_count"),
        1.0
    );
    assert!(world.metric("pilothouse_controller_stale_wait_seconds_sum") > 1.9);
}

#[tokio::test(start_paused = true)]
async fn a_key_waits_for_the_write_of_every_verb() {
    for does in [
        Does::Writes,
        Does::Creates,
        Does::Patches,
        Does::Updates,
        Does::Deletes,
    ] {
        let world = World::start(Writer::default()).await;
        if does != Does::Creates {
            world.cluster.create(&child("web", "old")).await.unwrap();
        }
        world.touch("other").await;
        pass(100).await;
        world.writer.does(does);
        world.hold_events(true).await;
        world.touch("web").await;
        world.writer.does(Does::Nothing);
        world.touch("web").await;
        pass(2000).await;
        assert_eq!(world.writer.count("web"), 1, "{does:?}");
        world.hold_events(false).await;
        let written = (does != Does::Deletes).then(|| "1".to_owned());
        assert_eq!(world.writer.saw("web").last(), Some(&written), "{does:?}");
        assert_eq!(world.writer.count("web"), 2, "{does:?}");
        assert_eq!(world.object_requests("web"), 0, "{does:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_state_later_than_the_written_one_ends_the_wait() {
    let world = World::start(Writer::default()).await;
    world.touch("other").await;
    let faults = world.cluster.faults();
    faults.hold_watches(watches());
    world.writer.does(Does::Writes);
    world.touch("web").await;
    world.writer.does(Does::Nothing);
    world.touch("web").await;
    let later = json!({"data": {"value": "later"}});
    world
        .cluster
        .patch::<ConfigMap>("web", later)
        .await
        .unwrap();
    // No list and no event contains the written state any more.
    faults.drop_watches(&watches());
    faults.compact();
    pass(2000).await;
    assert_eq!(world.writer.count("web"), 1);
    faults.release_watches();
    pass(2000).await;
    assert_eq!(world.writer.saw("web"), seen(&["", "later"]));
    assert_eq!(world.object_requests("web"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_collection_at_the_written_version_ends_the_wait() {
    let world = World::with(Writer::default(), |late, _| late.lost = "web").await;
    world.writer.does(Does::Writes);
    world.hold_events(true).await;
    world.touch("web").await;
    world.writer.does(Does::Nothing);
    world.touch("web").await;
    world.cluster.create(&child("another", 0)).await.unwrap();
    assert_eq!(world.writer.count("web"), 1);
    world.hold_events(false).await;
    assert_eq!(world.writer.count("web"), 2);
    assert_eq!(world.object_requests("web"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_key_does_not_wait_forever_for_a_child_that_others_deleted() {
    let world = behind(Does::Writes).await;
    world.touch("web").await;
    world.cluster.delete::<ConfigMap>("web").await.unwrap();
    world.hold_events(false).await;
    assert!(world.writer.count("web") >= 2);
    assert_eq!(world.writer.saw("web").last(), Some(&None));
    assert_eq!(world.object_requests("web"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_key_does_not_wait_for_a_write_that_changed_nothing() {
    let world = World::start(Writer::default()).await;
    world.cluster.create(&child("web", "same")).await.unwrap();
    world.touch("other").await;
    world.writer.does(Does::PatchesSame);
    world.hold_events(true).await;
    world.touch("web").await;
    world.touch("web").await;
    assert_eq!(world.writer.count("web"), 2);
    assert_eq!(world.requests("patch", "web"), 2);
    assert_eq!(world.skips(), 0.0);
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_an_apply_that_follows_a_patch_of_the_same_call_is_sent() {
    let world = World::start(Writer::default()).await;
    world.writer.does(Does::Same);
    world.touch("web").await;
    world.cancel.cancel();
    pass(100).await;

    // The cache still shows the child as the former process applied it.
    let next = World::on(world.cluster.clone(), Writer::default(), |_, _| {}).await;
    pass(100).await;
    next.writer.does(Does::PatchesAndApplies);
    next.hold_events(true).await;
    next.touch("web").await;
    let written = next.cluster.get::<ConfigMap>("web").await.unwrap();
    assert_eq!(written.as_ref().and_then(value).as_deref(), Some("same"));
    next.hold_events(false).await;
}

#[tokio::test(start_paused = true)]
async fn a_key_does_not_wait_for_uncached_writes() {
    let world = behind(Does::WritesUncached).await;
    world.touch("web").await;
    assert_eq!(world.writer.saw("web"), seen(&["", ""]));
    assert_eq!(world.skips(), 0.0);
}

#[tokio::test(start_paused = true)]
async fn conflicts_and_broken_watches_never_show_an_older_state_than_the_written_one() {
    let world = World::start(Writer::default()).await;
    world.writer.does(Does::Writes);
    for round in 0..30 {
        let conflict = Answer::status(409, "Conflict");
        world.cluster.faults().answer(writes(), conflict, round % 3);
        world.hold_events(round % 2 == 0).await;
        world.touch("web").await;
        if round % 5 == 0 {
            world.cluster.faults().drop_watches(&watches());
        }
        pass(40).await;
        world.hold_events(false).await;
    }
    pass(60_000).await;
    world.writer.does(Does::Nothing);
    let saw = world.writer.saw("web");
    assert!(saw.len() > 30);
    let numbers: Vec<usize> = saw
        .iter()
        .flatten()
        .map(|one| one.parse().unwrap())
        .collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    let last: ConfigMap = world.cluster.get("web").await.unwrap().unwrap();
    world.touch("web").await;
    assert_eq!(world.writer.saw("web").last(), Some(&value(&last)));
}
