//! What happens after somebody has deleted a child.

// ANCHOR: recipe
use pilothouse::prelude::*;

use crate::site::{Site, SiteStatus, deployment};

struct Sites;

impl Reconciler for Sites {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<Deployment>()
    }

    async fn reconcile(&self, site: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        let web = cx.apply(deployment(site.name(), &site)).await?;
        let known = site
            .status
            .as_ref()
            .and_then(|status| status.deployment.as_deref());
        if known != web.uid() {
            let uid = web.uid().map(str::to_owned);
            cx.modify_status(|status: &mut SiteStatus| status.deployment = uid)
                .await?;
            if known.is_some() {
                cx.event(
                    NewEvent::warning("Replaced", "Apply")
                        .note("the Deployment was deleted, and was created again")
                        .related(&web),
                );
            }
        }
        Ok(Action::wait())
    }
}
// ANCHOR_END: recipe

mod tests {
    use pilothouse::testing::Cluster;

    use super::*;
    use crate::world::{reasons, site};

    #[tokio::test(start_paused = true)]
    async fn a_deleted_child_is_created_again_and_an_event_says_so_once() {
        let cluster = Cluster::start().unwrap();
        let running = cluster
            .run(Operator::new("sites").controller(Sites))
            .await
            .unwrap();
        cluster.create(&site("a")).await.unwrap();
        cluster.settle().await;
        let first = cluster.get::<Deployment>("a").await.unwrap().unwrap();
        assert_eq!(reasons(&cluster, "a").await, [""; 0]);

        cluster.delete::<Deployment>("a").await.unwrap();
        cluster
            .until("a", "be another one", |web: &Deployment| {
                web.uid() != first.uid()
            })
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(reasons(&cluster, "a").await, ["Replaced"]);
        running.stop().await;
    }
}
