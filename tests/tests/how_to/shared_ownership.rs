//! Fields that belong to somebody else.

// ANCHOR: recipe
use pilothouse::prelude::*;

use crate::site::{Site, deployment};

struct Sites;

impl Reconciler for Sites {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<Deployment>()
    }

    async fn reconcile(&self, site: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        let mut web = deployment(site.name(), &site);
        if site.spec.autoscaled {
            // A field that is not sent belongs to whoever sets it.
            web.spec.replicas = None;
        }
        cx.apply(web).await?;
        Ok(Action::wait())
    }
}
// ANCHOR_END: recipe

mod tests {
    use pilothouse::testing::Cluster;
    use serde_json::json;

    use super::*;
    use crate::world::site;

    #[tokio::test(start_paused = true)]
    async fn the_number_of_an_autoscaler_stays() {
        let cluster = Cluster::start().unwrap();
        let running = cluster
            .run(Operator::new("sites").controller(Sites))
            .await
            .unwrap();
        let mut autoscaled = site("b");
        autoscaled.spec.autoscaled = true;
        cluster.create(&site("a")).await.unwrap();
        cluster.create(&autoscaled).await.unwrap();
        cluster.settle().await;
        for name in ["a", "b"] {
            let five = json!({"spec": {"replicas": 5}});
            cluster.patch::<Deployment>(name, five).await.unwrap();
            let image = json!({"spec": {"image": "nginx:2"}});
            cluster.patch::<Site>(name, image).await.unwrap();
        }
        cluster.settle().await;
        for (name, expected) in [("a", 1), ("b", 5)] {
            let web = cluster.get::<Deployment>(name).await.unwrap().unwrap();
            assert_eq!(web.spec.replicas, Some(expected), "{name}");
            let pod = web.spec.template.spec.unwrap();
            assert_eq!(pod.containers[0].image.as_deref(), Some("nginx:2"));
        }
        running.stop().await;
    }
}
