//! What a key waits for, and what it does not.

use pilothouse::{k8s::api::core::v1::ConfigMap, testing::Answer};
use serde_json::json;

use super::world::*;

#[tokio::test(start_paused = true)]
async fn a_key_waits_until_the_cache_holds_what_it_wrote_and_takes_no_worker_meanwhile() {
    let world = behind(Does::Writes).await;
    world.touch("web").await;
    world.touch("web").await;
    pass(2000).await;
    assert_eq!(world.writer.count("web"), 1);
    assert_eq!(world.metrics.skips.get(), 1);
    // There is one worker, and it is free.
    world.touch("other").await;
    assert_eq!(world.writer.count("other"), 1);

    world.hold(false).await;
    assert_eq!(world.writer.saw("web"), seen(&["", "1"]));
    assert_eq!(world.questions("web"), 0);
    assert_eq!(world.metrics.waiting.get_sample_count(), 1);
    assert!(world.metrics.waiting.get_sample_sum() > 1.9);
}

#[tokio::test(start_paused = true)]
async fn whatever_the_verb_what_was_written_is_waited_for() {
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
        world.hold(true).await;
        world.touch("web").await;
        world.writer.does(Does::Nothing);
        world.touch("web").await;
        pass(2000).await;
        assert_eq!(world.writer.count("web"), 1, "{does:?}");
        world.hold(false).await;
        let written = (does != Does::Deletes).then(|| "1".to_owned());
        assert_eq!(world.writer.saw("web").last(), Some(&written), "{does:?}");
        assert_eq!(world.writer.count("web"), 2, "{does:?}");
        assert_eq!(world.questions("web"), 0, "{does:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_later_state_than_the_written_one_is_as_good() {
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
    // What was written is in no list and no event any more.
    faults.drop_watches(&watches());
    faults.compact();
    pass(2000).await;
    assert_eq!(world.writer.count("web"), 1);
    faults.release_watches();
    pass(2000).await;
    assert_eq!(world.writer.saw("web"), seen(&["", "later"]));
    assert_eq!(world.questions("web"), 0);
}

#[tokio::test(start_paused = true)]
async fn the_collection_at_the_version_is_as_good_as_the_object() {
    let world = World::with(Writer::default(), |late, _| late.lost = "web").await;
    world.writer.does(Does::Writes);
    world.hold(true).await;
    world.touch("web").await;
    world.writer.does(Does::Nothing);
    world.touch("web").await;
    world.cluster.create(&child("another", 0)).await.unwrap();
    assert_eq!(world.writer.count("web"), 1);
    world.hold(false).await;
    assert_eq!(world.writer.count("web"), 2);
    assert_eq!(world.questions("web"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_somebody_deleted_is_not_waited_for_for_ever() {
    let world = behind(Does::Writes).await;
    world.touch("web").await;
    world.cluster.delete::<ConfigMap>("web").await.unwrap();
    world.hold(false).await;
    assert!(world.writer.count("web") >= 2);
    assert_eq!(world.writer.saw("web").last(), Some(&None));
    assert_eq!(world.questions("web"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_changed_nothing_is_not_waited_for() {
    let world = World::start(Writer::default()).await;
    world.writer.does(Does::Same);
    world.touch("web").await;
    world.cancel.cancel();
    pass(100).await;
    // Another process does not know what was applied, and applies it again.
    let next = World::on(world.cluster.clone(), Writer::default(), |_, _| {}).await;
    next.writer.does(Does::Same);
    next.hold(true).await;
    pass(100).await;
    next.touch("web").await;
    next.touch("web").await;
    assert!(next.writer.count("web") >= 2);
    assert_eq!(next.metrics.skips.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_written_uncached_is_not_waited_for() {
    let world = behind(Does::WritesUncached).await;
    world.touch("web").await;
    assert_eq!(world.writer.saw("web"), seen(&["", ""]));
    assert_eq!(world.metrics.skips.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_conflicts_and_broken_watches_never_shows_an_older_state_than_was_written() {
    let world = World::start(Writer::default()).await;
    world.writer.does(Does::Writes);
    for round in 0..30 {
        let conflict = Answer::status(409, "Conflict");
        world.cluster.faults().answer(writes(), conflict, round % 3);
        world.hold(round % 2 == 0).await;
        world.touch("web").await;
        if round % 5 == 0 {
            world.cluster.faults().drop_watches(&watches());
        }
        pass(40).await;
        world.hold(false).await;
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
