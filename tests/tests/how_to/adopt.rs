//! Objects that existed before the operator.

// ANCHOR: recipe
use pilothouse::{controller::Child, prelude::*};

use crate::site::{Site, deployment};

/// With this label a person lets the operator take over a Deployment.
const ADOPT: &str = "book.pilothouse.dev/adopt";

struct Sites;

impl Reconciler for Sites {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<Deployment>()
    }

    async fn reconcile(&self, site: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        let existing = cx.get::<Deployment>(site.name())?;
        let child = Child::new(deployment(site.name(), &site));
        let child = match existing {
            Some(web) if web.label(ADOPT) == Some("true") => child.adopting(),
            _ => child,
        };
        cx.apply_child(child).await?;
        Ok(Action::wait())
    }
}
// ANCHOR_END: recipe

mod tests {
    use pilothouse::testing::Cluster;
    use serde_json::json;

    use super::*;
    use crate::world::{ready_message, site};

    #[tokio::test(start_paused = true)]
    async fn an_object_of_somebody_else_is_taken_over_only_with_the_label() {
        let cluster = Cluster::start().unwrap();
        let old = deployment("a", &site("other"));
        let old = cluster.create(&old).await.unwrap();
        let running = cluster
            .run(Operator::new("sites").controller(Sites))
            .await
            .unwrap();
        cluster.create(&site("a")).await.unwrap();
        cluster
            .until("a", "say why", |site: &Site| {
                ready_message(site).contains("Deployment default/a")
            })
            .await
            .unwrap();
        let web = cluster.get::<Deployment>("a").await.unwrap().unwrap();
        assert!(web.metadata.owner_references.is_none());

        let change = json!({"metadata": {"labels": {ADOPT: "true"}}});
        cluster.patch::<Deployment>("a", change).await.unwrap();
        // The object is nobody's child yet, so its change wakes nobody: ask for a reconcile.
        let change = json!({"metadata": {"annotations": {"pilothouse.dev/reconcile-now": "1"}}});
        cluster.patch::<Site>("a", change).await.unwrap();
        let web = cluster
            .until("a", "belong to the Site", |web: &Deployment| {
                web.metadata.owner_references.is_some()
            })
            .await
            .unwrap();
        assert_eq!(web.uid(), old.uid(), "the object stays the same");
        running.stop().await;
    }
}
