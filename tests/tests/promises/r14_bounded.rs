//! R14: all state about an object is dropped with the object.

use std::{collections::BTreeSet, time::Duration};

use super::{
    fault_run::{FaultRun, names},
    random_reconciler::ANCHOR,
    seeded_random::seeds,
};
use crate::probe::Widget;

#[tokio::test(start_paused = true)]
async fn after_all_objects_are_deleted_no_key_waits_and_no_metric_has_their_names() {
    for seed in seeds(700, 2) {
        let fault_run = FaultRun::of(seed).await;
        let series = |metrics: &str| {
            let lines = metrics.lines().filter(|line| !line.starts_with('#'));
            lines
                .filter_map(|line| Some(line.rsplit_once(' ')?.0.to_owned()))
                .collect::<BTreeSet<_>>()
        };
        let before = series(&fault_run.running.metrics().encode());
        for name in names() {
            fault_run.cluster.delete::<Widget>(&name).await.ok();
        }
        tokio::time::sleep(Duration::from_secs(700)).await;
        assert!(fault_run.parents().await.is_empty(), "seed {seed}");
        let metrics = fault_run.running.metrics().encode();
        for name in names().chain([ANCHOR.to_owned()]) {
            assert!(!metrics.contains(&name), "{name} of seed {seed}: {metrics}");
        }
        // The number of series does not grow.
        assert_eq!(series(&metrics), before, "seed {seed}");
        for line in metrics.lines() {
            let depth = line.starts_with("workqueue_depth{");
            assert!(!depth || line.ends_with(" 0"), "seed {seed}: {line}");
        }
        let report = fault_run.running.debug_report();
        for controller in &report.controllers {
            let kept = (controller.remembered, controller.keys.len());
            assert_eq!(kept, (0, 0), "seed {seed}: {controller:?}");
        }
        fault_run.end().await;
    }
}
