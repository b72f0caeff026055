//! R4: no reconcile before all caches of the controller have synced.

use std::time::Duration;

use pilothouse::{
    health::Query,
    k8s::api::core::v1::ConfigMap,
    operator::Operator,
    testing::{Answer, Cluster, RequestMatcher},
};

use super::{fault_run::FaultRun, resize, seeded_random::seeds};
use crate::probe::{Probe, Widget, widget};

#[tokio::test(start_paused = true)]
async fn no_reconcile_starts_before_all_wired_kinds_have_synced_and_readiness_says_why() {
    let cluster = Cluster::start().unwrap();
    cluster.install::<Widget>().await.unwrap();
    cluster.create(&widget("a", 1)).await.unwrap();
    let forbidden = Answer::status(403, "Forbidden").message("configmaps is forbidden");
    let reads = RequestMatcher::any().resource("configmaps");
    cluster.faults().answer(reads, forbidden, 1_000_000);

    let (held, free) = (
        Probe::idle().reading::<ConfigMap>("held"),
        Probe::idle().named("free"),
    );
    let (held_seen, free_seen) = (held.seen(), free.seen());
    let operator = Operator::new("promises").controller(held).controller(free);
    let running = operator.start(cluster.client().clone()).await.unwrap();
    free_seen.until_calls("a", 1).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(held_seen.sizes("a"), [0; 0]);
    let report = running
        .ready()
        .report(&Query::parse(Some("verbose")))
        .to_string();
    assert!(
        report
            .contains("[-]informer-configmaps failed: cannot list configmaps in all namespaces: ")
            && report.contains("configmaps is forbidden"),
        "{report}"
    );

    cluster.faults().clear();
    held_seen.until_calls("a", 1).await;
    assert!(running.ready().report(&Query::default()).healthy());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_cannot_be_watched_is_reported_at_once_and_lists_keep_it_fresh() {
    let cluster = Cluster::start().unwrap();
    cluster.install::<Widget>().await.unwrap();
    cluster.create(&widget("a", 1)).await.unwrap();
    let watches = RequestMatcher::any().verb("watch").resource("widgets");
    let forbidden = Answer::status(403, "Forbidden").message("no rule allows it");
    cluster.faults().answer(watches, forbidden, 1_000_000);
    let probe = Probe::idle();
    let seen = probe.seen();
    let operator = Operator::new("promises").controller(probe);
    let running = operator.start(cluster.client().clone()).await.unwrap();
    seen.until_calls("a", 1).await;
    let query = Query::parse(Some("verbose"));
    let report = running.ready().report(&query).to_string();
    let expected = "[-]informer-widgets.test.pilothouse.dev failed: cannot watch widgets.test.pilothouse.dev in all namespaces: forbidden: no rule allows it: bind this identity to a ClusterRole with apiGroups: [\"test.pilothouse.dev\"], resources: [\"widgets\"], verbs: [\"get\", \"list\", \"watch\"]; until then the cache is refreshed by lists (last response ";
    assert!(report.contains(expected), "{report}");

    resize(&cluster, "a", 2).await;
    seen.until_calls("a", 2).await;
    let report = running.ready().report(&query).to_string();
    assert!(report.contains(expected), "{report}");

    cluster.faults().clear();
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert!(running.ready().report(&query).healthy());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_unserved_kind_is_reported_and_starts_once_it_is_served() {
    let cluster = Cluster::start().unwrap();
    let probe = Probe::idle();
    let seen = probe.seen();
    let operator = Operator::new("promises").controller(probe);
    let running = operator.start(cluster.client().clone()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let report = running.ready().report(&Query::default()).to_string();
    let expected = "[-]informer-widgets.test.pilothouse.dev failed: widgets.test.pilothouse.dev is not served: run `promises crd | kubectl apply -f -` (failing for ";
    assert!(report.contains(expected), "{report}");
    cluster.install::<Widget>().await.unwrap();
    cluster.create(&widget("a", 1)).await.unwrap();
    seen.until_calls("a", 1).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_operator_started_under_faults_waits_for_its_caches_to_sync() {
    for seed in seeds(400, 2) {
        let fault_run = FaultRun::of(seed).await;
        assert_eq!(fault_run.record.state().unsynced, [""; 0], "seed {seed}");
        fault_run.end().await;
    }
}
