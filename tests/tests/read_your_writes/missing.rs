//! R2 where no event tells: what a key wrote is deleted by others before the cache ever had it.

use pilothouse::k8s::api::core::v1::ConfigMap;

use super::world::*;

/// A world in which `web` wrote its child, always the same, and the child's cache hears nothing.
async fn unheard() -> World {
    let world = World::start(Writer::default()).await;
    world.touch("other").await;
    world.cluster.faults().hold_watches(watches());
    world.writer.does(Does::Same);
    world.touch("web").await;
    assert_eq!(world.writer.count("web"), 1);
    world
}

/// The children are listed anew, and what was between the two states nobody hears.
async fn list_anew(world: &World) {
    let faults = world.cluster.faults();
    faults.drop_watches(&watches());
    faults.compact();
    pass(2000).await;
    faults.release_watches();
    pass(4000).await;
}

#[tokio::test(start_paused = true)]
async fn a_key_is_reconciled_again_when_its_work_is_gone_before_the_cache_had_it() {
    let world = unheard().await;
    world.cluster.delete::<ConfigMap>("web").await.unwrap();
    list_anew(&world).await;
    // The third is that of its new child.
    assert_eq!(world.writer.saw("web"), seen(&["", "", "same"]));
    let child = world.cluster.get::<ConfigMap>("web").await.unwrap();
    assert_eq!(child.as_ref().and_then(value).as_deref(), Some("same"));
}

#[tokio::test(start_paused = true)]
async fn so_is_one_that_was_let_through_without_the_cache() {
    let world = unheard().await;
    // It waits, and after 10 s the server says that the child is there: nothing is to be done.
    world.writer.does(Does::Nothing);
    world.touch("web").await;
    pass(11_000).await;
    assert_eq!(world.writer.saw("web"), seen(&["", ""]));
    assert_eq!(world.questions("web"), 1);
    world.writer.does(Does::Same);
    world.cluster.delete::<ConfigMap>("web").await.unwrap();
    list_anew(&world).await;
    assert_eq!(world.writer.saw("web"), seen(&["", "", "", "same"]));
    let child = world.cluster.get::<ConfigMap>("web").await.unwrap();
    assert_eq!(child.as_ref().and_then(value).as_deref(), Some("same"));
}

#[tokio::test(start_paused = true)]
async fn what_the_server_says_is_gone_is_written_again_at_once() {
    let world = unheard().await;
    world.cluster.delete::<ConfigMap>("web").await.unwrap();
    world.touch("web").await;
    pass(11_000).await;
    assert_eq!(world.writer.saw("web"), seen(&["", ""]));
    let child = world.cluster.get::<ConfigMap>("web").await.unwrap();
    assert_eq!(child.as_ref().and_then(value).as_deref(), Some("same"));
}
