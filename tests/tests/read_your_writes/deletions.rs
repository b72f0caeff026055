//! What was deleted is not seen again by the key that deleted it.

use pilothouse::{k8s::api::core::v1::ConfigMap, resource::Object, testing::RequestMatcher};
use serde_json::json;

use super::world::*;

/// A world whose child of `web` is cached, and in which the events of children are held back from now on.
async fn with(mut object: ConfigMap, does: Does) -> World {
    let world = World::start(Writer::default()).await;
    object.metadata.namespace = Some("default".into());
    world.cluster.create(&object).await.unwrap();
    world.touch("other").await;
    pass(100).await;
    world.cluster.faults().hold_watches(watches());
    world.writer.does(does);
    world.touch("web").await;
    world.writer.does(Does::Nothing);
    assert_eq!(world.writer.saw("web"), seen(&["old"]));
    // However often it is asked for.
    for _ in 0..3 {
        world.touch("web").await;
        pass(1000).await;
    }
    assert_eq!(world.writer.count("web"), 1);
    world
}

async fn release(world: &World) {
    world.cluster.faults().release_watches();
    pass(2000).await;
}

#[tokio::test(start_paused = true)]
async fn no_reconcile_sees_what_the_one_before_deleted_however_late_the_event_is() {
    let world = with(child("web", "old"), Does::Deletes).await;
    release(&world).await;
    assert_eq!(world.writer.saw("web"), seen(&["old", ""]));
    assert_eq!(world.questions("web"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_only_a_list_tells_of_is_waited_for_too() {
    let world = with(child("web", "old"), Does::Deletes).await;
    let faults = world.cluster.faults();
    faults.drop_watches(&watches());
    faults.compact();
    faults.release_watches();
    pass(2000).await;
    assert_eq!(world.writer.saw("web"), seen(&["old", ""]));
    assert_eq!(world.questions("web"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_finalizers_hold_up_is_there_when_it_is_seen_to_have_begun() {
    let mut held = child("web", "old");
    held.metadata.finalizers = Some(vec!["other.example.com/x".into()]);
    let world = with(held, Does::Deletes).await;
    release(&world).await;
    assert_eq!(world.writer.saw("web"), seen(&["old", "old, going"]));
    // Its end is somebody else's doing, and nobody waits for that.
    let free = json!({"metadata": {"finalizers": null}});
    world.cluster.patch::<ConfigMap>("web", free).await.unwrap();
    pass(100).await;
    world.touch("web").await;
    assert_eq!(world.writer.saw("web"), seen(&["old", "old, going", ""]));
    assert_eq!(world.questions("web"), 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_made_anew_under_its_name_is_seen_and_never_what_was_deleted() {
    let world = with(child("web", "old"), Does::Recreates).await;
    release(&world).await;
    assert_eq!(world.writer.saw("web"), seen(&["old", "1"]));
    assert_eq!(world.questions("web"), 0);
}

#[tokio::test(start_paused = true)]
async fn somebody_elses_new_object_of_the_name_is_seen_and_never_what_was_deleted() {
    let world = with(child("web", "old"), Does::Deletes).await;
    let theirs = world.cluster.create(&child("web", "theirs")).await.unwrap();
    pass(1000).await;
    assert_eq!(world.writer.count("web"), 1);
    release(&world).await;
    assert_eq!(world.writer.saw("web"), seen(&["old", "theirs"]));
    assert_eq!(world.questions("web"), 0);
    let there = world.cluster.get::<ConfigMap>("web").await.unwrap();
    assert_eq!(there.unwrap().uid(), theirs.uid());
}

#[tokio::test(start_paused = true)]
async fn a_deletion_whose_answer_was_lost_is_settled_by_one_question() {
    let world = World::start(Writer::default()).await;
    world.cluster.create(&child("web", "old")).await.unwrap();
    world.touch("other").await;
    pass(100).await;
    let faults = world.cluster.faults();
    faults.hold_watches(watches());
    let deletions = RequestMatcher::any().verb("delete").resource("configmaps");
    faults.lose_answers(deletions, 1);
    world.writer.does(Does::Deletes);
    world.touch("web").await;
    world.writer.does(Does::Nothing);
    pass(3000).await;
    assert_eq!(world.writer.count("web"), 1);
    assert_eq!(world.questions("web"), 1);
    release(&world).await;
    assert_eq!(world.writer.saw("web").last(), seen(&[""]).last());
    assert_eq!(world.questions("web"), 1);
}
