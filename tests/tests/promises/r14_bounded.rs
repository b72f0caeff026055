//! R14: what is kept ends with what it is about.

use std::{collections::BTreeSet, time::Duration};

use super::{
    dice::seeds,
    probe::Widget,
    storm::{Storm, names},
    walker::ANCHOR,
};

#[tokio::test(start_paused = true)]
async fn when_all_is_deleted_after_a_storm_nothing_waits_and_no_metric_knows_a_name() {
    for seed in seeds(700, 2) {
        let storm = Storm::of(seed).await;
        let series = |metrics: &str| {
            let lines = metrics.lines().filter(|line| !line.starts_with('#'));
            lines
                .filter_map(|line| Some(line.rsplit_once(' ')?.0.to_owned()))
                .collect::<BTreeSet<_>>()
        };
        let before = series(&storm.running.metrics().encode());
        for name in names() {
            storm.cluster.delete::<Widget>(&name).await.ok();
        }
        tokio::time::sleep(Duration::from_secs(700)).await;
        assert!(storm.parents().await.is_empty(), "seed {seed}");
        let metrics = storm.running.metrics().encode();
        for name in names().chain([ANCHOR.to_owned()]) {
            assert!(!metrics.contains(&name), "{name} of seed {seed}: {metrics}");
        }
        // Whatever else happens, there are no more of them.
        assert_eq!(series(&metrics), before, "seed {seed}");
        for line in metrics.lines() {
            let depth = line.starts_with("workqueue_depth{");
            assert!(!depth || line.ends_with(" 0"), "seed {seed}: {line}");
        }
        let report = storm.running.debug_report();
        for controller in &report.controllers {
            let kept = (controller.remembered, controller.keys.len());
            assert_eq!(kept, (0, 0), "seed {seed}: {controller:?}");
        }
        storm.end().await;
    }
}
