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
    dice::Dice,
    probe::{Widget, widget},
    walker::{ANCHOR, ANCHORS, Record, VALUE, Walker},
    weather::Weather,
};

/// A minute of bad weather over an operator that is started in it, while parents and children are changed by others; and
/// then a time in which everything comes to rest.
pub(crate) struct Storm {
    pub(crate) cluster: Cluster,
    pub(crate) running: Running,
    pub(crate) record: Record,
}

const PARENTS: u64 = 10;

fn name(number: u64) -> String {
    format!("storm-{number}")
}

/// Names of all parents and children that there ever are.
pub(crate) fn names() -> impl Iterator<Item = String> {
    (0..PARENTS).map(name)
}

impl Storm {
    pub(crate) async fn of(seed: u64) -> Self {
        let dice = Dice::new(seed);
        let cluster = Cluster::with(Sandbox::builder().seed(seed).simulator(false)).unwrap();
        cluster.install::<Widget>().await.unwrap();
        for number in 0..ANCHORS {
            let anchor = ConfigMap::named(format!("{ANCHOR}-{number}"));
            cluster.create(&anchor).await.unwrap();
        }
        for number in 0..PARENTS / 2 {
            cluster.create(&widget(&name(number), 0)).await.unwrap();
        }
        // The children's cache comes later than the parents'.
        for verb in ["list", "watch"] {
            let reads = RequestMatcher::any().resource("configmaps").verb(verb);
            let refused = Answer::status(500, "InternalError");
            cluster.faults().answer(reads, refused, 2);
        }
        let weather = Weather {
            cluster: cluster.clone(),
            dice: dice.clone(),
        };
        let weather = tokio::spawn(weather.blow(Duration::from_secs(60)));
        let record = Record::default();
        let walker = Walker {
            dice: dice.clone(),
            record: record.clone(),
            finalizes: seed.is_multiple_of(2),
        };
        let operator = Operator::new("storm").controller(walker);
        let running = operator.start(cluster.client().clone()).await.unwrap();
        while !weather.is_finished() {
            change(&cluster, &dice).await;
        }
        weather.await.unwrap();
        // The last pause after a failure is 300 s at most.
        sleep(Duration::from_secs(700)).await;
        Self {
            cluster,
            running,
            record,
        }
    }

    /// The parents that there are.
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

    /// What its child should bear, and what it bears.
    pub(crate) async fn child(&self, parent: &Widget) -> (String, Option<String>) {
        let child = self.cluster.get::<ConfigMap>(parent.name()).await.unwrap();
        let borne = child.and_then(|child| child.data?.remove(VALUE));
        (parent.spec.size.to_string(), borne)
    }

    pub(crate) async fn end(self) {
        self.running.stop().await;
    }
}

/// Somebody changes something, some of it while its reconcile runs.
async fn change(cluster: &Cluster, dice: &Dice) {
    let name = name(dice.below(PARENTS));
    let size = dice.below(1000) as i32;
    let resized = json!({"spec": {"size": size}});
    // What is not there is not changed: then the answer is an error.
    match dice.below(10) {
        0 => drop(cluster.delete::<Widget>(&name).await),
        1 => drop(cluster.delete::<ConfigMap>(&name).await),
        2 => {
            let by_hand = json!({"data": {VALUE: "by hand"}});
            drop(cluster.patch::<ConfigMap>(&name, by_hand).await);
        }
        3..6 => drop(cluster.create(&widget(&name, size)).await),
        _ => drop(cluster.patch::<Widget>(&name, resized).await),
    }
    let pause = [20, 400, 1500][dice.below(3) as usize];
    sleep(Duration::from_millis(dice.below(pause))).await;
}
