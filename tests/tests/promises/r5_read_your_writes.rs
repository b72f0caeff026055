//! R5: no reconcile sees an older state than the last reconcile of its key wrote. The test program `read_your_writes`
//! tests its clauses.

use super::{fault_run::FaultRun, seeded_random::seeds};

#[tokio::test(start_paused = true)]
async fn under_faults_no_reconcile_sees_an_older_child_than_it_wrote() {
    for seed in seeds(500, 2) {
        let fault_run = FaultRun::of(seed).await;
        assert_eq!(fault_run.record.state().stale, [""; 0], "seed {seed}");
        let metrics = fault_run.running.metrics().encode();
        let skips = "stale_sync_skips_total{controller=\"widget\"} ";
        let skips = metrics.lines().find_map(|line| line.strip_prefix(skips));
        assert!(
            skips.is_some_and(|skips| skips != "0"),
            "seed {seed}: {skips:?}"
        );
        fault_run.end().await;
    }
}
