//! R2: a change seen after a reconcile began triggers another reconcile.

use std::time::Duration;

use pilothouse::prelude::*;

use super::{
    fault_run::FaultRun,
    random_reconciler::{Ended, Verb},
    resize,
    seeded_random::seeds,
    started,
};
use crate::probe::{Probe, Widget, widget};

#[tokio::test(start_paused = true)]
async fn a_change_during_a_reconcile_triggers_another_reconcile() {
    let probe = Probe::new(async |_, _| {
        tokio::time::sleep(Duration::from_secs(5)).await;
        Ok(Action::wait())
    });
    let seen = probe.seen();
    let (cluster, running) = started([probe]).await;
    cluster.create(&widget("a", 1)).await.unwrap();
    seen.until_calls("a", 1).await;
    resize(&cluster, "a", 2).await;
    seen.until_quiet().await;
    assert_eq!(seen.sizes("a"), [1, 2]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_deletion_during_a_reconcile_triggers_deleted() {
    let probe = Probe::new(async |_, _| {
        tokio::time::sleep(Duration::from_secs(5)).await;
        Ok(Action::wait())
    });
    let seen = probe.seen();
    let (cluster, running) = started([probe]).await;
    cluster.create(&widget("a", 1)).await.unwrap();
    seen.until_calls("a", 1).await;
    cluster.delete::<Widget>("a").await.unwrap();
    seen.until_quiet().await;
    assert_eq!((seen.sizes("a"), seen.deletions("a")), (vec![1], 1));
    running.stop().await;
}

/// Checks that after the faults the last call of each key saw the last state, and that its write exists.
#[tokio::test(start_paused = true)]
async fn under_faults_the_last_state_is_always_reconciled() {
    for seed in seeds(200, 2) {
        let fault_run = FaultRun::of(seed).await;
        let parents = fault_run.parents().await;
        assert!(!parents.is_empty());
        for parent in &parents {
            let (wanted, actual) = fault_run.child(parent).await;
            assert_eq!(actual, Some(wanted), "{} of seed {seed}", parent.name());
            let state = fault_run.record.state();
            let last = state.calls[parent.name()].last().unwrap();
            let expected = (
                Verb::Reconcile,
                Ended::Well,
                Some(parent.spec.size),
                parent.uid(),
            );
            assert_eq!(
                (last.verb, last.ended, last.size, last.uid.as_deref()),
                expected,
                "{} of seed {seed}",
                parent.name()
            );
        }
        let calls = fault_run.record.state().calls.clone();
        let is_there = |name: &str| parents.iter().any(|parent| parent.name() == name);
        for (name, calls) in calls.iter().filter(|(name, _)| !is_there(name)) {
            let last = calls.last().unwrap();
            let expected = (Verb::Deleted, Ended::Well);
            assert_eq!((last.verb, last.ended), expected, "{name} of seed {seed}");
        }
        fault_run.end().await;
    }
}
