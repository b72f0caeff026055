//! (R2) without an event: others delete what a key wrote before the cache ever held it.

use pilothouse::k8s::api::core::v1::ConfigMap;

use super::world::*;

/// Returns a world in which `web` wrote its child, always with the same content, and the cache of children gets no events.
async fn without_events() -> World {
    let world = World::start(Writer::default()).await;
    world.touch("other").await;
    world.cluster.faults().hold_watches(watches());
    world.writer.does(Does::Same);
    world.touch("web").await;
    assert_eq!(world.writer.count("web"), 1);
    world
}

/// Lists the children again, so that no informer sees the states in between.
async fn list_again(world: &World) {
    let faults = world.cluster.faults();
    faults.drop_watches(&watches());
    faults.compact();
    pass(2000).await;
    faults.release_watches();
    pass(4000).await;
}

#[tokio::test(start_paused = true)]
async fn a_key_is_reconciled_again_if_its_write_is_deleted_before_the_cache_held_it() {
    let world = without_events().await;
    world.cluster.delete::<ConfigMap>("web").await.unwrap();
    list_again(&world).await;
    // The event of its new child triggers the third call.
    assert_eq!(world.writer.saw("web"), seen(&["", "", "same"]));
    let child = world.cluster.get::<ConfigMap>("web").await.unwrap();
    assert_eq!(child.as_ref().and_then(value).as_deref(), Some("same"));
}

#[tokio::test(start_paused = true)]
async fn a_key_confirmed_by_the_server_is_also_reconciled_again_if_its_write_is_deleted() {
    let world = without_events().await;
    // The key waits. After 10 s the server confirms that the child exists, so there is nothing to do.
    world.writer.does(Does::Nothing);
    world.touch("web").await;
    pass(11_000).await;
    assert_eq!(world.writer.saw("web"), seen(&["", ""]));
    assert_eq!(world.object_requests("web"), 1);
    world.writer.does(Does::Same);
    world.cluster.delete::<ConfigMap>("web").await.unwrap();
    list_again(&world).await;
    assert_eq!(world.writer.saw("web"), seen(&["", "", "", "same"]));
    let child = world.cluster.get::<ConfigMap>("web").await.unwrap();
    assert_eq!(child.as_ref().and_then(value).as_deref(), Some("same"));
}

#[tokio::test(start_paused = true)]
async fn a_child_that_the_server_reports_deleted_is_written_again_at_once() {
    let world = without_events().await;
    world.cluster.delete::<ConfigMap>("web").await.unwrap();
    world.touch("web").await;
    pass(11_000).await;
    assert_eq!(world.writer.saw("web"), seen(&["", ""]));
    let child = world.cluster.get::<ConfigMap>("web").await.unwrap();
    assert_eq!(child.as_ref().and_then(value).as_deref(), Some("same"));
}
