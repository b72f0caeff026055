//! One status from several children, and children that are not wanted any more.

// ANCHOR: recipe
use pilothouse::{
    prelude::*,
    resource::{Conditions, NewCondition},
};

use crate::site::{Site, deployment, ready};

/// Runs one Deployment in each region.
struct Regions;

impl Reconciler for Regions {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<Deployment>().prunes::<Deployment>()
    }

    async fn reconcile(&self, site: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        let (mut pods, mut problems) = (0, Vec::new());
        for region in &site.spec.regions {
            let name = format!("{}-{region}", site.name());
            let mut web = deployment(&name, &site);
            web.metadata.labels = Some(
                [
                    ("book.pilothouse.dev/site", site.name()),
                    ("book.pilothouse.dev/region", region.as_str()),
                ]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            );
            let web = cx.apply(web).await?;
            pods += ready(&web);
            if let Some(reason) = web.readiness().reason() {
                problems.push(format!("{region}: {reason}"));
            }
        }
        let available = match problems.is_empty() {
            true => NewCondition::is_true("Available", "AllRegions"),
            false => {
                NewCondition::is_false("Available", "SomeRegions").message(problems.join("; "))
            }
        };
        let mut status = site.status.clone().unwrap_or_default();
        status.ready = pods;
        status
            .conditions
            .set(available.observed(&*site), cx.now())?;
        cx.update_status(status).await?;
        Ok(Action::wait())
    }
}
// ANCHOR_END: recipe

mod tests {
    use pilothouse::{client::ListParams, testing::Cluster};
    use serde_json::json;

    use super::*;
    use crate::{site::SiteStatus, world::site};

    async fn names(cluster: &Cluster) -> Vec<String> {
        let params = ListParams::default().labels("book.pilothouse.dev/site=a");
        let found = cluster.api::<Deployment>().list(&params).await.unwrap();
        found
            .items
            .iter()
            .map(|web| web.name().to_owned())
            .collect()
    }

    fn status(site: &Site) -> SiteStatus {
        site.status.clone().unwrap_or_default()
    }

    #[tokio::test(start_paused = true)]
    async fn the_status_sums_up_all_regions_and_a_region_that_is_gone_is_pruned() {
        let cluster = Cluster::start().unwrap();
        let running = cluster
            .run(Operator::new("sites").controller(Regions))
            .await
            .unwrap();
        cluster.pods().of("a-us").never_ready();
        let mut a = site("a");
        a.spec.regions = vec!["eu".into(), "us".into()];
        cluster.create(&a).await.unwrap();
        let a = cluster
            .until("a", "have one Pod", |site: &Site| status(site).ready == 1)
            .await
            .unwrap();
        let conditions = status(&a).conditions;
        let available = conditions.of_type("Available").unwrap();
        assert_eq!(
            (&*available.status, &*available.message),
            ("False", "us: 0 of 1 replicas are available")
        );
        assert_eq!(names(&cluster).await, ["a-eu", "a-us"]);

        let change = json!({"spec": {"regions": ["eu"]}});
        cluster.patch::<Site>("a", change).await.unwrap();
        cluster.until_gone::<Deployment>("a-us").await.unwrap();
        cluster
            .until("a", "be available", |site: &Site| {
                status(site).conditions.is_true("Available")
            })
            .await
            .unwrap();
        running.stop().await;
    }
}
