//! A key that deleted an object does not see that object again.

use pilothouse::{k8s::api::core::v1::ConfigMap, resource::Object, testing::RequestMatcher};
use serde_json::json;

use super::world::*;

/// Returns a world in which the cache holds the child of `web`, and events of children are held back from now on.
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
    // Further requests for a reconcile do not change that.
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
async fn no_reconcile_sees_an_object_that_its_predecessor_deleted() {
    let world = with(child("web", "old"), Does::Deletes).await;
    release(&world).await;
    assert_eq!(world.writer.saw("web"), seen(&["old", ""]));
    assert_eq!(world.object_requests("web"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_key_also_waits_for_a_deletion_that_only_a_list_shows() {
    let world = with(child("web", "old"), Does::Deletes).await;
    let faults = world.cluster.faults();
    faults.drop_watches(&watches());
    faults.compact();
    faults.release_watches();
    pass(2000).await;
    assert_eq!(world.writer.saw("web"), seen(&["old", ""]));
    assert_eq!(world.object_requests("web"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_held_by_finalizers_ends_the_wait_once_it_is_seen_to_begin() {
    let mut held = child("web", "old");
    held.metadata.finalizers = Some(vec!["other.example.com/x".into()]);
    let world = with(held, Does::Deletes).await;
    release(&world).await;
    assert_eq!(world.writer.saw("web"), seen(&["old", "old, going"]));
    // Somebody else ends the deletion, so no key waits for that.
    let free = json!({"metadata": {"finalizers": null}});
    world.cluster.patch::<ConfigMap>("web", free).await.unwrap();
    pass(100).await;
    world.touch("web").await;
    assert_eq!(world.writer.saw("web"), seen(&["old", "old, going", ""]));
    assert_eq!(world.object_requests("web"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_recreated_object_is_seen_and_never_the_deleted_one() {
    let world = with(child("web", "old"), Does::Recreates).await;
    release(&world).await;
    assert_eq!(world.writer.saw("web"), seen(&["old", "1"]));
    assert_eq!(world.object_requests("web"), 0);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_others_recreate_is_seen_and_never_the_deleted_one() {
    let world = with(child("web", "old"), Does::Deletes).await;
    let theirs = world.cluster.create(&child("web", "theirs")).await.unwrap();
    pass(1000).await;
    assert_eq!(world.writer.count("web"), 1);
    release(&world).await;
    assert_eq!(world.writer.saw("web"), seen(&["old", "theirs"]));
    assert_eq!(world.object_requests("web"), 0);
    let there = world.cluster.get::<ConfigMap>("web").await.unwrap();
    assert_eq!(there.unwrap().uid(), theirs.uid());
}

#[tokio::test(start_paused = true)]
async fn a_deletion_with_a_lost_answer_is_resolved_by_one_request() {
    let world = World::start(Writer::default()).await;
    world.cluster.create(&child("web", "old")).await.unwrap();
    world.touch("other").await;
    pass(100).await;
    let faults = world.cluster.faults();
    faults.hold_watches(watches());
    let deletions = RequestMatcher::any().verb("delete").resource("configmaps");
    faults.lose_responses(deletions, 1);
    world.writer.does(Does::Deletes);
    world.touch("web").await;
    world.writer.does(Does::Nothing);
    pass(3000).await;
    assert_eq!(world.writer.count("web"), 1);
    assert_eq!(world.object_requests("web"), 1);
    release(&world).await;
    assert_eq!(world.writer.saw("web").last(), seen(&[""]).last());
    assert_eq!(world.object_requests("web"), 1);
}
