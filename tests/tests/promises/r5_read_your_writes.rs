//! R5: no reconcile on older ground than the last one wrote. Its clauses have a test program of their own,
//! `read_your_writes`.

use super::{dice::seeds, storm::Storm};

#[tokio::test(start_paused = true)]
async fn no_weather_shows_an_older_child_than_was_written() {
    for seed in seeds(500, 2) {
        let storm = Storm::of(seed).await;
        assert_eq!(storm.record.state().stale, [""; 0], "seed {seed}");
        let metrics = storm.running.metrics().encode();
        let skips = "stale_sync_skips_total{controller=\"widget\"} ";
        let skips = metrics.lines().find_map(|line| line.strip_prefix(skips));
        assert!(
            skips.is_some_and(|skips| skips != "0"),
            "seed {seed}: {skips:?}"
        );
        storm.end().await;
    }
}
