//! R1: calls for one key never overlap.

use std::time::Duration;

use pilothouse::prelude::*;

use super::{fault_run::FaultRun, resize, seeded_random::seeds, started};
use crate::probe::{Probe, Widget, widget};

#[tokio::test(start_paused = true)]
async fn calls_for_one_key_never_overlap_and_other_keys_continue() {
    let probe = Probe::new(async |_, _| {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(Action::wait())
    });
    let seen = probe.seen();
    let (cluster, running) = started([probe]).await;
    for name in ["a", "b"] {
        cluster.create(&widget(name, 0)).await.unwrap();
    }
    for size in 1..20 {
        resize(&cluster, "a", size).await;
        resize(&cluster, "b", size).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    cluster.delete::<Widget>("a").await.unwrap();
    seen.until_quiet().await;
    assert_eq!(seen.most_at_once("a"), 1);
    assert_eq!(seen.most_at_once("b"), 1);
    assert_eq!(seen.most_at_once_of_all(), 2);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn under_faults_calls_for_one_key_never_overlap() {
    for seed in seeds(100, 2) {
        let fault_run = FaultRun::of(seed).await;
        assert_eq!(fault_run.record.state().overlaps, [""; 0], "seed {seed}");
        fault_run.end().await;
    }
}
