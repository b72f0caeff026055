//! What an operator would change, without a change.

// ANCHOR: recipe
use pilothouse::{
    client::{Api, Patch, PatchParams},
    prelude::*,
};
use serde_json::json;

use crate::site::{Site, SiteStatus, deployment};

/// With this annotation the operator only says what it would change.
const DRY_RUN: &str = "book.pilothouse.dev/dry-run";

struct Sites;

impl Reconciler for Sites {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<Deployment>()
    }

    async fn reconcile(&self, site: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        let web = deployment(site.name(), &site);
        let plan = match site.annotation(DRY_RUN) {
            Some("true") => Some(plan(&site, web, cx).await?),
            _ => {
                cx.apply(web).await?;
                None
            }
        };
        cx.modify_status(|status: &mut SiteStatus| status.plan = plan)
            .await?;
        Ok(Action::wait())
    }
}

/// Lets the API server do everything but store the Deployment, and compares.
async fn plan(site: &Site, web: Deployment, cx: &Context<Site>) -> Result<String> {
    let namespace = site.namespace().unwrap_or("default");
    let api = Api::<Deployment>::namespaced(cx.live(), namespace);
    let mut body = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": web.spec});
    body["metadata"] = json!({"name": web.metadata.name});
    let params = PatchParams::apply("sites").force().dry_run();
    let then = api.patch(web.name(), &params, &Patch::Apply(body)).await?;
    Ok(match cx.get::<Deployment>(web.name())? {
        None => format!("create the Deployment {}", web.name()),
        Some(now) if now.spec != then.spec => format!("change the Deployment {}", web.name()),
        Some(_) => "nothing".to_owned(),
    })
}
// ANCHOR_END: recipe

mod tests {
    use pilothouse::testing::Cluster;

    use super::*;
    use crate::world::site;

    fn plan(expected: Option<&'static str>) -> impl Fn(&Site) -> bool {
        move |site| {
            let status = site.status.as_ref();
            status.is_some_and(|status| status.plan.as_deref() == expected)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_plan_is_shown_and_nothing_changes() {
        let cluster = Cluster::start().unwrap();
        let running = cluster
            .run(Operator::new("sites").controller(Sites))
            .await
            .unwrap();
        let dry = |on: Option<&str>| json!({"metadata": {"annotations": {DRY_RUN: on}}});
        let mut a = site("a");
        a.metadata.annotations = Some([(DRY_RUN.to_owned(), "true".to_owned())].into());
        cluster.create(&a).await.unwrap();
        let create = plan(Some("create the Deployment a"));
        cluster.until("a", "say create", create).await.unwrap();
        assert!(cluster.get::<Deployment>("a").await.unwrap().is_none());

        cluster.patch::<Site>("a", dry(None)).await.unwrap();
        cluster
            .until("a", "exist", |_: &Deployment| true)
            .await
            .unwrap();
        cluster.patch::<Site>("a", dry(Some("true"))).await.unwrap();
        cluster
            .until("a", "say nothing", plan(Some("nothing")))
            .await
            .unwrap();
        let change = json!({"spec": {"image": "nginx:2"}});
        cluster.patch::<Site>("a", change).await.unwrap();
        let change = plan(Some("change the Deployment a"));
        cluster.until("a", "say change", change).await.unwrap();
        let web = cluster.get::<Deployment>("a").await.unwrap().unwrap();
        let pod = web.spec.template.spec.unwrap();
        assert_eq!(pod.containers[0].image.as_deref(), Some("nginx:1"));
        running.stop().await;
    }
}
