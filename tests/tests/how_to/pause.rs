//! An annotation that pauses one object. The operator needs no code for it.

use pilothouse::{controller::annotations::PAUSED, prelude::*, testing::Cluster};
use serde_json::json;

use crate::{
    site::{Site, deployment},
    world::site,
};

struct Sites;

impl Reconciler for Sites {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<Deployment>()
    }

    async fn reconcile(&self, site: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        cx.apply(deployment(site.name(), &site)).await?;
        Ok(Action::wait())
    }
}

async fn replicas(cluster: &Cluster, name: &str) -> Option<i32> {
    let web = cluster.get::<Deployment>(name).await.unwrap().unwrap();
    web.spec.replicas
}

// ANCHOR: recipe
#[tokio::test(start_paused = true)]
async fn a_paused_object_keeps_its_children_as_they_are() {
    let cluster = Cluster::start().unwrap();
    let running = cluster
        .run(Operator::new("sites").controller(Sites))
        .await
        .unwrap();
    for name in ["a", "b"] {
        cluster.create(&site(name)).await.unwrap();
    }
    cluster.settle().await;

    let pause = |value: Option<&str>| json!({"metadata": {"annotations": {PAUSED: value}}});
    cluster
        .patch::<Site>("a", pause(Some("true")))
        .await
        .unwrap();
    for name in ["a", "b"] {
        let change = json!({"spec": {"replicas": 2}});
        cluster.patch::<Site>(name, change).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(replicas(&cluster, "a").await, Some(1));
    assert_eq!(replicas(&cluster, "b").await, Some(2));

    // Without the annotation the object is reconciled at once.
    cluster.patch::<Site>("a", pause(None)).await.unwrap();
    cluster.settle().await;
    assert_eq!(replicas(&cluster, "a").await, Some(2));
    running.stop().await;
}
// ANCHOR_END: recipe
