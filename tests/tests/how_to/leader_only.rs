//! Work in the background that only the leader does.

// ANCHOR: recipe
use pilothouse::{
    client::{Api, ListParams, Patch, PatchParams},
    controller::CancellationToken,
    operator::Setup,
    prelude::*,
    resource::AccessRule,
};
use serde_json::json;

use crate::site::Site;

/// Writes the number of Sites into a ConfigMap, once each hour.
async fn census(setup: Setup, stop: CancellationToken) -> Result<()> {
    let sites = Api::<Site>::all(setup.client());
    let maps = Api::<ConfigMap>::default_namespaced(setup.client());
    loop {
        let count = sites.list_all(&ListParams::default()).await?.items.len();
        let map = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "census"},
            "data": {"sites": count.to_string()},
        });
        let params = PatchParams::apply("census").force();
        maps.patch("census", &params, &Patch::Apply(map)).await?;
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            () = tokio::time::sleep(Duration::from_secs(3600)) => {}
        }
    }
}

fn operator() -> Operator {
    Operator::new("census")
        .leader_runnable("census", census)
        // A task of your own declares what it needs, for the printed roles.
        .access(AccessRule::of::<Site>(["list"]))
        .access(AccessRule::of::<ConfigMap>(["patch"]))
}
// ANCHOR_END: recipe

mod tests {
    use pilothouse::testing::Cluster;

    use super::*;
    use crate::world::site;

    #[tokio::test(start_paused = true)]
    async fn the_sites_are_counted_each_hour() {
        let cluster = Cluster::start().unwrap();
        cluster.install::<Site>().await.unwrap();
        cluster.create(&site("a")).await.unwrap();
        let running = cluster.run(operator()).await.unwrap();
        let counted = |count: &'static str| {
            move |map: &ConfigMap| map.data.as_ref().is_some_and(|data| data["sites"] == count)
        };
        cluster
            .until("census", "count one Site", counted("1"))
            .await
            .unwrap();
        cluster.create(&site("b")).await.unwrap();
        tokio::time::sleep(Duration::from_secs(3601)).await;
        cluster
            .until("census", "count two Sites", counted("2"))
            .await
            .unwrap();
        running.stop().await;
    }
}
