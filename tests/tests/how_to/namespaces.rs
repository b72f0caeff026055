//! An operator that works in some namespaces only.

use pilothouse::{k8s::api::core::v1::Namespace, prelude::*, testing::Cluster};

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

// ANCHOR: recipe
fn operator() -> Operator {
    Operator::new("sites")
        .namespaces(["shop", "blog"])
        .controller(Sites)
}
// ANCHOR_END: recipe

#[tokio::test(start_paused = true)]
async fn objects_of_other_namespaces_are_neither_read_nor_reconciled() {
    let cluster = Cluster::start().unwrap();
    for name in ["shop", "blog", "other"] {
        cluster.create(&Namespace::named(name)).await.unwrap();
    }
    let running = cluster.run(operator()).await.unwrap();
    for name in ["shop", "blog", "other"] {
        let there = cluster.in_namespace(name);
        there.create(&site("a")).await.unwrap();
    }
    cluster.settle().await;
    for (name, expected) in [("shop", true), ("blog", true), ("other", false)] {
        let there = cluster.in_namespace(name);
        let web = there.get::<Deployment>("a").await.unwrap();
        assert_eq!(web.is_some(), expected, "{name}");
    }
    let everywhere = |path: &str| path == "/apis/apps/v1/deployments";
    let requests = cluster.requests();
    assert!(!requests.iter().any(|one| everywhere(&one.path)));
    running.stop().await;
}
