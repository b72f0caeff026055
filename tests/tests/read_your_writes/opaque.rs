//! Resource versions that are not integers.

use pilothouse::{
    k8s::api::core::v1::ConfigMap,
    resource::Object,
    testing::{Cluster, Sandbox},
};
use serde_json::json;

use super::{rewriting::opaque, world::*};

async fn started() -> World {
    let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
    let client = opaque(&cluster);
    World::by(client, cluster, Writer::default(), |_, _| {}).await
}

#[tokio::test(start_paused = true)]
async fn opaque_versions_are_only_compared_for_equality_on_the_object() {
    let world = started().await;
    world.cluster.create(&child("web", "old")).await.unwrap();
    // The next version is a smaller text than the one before: x99, x100.
    let mut number = 0;
    for name in ["web", "another"] {
        world.cluster.create(&child("another", 0)).await.ok();
        loop {
            number += 1;
            let patch = json!({"data": {"value": number.to_string()}});
            let patched = world.cluster.patch::<ConfigMap>(name, patch).await.unwrap();
            let version = patched.resource_version().unwrap();
            let full = version.chars().skip(1).all(|digit| digit == '9');
            if version.starts_with('9') && (name == "web" || full) {
                break;
            }
        }
    }
    let old = value(&world.cluster.get("web").await.unwrap().unwrap());
    world.touch("other").await;
    world.hold_events(true).await;
    world.writer.does(Does::Writes);
    world.touch("web").await;
    assert_eq!(world.writer.saw("web"), [old]);
    world.writer.does(Does::Nothing);
    world.touch("web").await;
    pass(3000).await;
    assert_eq!(world.writer.count("web"), 1);
    world.hold_events(false).await;
    assert_eq!(world.writer.saw("web").last(), seen(&["1"]).last());
    // The test itself made one request.
    assert_eq!(world.object_requests("web"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_key_does_not_wait_for_an_object_whose_deletion_was_seen() {
    let world = started().await;
    world.cluster.create(&child("web", "old")).await.unwrap();
    world.touch("other").await;
    pass(100).await;
    let faults = world.cluster.faults();
    faults.hold_watches(watches());
    world.writer.does(Does::Writes);
    world.touch("web").await;
    world.writer.does(Does::Nothing);
    world.touch("web").await;
    world.cluster.delete::<ConfigMap>("web").await.unwrap();
    // No list and no event contains the written state any more, and opaque versions of the collection cannot be compared.
    faults.drop_watches(&watches());
    faults.compact();
    pass(2000).await;
    assert_eq!(world.writer.count("web"), 1);
    faults.release_watches();
    pass(3000).await;
    assert_eq!(world.writer.saw("web"), seen(&["old", ""]));
    assert_eq!(world.object_requests("web"), 0);
}
