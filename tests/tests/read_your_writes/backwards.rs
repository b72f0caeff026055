//! An API server that was restored to an earlier state.

use pilothouse::{
    k8s::api::core::v1::{ConfigMap, Secret},
    resource::Object,
    testing::{Cluster, RequestMatcher, Sandbox},
};
use serde_json::json;

use super::{rewriting::put_back, world::*};

/// Returns a cluster with little history.
async fn backup() -> Cluster {
    let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
    cluster.create(&Secret::named("web")).await.unwrap();
    cluster.create(&child("web", "backup")).await.unwrap();
    cluster
}

#[tokio::test(start_paused = true)]
async fn a_server_restored_from_a_backup_ends_all_waits_and_is_listed_again() {
    let cluster = backup().await;
    let saved = cluster.sandbox().snapshot();
    let world = World::on(cluster, Writer::default(), |_, _| {}).await;
    pass(100).await;
    for number in 0..50 {
        let patch = json!({"data": {"value": number.to_string()}});
        world
            .cluster
            .patch::<ConfigMap>("web", patch)
            .await
            .unwrap();
    }
    pass(100).await;
    world.writer.does(Does::Writes);
    world.cluster.faults().hold_watches(watches());
    world.touch("web").await;
    world.writer.does(Does::Nothing);
    world.touch("web").await;
    pass(500).await;
    assert_eq!(world.writer.saw("web"), seen(&["backup", "49"]));

    world.cluster.sandbox().rewind(&saved);
    world.cluster.faults().release_watches();
    world.cluster.forget_requests();
    pass(9000).await;
    assert_eq!(
        (world.writer.count("web"), world.object_requests("web")),
        (2, 0)
    );
    // The watch continues at a version that the server has not reached yet, and is silent. The request for the object
    // shows the restore.
    pass(1000).await;
    assert_eq!(
        (world.writer.count("web"), world.object_requests("web")),
        (3, 1)
    );
    pass(60_000).await;
    let secrets = RequestMatcher::any().verb("watch").resource("secrets");
    world.cluster.faults().expire_watches(&secrets);
    pass(60_000).await;
    assert_eq!(world.writer.saw("web").last(), seen(&["backup"]).last());
    // The work continues from the restored state.
    world.writer.does(Does::Writes);
    world.touch("web").await;
    world.writer.does(Does::Nothing);
    let number = world.writer.count("web").to_string();
    world.touch("web").await;
    pass(100).await;
    assert_eq!(world.writer.saw("web").last(), Some(&Some(number)));
}

#[tokio::test(start_paused = true)]
async fn after_a_switch_to_an_api_server_whose_cache_is_behind_a_key_waits_for_its_write() {
    let world = World::on(backup().await, Writer::default(), |_, _| {}).await;
    pass(100).await;
    let children = RequestMatcher::any().resource("configmaps");
    let faults = world.cluster.faults();
    faults.hold_caches(children.clone(), None);
    faults.drop_watches(&children);
    // Longer than the pause before a watch is opened again.
    pass(10_000).await;
    world.writer.does(Does::Writes);
    world.touch("web").await;
    world.writer.does(Does::Nothing);
    world.touch("web").await;
    // The watch is open again, and shows nothing of the write.
    assert_eq!(faults.running_watches(&children), 1);
    pass(9000).await;
    assert_eq!(world.writer.saw("web"), seen(&["backup", "backup"]));
    faults.release_caches();
    pass(100).await;
    assert_eq!(world.writer.saw("web"), seen(&["backup", "backup", "2"]));
    assert_eq!(world.object_requests("web"), 0);
}

#[tokio::test(start_paused = true)]
async fn an_answer_older_than_the_write_ends_the_wait_and_causes_a_relist() {
    let cluster = backup().await;
    let client = put_back(&cluster);
    let world = World::by(client, cluster, Writer::default(), |_, _| {}).await;
    pass(100).await;
    world.hold_events(true).await;
    world.writer.does(Does::Writes);
    world.touch("web").await;
    world.touch("web").await;
    pass(5000).await;
    world.touch("api").await;
    world.touch("api").await;
    let reads = |world: &World| world.requests("watch", "") + world.requests("list", "");
    let before = reads(&world);
    pass(4900).await;
    assert_eq!((world.object_requests("web"), reads(&world)), (0, before));
    assert_eq!(
        (world.writer.count("web"), world.writer.count("api")),
        (2, 1)
    );
    pass(200).await;
    assert_eq!(
        (world.writer.count("web"), world.object_requests("web")),
        (3, 1)
    );
    // What others waited for is worth nothing any more either.
    assert_eq!(
        (world.writer.count("api"), world.object_requests("api")),
        (2, 0)
    );
    assert_eq!(
        world.metric("pilothouse_controller_stale_dropped_total"),
        1.0
    );
    pass(5000).await;
    assert!(reads(&world) > before);
}
