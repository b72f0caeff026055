use std::time::Duration;

use pilothouse::{
    k8s::api::core::v1::ConfigMap,
    operator::{Operator, Running},
    resource::Object,
    testing::{Answer, Cluster, RequestMatcher, Sandbox},
};
use serde_json::json;
use tokio::time::sleep;

use super::{
    random_faults::RandomFaults,
    random_reconciler::{ANCHOR, ANCHORS, RandomReconciler, Record, VALUE},
    seeded_random::SeededRandom,
};
use crate::probe::{Widget, widget};

/// Starts an operator during a minute of random faults, while others change parents and children. Then waits until nothing
/// changes any more.
pub(crate) struct FaultRun {
    pub(crate) cluster: Cluster,
    pub(crate) running: Running,
    pub(crate) record: Record,
}

const PARENTS: u64 = 10;

fn name(number: u64) -> String {
    format!("storm-{number}")
}

/// Returns the names of all parents and children that can exist.
pub(crate) fn names() -> impl Iterator<Item = String> {
    (0..PARENTS).map(name)
}

impl FaultRun {
    pub(crate) async fn of(seed: u64) -> Self {
        Self::with(seed, true).await
    }

    /// As [`of`](Self::of), with a reconciler that reads no child before it applies it.
    pub(crate) async fn without_reads(seed: u64) -> Self {
        Self::with(seed, false).await
    }

    async fn with(seed: u64, reads: bool) -> Self {
        let random = SeededRandom::new(seed);
        let cluster = Cluster::with(Sandbox::builder().seed(seed).simulator(false)).unwrap();
        cluster.install::<Widget>().await.unwrap();
        for number in 0..ANCHORS {
            let anchor = ConfigMap::named(format!("{ANCHOR}-{number}"));
            cluster.create(&anchor).await.unwrap();
        }
        for number in 0..PARENTS / 2 {
            cluster.create(&widget(&name(number), 0)).await.unwrap();
        }
        // The cache of children syncs later than the cache of parents.
        for verb in ["list", "watch"] {
            let reads = RequestMatcher::any().resource("configmaps").verb(verb);
            let refused = Answer::status(500, "InternalError");
            cluster.faults().answer(reads, refused, 2);
        }
        let random_faults = RandomFaults {
            cluster: cluster.clone(),
            random: random.clone(),
        };
        let random_faults = tokio::spawn(random_faults.inject_for(Duration::from_secs(60)));
        let record = Record::default();
        let reconciler = RandomReconciler {
            random: random.clone(),
            record: record.clone(),
            finalizes: seed.is_multiple_of(2),
            reads,
        };
        let operator = Operator::new("storm").controller(reconciler);
        let running = operator.start(cluster.client().clone()).await.unwrap();
        while !random_faults.is_finished() {
            change(&cluster, &random).await;
        }
        random_faults.await.unwrap();
        // The last backoff after a failure is at most 300 s.
        sleep(Duration::from_secs(700)).await;
        Self {
            cluster,
            running,
            record,
        }
    }

    /// Returns the existing parents.
    pub(crate) async fn parents(&self) -> Vec<Widget> {
        self.all::<Widget>().await
    }

    pub(crate) async fn all<K: pilothouse::resource::Resource>(&self) -> Vec<K> {
        self.cluster
            .api::<K>()
            .list(&Default::default())
            .await
            .unwrap()
            .items
    }

    /// Returns the expected and the actual content of its child.
    pub(crate) async fn child(&self, parent: &Widget) -> (String, Option<String>) {
        let child = self.cluster.get::<ConfigMap>(parent.name()).await.unwrap();
        let actual = child.and_then(|child| child.data?.remove(VALUE));
        (parent.spec.size.to_string(), actual)
    }

    pub(crate) async fn end(self) {
        self.running.stop().await;
    }
}

/// Changes random objects, some of them while their reconcile runs.
async fn change(cluster: &Cluster, random: &SeededRandom) {
    let name = name(random.below(PARENTS));
    let size = random.below(1000) as i32;
    let resized = json!({"spec": {"size": size}});
    // The change of an object that does not exist fails, which is fine.
    match random.below(10) {
        0 => drop(cluster.delete::<Widget>(&name).await),
        1 => drop(cluster.delete::<ConfigMap>(&name).await),
        2 => {
            let by_hand = json!({"data": {VALUE: "by hand"}});
            drop(cluster.patch::<ConfigMap>(&name, by_hand).await);
        }
        3..6 => drop(cluster.create(&widget(&name, size)).await),
        _ => drop(cluster.patch::<Widget>(&name, resized).await),
    }
    let pause = [20, 400, 1500][random.below(3) as usize];
    sleep(Duration::from_millis(random.below(pause))).await;
}
