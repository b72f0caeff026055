//! A change that reaches one child after the other.

// ANCHOR: recipe
use pilothouse::prelude::*;

use crate::site::{Site, deployment};

/// Runs one Deployment in each region, and changes a region only when the regions before it are ready.
struct Regions;

impl Reconciler for Regions {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<Deployment>()
    }

    async fn reconcile(&self, site: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        for region in &site.spec.regions {
            let name = format!("{}-{region}", site.name());
            let web = cx.apply(deployment(&name, &site)).await?;
            // Ends the reconcile here until the Pods of this region are new and ready.
            web.ready_or_wait()?;
        }
        Ok(Action::wait())
    }
}
// ANCHOR_END: recipe

mod tests {
    use pilothouse::testing::Cluster;
    use serde_json::json;

    use super::*;
    use crate::world::site;

    async fn image(cluster: &Cluster, name: &str) -> Option<String> {
        let web = cluster.get::<Deployment>(name).await.unwrap()?;
        web.spec.template.spec.unwrap().containers.remove(0).image
    }

    #[tokio::test(start_paused = true)]
    async fn an_image_that_does_not_start_stops_at_the_first_region() {
        let cluster = Cluster::start().unwrap();
        let running = cluster
            .run(Operator::new("sites").controller(Regions))
            .await
            .unwrap();
        let mut a = site("a");
        a.spec.regions = vec!["eu".into(), "us".into()];
        cluster.create(&a).await.unwrap();
        cluster
            .until("a-us", "exist", |_: &Deployment| true)
            .await
            .unwrap();
        cluster.settle().await;

        let broken = json!({"spec": {"image": "registry.invalid/nginx"}});
        cluster.patch::<Site>("a", broken).await.unwrap();
        tokio::time::sleep(Duration::from_secs(600)).await;
        let eu = image(&cluster, "a-eu").await.unwrap();
        assert_eq!(eu, "registry.invalid/nginx");
        assert_eq!(image(&cluster, "a-us").await.unwrap(), "nginx:1");

        let repaired = json!({"spec": {"image": "nginx:2"}});
        cluster.patch::<Site>("a", repaired).await.unwrap();
        tokio::time::sleep(Duration::from_secs(600)).await;
        for name in ["a-eu", "a-us"] {
            assert_eq!(image(&cluster, name).await.unwrap(), "nginx:2", "{name}");
        }
        running.stop().await;
    }
}
