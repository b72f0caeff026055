//! Operators with one fault each, and one without.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use pilothouse::{
    election::{Election, ElectionSettings, Leading},
    k8s::api::core::v1::ConfigMap,
    metrics::Metrics,
    operator::Running,
    prelude::*,
    server::Address,
    testing::{Answer, Cluster, RequestMatcher, Sandbox},
};
use serde_json::json;

use crate::probe::{Probe, Widget, widget};

/// A ConfigMap of numbers. Only the number 1 decodes.
#[derive(Resource, Clone, Debug, Deserialize, Serialize)]
#[resource(view_of = ConfigMap)]
struct Numbers {
    metadata: ObjectMeta,
    data: Option<BTreeMap<String, Number>>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
enum Number {
    #[serde(rename = "1")]
    One,
}

/// A running operator, and the alert that its fault must cause.
pub(crate) struct Faulty {
    pub(crate) job: &'static str,
    pub(crate) alert: Option<&'static str>,
    cluster: Cluster,
    running: Vec<Running>,
    /// A leader that an operator of this list stands by for. Its end releases nothing, as that of a killed process; an operator
    /// that is dropped would release the Lease.
    leader: Option<Leading>,
}

impl Faulty {
    /// Where its processes serve metrics.
    pub(crate) fn targets(&self) -> impl Iterator<Item = (&'static str, SocketAddr)> {
        let addresses = self.running.iter().filter_map(Running::http_address);
        addresses.map(|address| (self.job, address))
    }

    /// Lets the leader end without a release of its Lease.
    pub(crate) fn cut_short(&mut self) {
        drop(self.leader.take());
    }

    /// Changes objects, so that there is work and the caches receive events. The clients of a server that is out of reach
    /// could not do this.
    pub(crate) async fn touch(&self, time: usize) {
        match self.job {
            "unreachable" => return,
            "failing" => drop(self.cluster.create(&widget(&format!("w{time}"), 1)).await),
            _ => {}
        }
        let beat = json!({"spec": {"size": time}});
        self.cluster.patch::<Widget>("beat", beat).await.unwrap();
        let beat = json!({"metadata": {"annotations": {"beat": time.to_string()}}});
        self.cluster.patch::<ConfigMap>("beat", beat).await.unwrap();
    }
}

fn operator(probe: Probe) -> Operator {
    Operator::new("pages")
        .controller(probe)
        .metrics_address(Address::loopback(0))
}

fn election() -> ElectionSettings {
    let [lease, renew, retry] = [4000, 3000, 500].map(Duration::from_millis);
    ElectionSettings::new("pages").times(lease, renew, retry)
}

/// A cluster on the machine's clock, as Prometheus is.
async fn cluster() -> Cluster {
    let cluster = Cluster::with(Sandbox::builder().simulator(true)).unwrap();
    cluster.install::<Widget>().await.unwrap();
    cluster.create(&widget("beat", 1)).await.unwrap();
    cluster.create(&ConfigMap::named("beat")).await.unwrap();
    cluster
}

async fn leads(running: &Running) {
    let leads = || {
        let status = "leader_election_master_status";
        running.metrics().value(status, &[("name", "pages")]) == Some(1.0)
    };
    while !leads() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A leader and its standby, both in order.
pub(crate) async fn healthy() -> Faulty {
    let cluster = cluster().await;
    let start = || cluster.run(operator(Probe::idle()).election(election()));
    let leader = start().await.unwrap();
    leads(&leader).await;
    let standby = start().await.unwrap();
    Faulty {
        job: "healthy",
        alert: None,
        running: vec![leader, standby],
        leader: None,
        cluster,
    }
}

/// Each reconcile hangs.
pub(crate) async fn hanging() -> Faulty {
    let cluster = cluster().await;
    let probe = Probe::new(|_, _| std::future::pending());
    let running = cluster.run(operator(probe)).await.unwrap();
    for number in 0..6 {
        let one = widget(&format!("w{number}"), 1);
        cluster.create(&one).await.unwrap();
    }
    Faulty {
        job: "hanging",
        alert: Some("PilothouseQueueStuck"),
        running: vec![running],
        leader: None,
        cluster,
    }
}

/// Each reconcile fails.
pub(crate) async fn failing() -> Faulty {
    let cluster = cluster().await;
    let probe = Probe::new(|_, _| async { Err(Failure::new("planted")) });
    let running = cluster.run(operator(probe)).await.unwrap();
    Faulty {
        job: "failing",
        alert: Some("PilothouseReconcileErrors"),
        running: vec![running],
        leader: None,
        cluster,
    }
}

/// The API server cannot be reached any more.
pub(crate) async fn unreachable() -> Faulty {
    let cluster = cluster().await;
    let running = cluster.run(operator(Probe::idle())).await.unwrap();
    cluster.faults().partition(RequestMatcher::any());
    Faulty {
        job: "unreachable",
        alert: Some("PilothouseCacheStale"),
        running: vec![running],
        leader: None,
        cluster,
    }
}

/// The API server refuses the Lease.
pub(crate) async fn leaderless() -> Faulty {
    let cluster = cluster().await;
    let leases = RequestMatcher::any().resource("leases");
    let refusal = Answer::status(403, "Forbidden");
    cluster.faults().answer(leases, refusal, usize::MAX);
    let operator = operator(Probe::idle()).election(election());
    let running = cluster.run(operator).await.unwrap();
    Faulty {
        job: "leaderless",
        alert: Some("PilothouseNoLeader"),
        running: vec![running],
        leader: None,
        cluster,
    }
}

/// An object does not fit the Rust type.
pub(crate) async fn undecodable() -> Faulty {
    let cluster = cluster().await;
    let mut numbers = ConfigMap::named("numbers");
    numbers.data = Some([("key".into(), "2".into())].into());
    cluster.create(&numbers).await.unwrap();
    let probe = Probe::idle().reading::<Numbers>("widget");
    let running = cluster.run(operator(probe)).await.unwrap();
    Faulty {
        job: "undecodable",
        alert: Some("PilothouseUndecodable"),
        running: vec![running],
        leader: None,
        cluster,
    }
}

/// A leader that will end without a release of its Lease, and an operator that stands by.
pub(crate) async fn cut_short() -> Faulty {
    let cluster = cluster().await;
    let leader = Election::new(cluster.client(), election(), &Metrics::new()).unwrap();
    let leader = leader.lead().await;
    let operator = operator(Probe::idle()).election(election());
    let running = cluster.run(operator).await.unwrap();
    Faulty {
        job: "cut-short",
        alert: Some("PilothouseStopCutShort"),
        running: vec![running],
        leader: Some(leader),
        cluster,
    }
}
