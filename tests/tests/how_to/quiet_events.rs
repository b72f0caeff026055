//! Events that repeat.

// ANCHOR: recipe
use pilothouse::{k8s::api::core::v1::Namespace, prelude::*};

use crate::site::Site;

/// Says each minute which namespaces are full.
struct Report {
    limit: usize,
}

impl Reconciler for Report {
    type Resource = Namespace;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.reads::<Site>().every(Duration::from_secs(60))
    }

    async fn reconcile(&self, namespace: Arc<Namespace>, cx: &Context<Namespace>) -> Result {
        let sites = cx.list_in::<Site>(namespace.name())?.items.len();
        if sites > self.limit {
            let note = format!("{sites} Sites, and the limit is {}", self.limit);
            cx.event(NewEvent::warning("TooManySites", "Count").note(note));
        }
        Ok(Action::wait())
    }
}
// ANCHOR_END: recipe

mod tests {
    use pilothouse::testing::Cluster;

    use super::*;
    use crate::world::{events, site};

    #[tokio::test(start_paused = true)]
    async fn a_warning_each_minute_is_one_event_with_a_count() {
        let cluster = Cluster::start().unwrap();
        cluster.install::<Site>().await.unwrap();
        for name in ["a", "b"] {
            cluster.create(&site(name)).await.unwrap();
        }
        let running = cluster
            .run(Operator::new("report").controller(Report { limit: 1 }))
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_secs(1800)).await;
        let found = events(&cluster, "default").await;
        assert_eq!(found.len(), 1, "{found:#?}");
        let series = found[0].series.as_ref().unwrap();
        assert!(series.count > 10, "{}", series.count);
        assert!(
            cluster.writes().len() < 20,
            "the count is not written each time"
        );
        running.stop().await;
    }
}
