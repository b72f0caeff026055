//! Tests with an API server that fails.

use pilothouse::{
    prelude::*,
    testing::{Answer, Cluster, RequestMatcher},
};

use crate::{
    site::{Site, SiteStatus, deployment},
    world::site,
};

struct Sites;

impl Reconciler for Sites {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<Deployment>()
    }

    async fn reconcile(&self, site: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        let web = cx.apply(deployment(site.name(), &site)).await?;
        let uid = web.uid().map(str::to_owned);
        cx.modify_status(|status: &mut SiteStatus| status.deployment = uid)
            .await?;
        Ok(Action::wait())
    }
}

// ANCHOR: recipe
#[tokio::test(start_paused = true)]
async fn a_site_gets_one_deployment_whatever_the_api_server_does() {
    let cluster = Cluster::start().unwrap();
    let running = cluster
        .run(Operator::new("sites").controller(Sites))
        .await
        .unwrap();
    let writes = RequestMatcher::any().verb("patch").resource("deployments");
    // Two writes are refused, and the next one is carried out although its response is lost.
    let refusal = Answer::status(503, "ServiceUnavailable");
    cluster.faults().answer(writes.clone(), refusal, 2);
    cluster.faults().lose_responses(writes, 1);
    // The cache of the Deployments stays behind for a minute.
    let watches = RequestMatcher::any().resource("deployments");
    cluster.faults().hold_watches(watches);
    cluster.create(&site("a")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    cluster.faults().release_watches();

    let known = |site: &Site| {
        let status = site.status.as_ref();
        status.is_some_and(|status| status.deployment.is_some())
    };
    let site = cluster.until("a", "know its child", known).await.unwrap();
    let web = cluster.get::<Deployment>("a").await.unwrap().unwrap();
    let status = site.status.unwrap();
    assert_eq!(status.deployment.as_deref(), web.uid());
    running.stop().await;
}
// ANCHOR_END: recipe
