//! Conditions for people and for `kubectl wait`, and one Event for each change of them.

// ANCHOR: recipe
use pilothouse::{
    prelude::*,
    resource::{Conditions, NewCondition},
};

use crate::site::{Site, deployment, ready};

struct Sites;

impl Reconciler for Sites {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<Deployment>()
    }

    async fn reconcile(&self, site: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        let web = cx.apply(deployment(site.name(), &site)).await?;
        let readiness = web.readiness();
        let available = match readiness.reason() {
            None => NewCondition::is_true("Available", "PodsReady"),
            Some(reason) => NewCondition::is_false("Available", "PodsNotReady").message(reason),
        };

        let before = site.status.clone().unwrap_or_default();
        let mut status = before.clone();
        status.ready = ready(&web);
        let conditions = &mut status.conditions;
        conditions.set(available.observed(&*site), cx.now())?;
        let was_available = before.conditions.is_true("Available");
        let is_available = conditions.is_true("Available");
        cx.update_status(status).await?;

        // An Event tells of a change. A state that lasts needs none.
        if was_available && !is_available {
            let reason = readiness.reason().unwrap_or_default();
            cx.event(NewEvent::warning("Unavailable", "Watch").note(reason));
        } else if !was_available && is_available {
            cx.event(NewEvent::normal("Available", "Watch").note("all Pods are ready"));
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
    async fn the_condition_follows_the_pods_and_each_change_is_one_event() {
        let cluster = Cluster::start().unwrap();
        let running = cluster
            .run(Operator::new("sites").controller(Sites))
            .await
            .unwrap();
        let created = cluster.create(&site("a")).await.unwrap();
        let available = |site: &Site| {
            let status = site.status.clone().unwrap_or_default();
            status.conditions.is_true("Available")
        };
        let site = cluster.until("a", "be available", available).await.unwrap();
        let conditions = site.status.unwrap().conditions;
        let condition = conditions.of_type("Available").unwrap();
        assert_eq!(condition.observed_generation, created.metadata.generation);

        cluster.pods().of("a").crash_loop();
        let unavailable = |site: &Site| !available(site);
        cluster
            .until("a", "be unavailable", unavailable)
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_secs(600)).await;
        cluster.settle().await;
        assert_eq!(reasons(&cluster, "a").await, ["Available", "Unavailable"]);
        running.stop().await;
    }
}
