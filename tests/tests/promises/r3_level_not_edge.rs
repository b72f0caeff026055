//! R3: what counts is the state when the call starts.

use std::time::Duration;

use pilothouse::{
    k8s::api::core::v1::ConfigMap,
    operator::Operator,
    prelude::*,
    testing::{Answer, Cluster, RequestMatcher},
};

use super::{
    dice::seeds,
    probe::{Probe, Widget, widget},
    resize, started,
    storm::Storm,
    walker::{Ended, Verb},
};

#[tokio::test(start_paused = true)]
async fn ten_changes_may_be_one_call_and_the_last_state_is_seen() {
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
async fn deleted_runs_once_and_only_for_what_had_been_reconciled() {
    let cluster = Cluster::start().unwrap();
    cluster.install::<Widget>().await.unwrap();
    let probe = Probe::idle().reading::<ConfigMap>("widget");
    let seen = probe.seen();
    // As long as what it reads cannot be listed, keys wait.
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
async fn in_all_weather_calls_get_what_the_cache_has_and_deleted_comes_once_after_a_reconcile() {
    for seed in seeds(300, 2) {
        let storm = Storm::of(seed).await;
        let not_level = storm.record.state().not_level.clone();
        let calls = storm.record.state().calls.clone();
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
        storm.end().await;
    }
}
