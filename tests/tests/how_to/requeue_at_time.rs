//! A reconcile at a certain time of the day.

// ANCHOR: recipe
use pilothouse::prelude::*;

use crate::site::{Site, deployment};

/// Seconds after midnight, in UTC.
const OPENS: i64 = 6 * 3600;
const CLOSES: i64 = 22 * 3600;
const DAY: i64 = 24 * 3600;

/// Closes the Sites at night.
struct OpeningHours;

impl Reconciler for OpeningHours {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<Deployment>()
    }

    async fn reconcile(&self, site: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        let second = cx.now().as_second().rem_euclid(DAY);
        let (is_open, until) = match second {
            ..OPENS => (false, OPENS),
            OPENS..CLOSES => (true, CLOSES),
            _ => (false, DAY + OPENS),
        };
        let mut web = deployment(site.name(), &site);
        if !is_open {
            web.spec.replicas = Some(0);
        }
        cx.apply(web).await?;
        let wait = Duration::from_secs((until - second).unsigned_abs());
        Ok(Action::requeue_after(wait))
    }
}
// ANCHOR_END: recipe

mod tests {
    use pilothouse::testing::Cluster;

    use super::*;
    use crate::world::site;

    // ANCHOR: test
    #[tokio::test(start_paused = true)]
    async fn a_site_opens_in_the_morning_and_closes_at_night() {
        // The clock of the test begins at midnight.
        let cluster = Cluster::start().unwrap();
        let running = cluster
            .run(Operator::new("sites").controller(OpeningHours))
            .await
            .unwrap();
        cluster.create(&site("a")).await.unwrap();
        for (hours, expected) in [(1, 0), (6, 1), (14, 1), (2, 0), (8, 1)] {
            tokio::time::sleep(Duration::from_secs(hours * 3600)).await;
            let web = cluster.get::<Deployment>("a").await.unwrap().unwrap();
            assert_eq!(web.spec.replicas, Some(expected), "at {}", cluster.now());
        }
        running.stop().await;
    }
    // ANCHOR_END: test
}
