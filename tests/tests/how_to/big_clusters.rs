//! An operator for clusters with very many objects.

// ANCHOR: recipe
use pilothouse::{
    k8s::api::core::v1::Pod,
    prelude::*,
    queue::{ExponentialBackoff, MaxOf, TokenBucket},
    resource::ObjectKey,
};

use crate::site::{Site, SiteStatus};

/// What the operator needs of a Pod. All other fields are skipped when it is read.
#[derive(Resource, Deserialize, Serialize, Clone, Debug)]
#[resource(view_of = Pod)]
struct RunningPod {
    metadata: ObjectMeta,
    status: PodPhase,
}

#[derive(Deserialize, Serialize, Clone, Debug, Default)]
#[serde(default)]
struct PodPhase {
    phase: String,
}

/// The Site of a Pod, from its label.
fn site_of(pod: &RunningPod) -> Vec<ObjectKey> {
    let site = pod.label("app");
    let key = |site| ObjectKey::new(pod.namespace(), site);
    site.map(key).into_iter().collect()
}

struct PodCount;

impl Reconciler for PodCount {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .watches(site_of)
            .index(site_of)
            // 16 objects at once, none for longer than a minute.
            .concurrency(16)
            .timeout(Duration::from_secs(60))
            // Each failing object waits up to 15 minutes, and all together retry 50 times per second.
            .rate_limiter(MaxOf(
                ExponentialBackoff::new(Duration::from_millis(100), Duration::from_secs(900)),
                TokenBucket::new(50.0, 500),
            ))
    }

    async fn reconcile(&self, _: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        // By the index: the cost does not depend on the number of all Pods.
        let pods = cx.indexed(site_of, cx.key())?.items;
        let running = pods.iter().filter(|pod| pod.status.phase == "Running");
        let running = i32::try_from(running.count())?;
        cx.modify_status(|status: &mut SiteStatus| status.ready = running)
            .await?;
        Ok(Action::wait())
    }
}

fn operator() -> Operator {
    Operator::new("sites")
        .controller(PodCount)
        .informers(|informers| {
            // Only Pods with the label, in pages, and without annotations that nobody reads.
            informers
                .tweak::<RunningPod>(|scope| scope.labels("app").page_size(500))
                .transform::<RunningPod>(|pod| {
                    pod.metadata.annotations = None;
                    Ok(())
                })
        })
}
// ANCHOR_END: recipe

mod tests {
    use pilothouse::testing::Cluster;

    use super::*;
    use crate::{site::deployment, world::site};

    #[tokio::test(start_paused = true)]
    async fn the_pods_of_a_site_are_counted() {
        let cluster = Cluster::start().unwrap();
        let running = cluster.run(operator()).await.unwrap();
        let mut a = site("a");
        a.spec.replicas = 3;
        cluster.create(&a).await.unwrap();
        cluster.create(&deployment("a", &a)).await.unwrap();
        cluster.create(&deployment("b", &a)).await.unwrap();
        cluster
            .until("a", "have three Pods", |site: &Site| {
                site.status.as_ref().is_some_and(|status| status.ready == 3)
            })
            .await
            .unwrap();
        running.stop().await;
    }
}
