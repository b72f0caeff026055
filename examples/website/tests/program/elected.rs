//! Two processes of the operator, with flags for leader election.

use crate::run::World;

/// Flags for the Lease, with times at which a slow machine does not lose it.
const FLAGS: [&str; 8] = [
    "--lease-name",
    "sites",
    "--lease-namespace",
    "operators",
    "--lease-duration",
    "40s",
    "--renew-deadline",
    "30s",
];

/// The number of reconciles.
fn reconciles(metrics: &str) -> u64 {
    let line = "controller_runtime_reconcile_total{controller=\"website\",result=\"success\"} ";
    let count = metrics.lines().find_map(|one| one.strip_prefix(line));
    count.and_then(|count| count.parse().ok()).unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_processes_reconciles_and_the_other_takes_over_when_it_stops() {
    let world = World::new().await;
    world.site("one").await;
    let mut first = world.run(&FLAGS);
    first.ready("leader-election ok: leading as ").await;
    first.until("/metrics", |text| reconciles(text) > 0).await;
    let second = world.run(&FLAGS);
    second.ready("leader-election ok: standing by; ").await;
    second.ready("readyz check passed").await;
    let metrics = crate::run::get(&second.url, "/metrics", "").await.1;
    assert_eq!(reconciles(&metrics), 0);
    assert!(metrics.contains("leader_election_master_status{name=\"sites\"} 0\n"));
    first.signal("TERM");
    assert_eq!(first.end().code(), Some(0));
    second.ready("leader-election ok: leading as ").await;
    world.site("two").await;
    second.until("/metrics", |text| reconciles(text) > 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_without_leader_election_reconciles_beside_the_leader() {
    let world = World::new().await;
    world.site("one").await;
    for _ in 0..2 {
        let website = world.run(&["--leader-elect=false"]);
        website.until("/metrics", |text| reconciles(text) > 0).await;
        let ready = crate::run::get(&website.url, "/readyz?verbose", "").await.1;
        assert!(!ready.contains("leader-election"), "{ready}");
    }
}
