//! From `create` and `update` to `apply`.

// ANCHOR: before
use pilothouse::{prelude::*, resource::set_controller};

use crate::site::{Site, deployment};

/// Reads, compares, and creates or updates.
struct Before;

impl Reconciler for Before {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<Deployment>().writes::<Deployment>()
    }

    async fn reconcile(&self, site: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        let wanted = deployment(site.name(), &site);
        match cx.get::<Deployment>(site.name())? {
            None => {
                let mut web = wanted;
                web.spec.min_ready_seconds = Some(5);
                set_controller(&*site, &mut web)?;
                cx.create(web).await?;
            }
            Some(web) if web.spec.replicas != wanted.spec.replicas => {
                let mut web = Deployment::clone(&web);
                web.spec.replicas = wanted.spec.replicas;
                cx.update(&web).await?;
            }
            Some(_) => {}
        }
        Ok(Action::wait())
    }
}
// ANCHOR_END: before

// ANCHOR: after
/// Says what it wants.
struct After;

impl Reconciler for After {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<Deployment>()
    }

    async fn reconcile(&self, site: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        cx.apply(deployment(site.name(), &site)).await?;
        Ok(Action::wait())
    }
}
// ANCHOR_END: after

mod tests {
    use pilothouse::testing::Cluster;
    use serde_json::json;

    use super::*;
    use crate::world::site;

    #[tokio::test(start_paused = true)]
    async fn apply_takes_over_what_create_has_made_and_leaves_the_other_fields() {
        let cluster = Cluster::start().unwrap();
        let before = Operator::new("sites").controller(Before);
        let before = cluster.run(before).await.unwrap();
        cluster.create(&site("a")).await.unwrap();
        cluster.settle().await;
        let old = cluster.get::<Deployment>("a").await.unwrap().unwrap();
        before.stop().await;

        let after = Operator::new("sites").controller(After);
        let after = cluster.run(after).await.unwrap();
        let change = json!({"spec": {"image": "nginx:2"}});
        cluster.patch::<Site>("a", change).await.unwrap();
        let has_image = |web: &Deployment| {
            let pod = web.spec.template.spec.as_ref();
            let image = pod.and_then(|pod| pod.containers[0].image.as_deref());
            image == Some("nginx:2")
        };
        let new = cluster.until("a", "have the image", has_image).await;
        let new = new.unwrap();
        assert_eq!(new.uid(), old.uid());
        // The entry of `create` still owns the field that nobody applies.
        assert_eq!(new.spec.min_ready_seconds, Some(5));
        after.stop().await;
    }
}
