//! R3: a call gets the state at its start.

use std::time::Duration;

use pilothouse::{
    k8s::api::core::v1::ConfigMap,
    operator::Operator,
    prelude::*,
    testing::{Answer, Cluster, RequestMatcher},
};

use super::{
    fault_run::FaultRun,
    random_reconciler::{Ended, Verb},
    resize,
    seeded_random::seeds,
    started,
};
use crate::probe::{Probe, Widget, widget};

#[tokio::test(start_paused = true)]
async fn ten_changes_may_cause_one_call_which_sees_the_last_state() {
    let probe = Probe::new(async |_, _| {
        tokio::time::sleep(Duration::from_secs(5)).await;
        Ok(Action::wait())
    });
    let seen = probe.seen();
    let (cluster, running) = started([probe]).await;
    cluster.create(&widget("a", 0)).await.unwrap();
    seen.until_calls("a", 1).await;
    for size in 1..=10 {
        resize(&cluster, "a", size).await;
    }
    seen.until_quiet().await;
    assert_eq!(seen.sizes("a"), [0, 10]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn deleted_runs_once_and_only_for_reconciled_keys() {
    let cluster = Cluster::start().unwrap();
    cluster.install::<Widget>().await.unwrap();
    let probe = Probe::idle().reading::<ConfigMap>("widget");
    let seen = probe.seen();
    // Keys wait as long as the controller cannot list the kinds that it reads.
    let reads = RequestMatcher::any().resource("configmaps");
    cluster
        .faults()
        .answer(reads, Answer::status(500, "InternalError"), 1_000_000);
    let operator = Operator::new("promises").controller(probe);
    let running = operator.start(cluster.client().clone()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    for name in ["a", "b"] {
        cluster.create(&widget(name, 1)).await.unwrap();
    }
    cluster.settle().await;
    cluster.delete::<Widget>("b").await.unwrap();
    cluster.settle().await;
    cluster.faults().clear();
    seen.until_calls("a", 1).await;
    cluster.delete::<Widget>("a").await.unwrap();
    seen.until_quiet().await;
    assert_eq!((seen.sizes("a"), seen.deletions("a")), (vec![1], 1));
    assert_eq!((seen.sizes("b"), seen.deletions("b")), (vec![], 0));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn under_faults_calls_get_the_cached_state_and_deleted_runs_once_after_a_reconcile() {
    for seed in seeds(300, 2) {
        let fault_run = FaultRun::of(seed).await;
        let not_level = fault_run.record.state().not_level.clone();
        let calls = fault_run.record.state().calls.clone();
        assert_eq!(not_level, [""; 0], "seed {seed}");
        let mut deletions = 0;
        for (name, calls) in &calls {
            let mut had_been_reconciled = false;
            for call in calls {
                if call.verb == Verb::Deleted {
                    assert!(had_been_reconciled, "{name} of seed {seed}: {calls:?}");
                    had_been_reconciled = call.ended != Ended::Well;
                    deletions += 1;
                } else {
                    had_been_reconciled = true;
                }
            }
        }
        assert!(deletions > 0, "seed {seed} deletes nothing");
        fault_run.end().await;
    }
}
