//! R5: no reconcile sees an older state than the last reconcile of its key wrote. The test program `read_your_writes`
//! tests its clauses.

use super::{fault_run::FaultRun, seeded_random::seeds};

#[tokio::test(start_paused = true)]
async fn under_faults_no_reconcile_sees_an_older_child_than_it_wrote() {
    let mut waits = 0;
    for seed in seeds(500, 2) {
        let fault_run = FaultRun::of(seed).await;
        assert_eq!(fault_run.record.state().stale, [""; 0], "seed {seed}");
        let metrics = fault_run.running.metrics().encode();
        let skips = "stale_sync_skips_total{controller=\"widget\"} ";
        let skips = metrics.lines().find_map(|line| line.strip_prefix(skips));
        let skips = skips.and_then(|skips| skips.parse::<u64>().ok());
        waits += skips.unwrap_or_else(|| panic!("seed {seed}: no counter of waits"));
        fault_run.end().await;
    }
    // A single run may not wait at all.
    assert!(waits > 0);
}
