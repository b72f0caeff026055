//! Tests the framework's promises (see `ARCHITECTURE.md`) over the whole stack: operator, caches, client, HTTP/2 and an API
//! server in memory, on tokio's paused clock.

mod fault_run;
mod r10_panic_is_a_failure;
mod r12_orderly_stop;
mod r13_one_copy;
mod r14_bounded;
mod r1_one_at_a_time;
mod r2_no_lost_wake_up;
mod r2_own_writes;
mod r3_level_not_edge;
mod r4_sync_first;
mod r5_read_your_writes;
mod r5_reads_of_own_writes;
mod r6_nothing_missed;
mod r9_backoff;
mod random_faults;
mod random_reconciler;
mod seeded_random;

use crate::probe::{Probe, Widget};
use pilothouse::{operator::Operator, testing::Cluster};
use serde_json::json;

/// Starts a cluster in which the probes run, and waits until the caches have synced.
async fn started(
    probes: impl IntoIterator<Item = Probe>,
) -> (Cluster, pilothouse::operator::Running) {
    let cluster = Cluster::start().unwrap();
    let mut operator = Operator::new("promises");
    for probe in probes {
        operator = operator.controller(probe);
    }
    let running = cluster.run(operator).await.unwrap();
    (cluster, running)
}

async fn resize(cluster: &Cluster, name: &str, size: i32) {
    let patch = json!({"spec": {"size": size}});
    cluster.patch::<Widget>(name, patch).await.unwrap();
}
