//! Who takes over from another process.

use pilothouse::{
    client::ListParams,
    k8s::api::core::v1::{ConfigMap, Secret},
    resource::Object,
    testing::{Cluster, Sandbox},
};
use serde_json::json;

use super::world::*;

#[tokio::test(start_paused = true)]
async fn after_a_takeover_nothing_is_reconciled_on_what_an_old_replica_had() {
    let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
    cluster.create(&child("web", "first")).await.unwrap();
    let api = cluster.api::<ConfigMap>();
    let old = api.list(&ListParams::default()).await.unwrap();
    for number in 0..1000 {
        let patch = json!({"data": {"value": number.to_string()}});
        cluster.patch::<ConfigMap>("web", patch).await.unwrap();
    }
    cluster.create(&Secret::named("web")).await.unwrap();
    for catch_up in [true, false] {
        let world = World::on(cluster.clone(), Writer::default(), |late, environment| {
            *late.old.lock().unwrap() = Some(old.clone());
            environment.catch_up = catch_up;
        });
        let world = world.await;
        world.flows.send_replace(false);
        pass(5000).await;
        let expected = if catch_up { "999" } else { "first" };
        assert_eq!(world.writer.saw("web"), seen(&[expected]));
    }
}
