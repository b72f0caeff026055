//! R1: calls for one key never overlap.

use std::time::Duration;

use pilothouse::prelude::*;

use super::{
    dice::seeds,
    probe::{Probe, Widget, widget},
    resize, started,
    storm::Storm,
};

#[tokio::test(start_paused = true)]
async fn calls_for_one_key_never_overlap_and_other_keys_go_on() {
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
async fn no_weather_makes_calls_for_one_key_overlap() {
    for seed in seeds(100, 2) {
        let storm = Storm::of(seed).await;
        assert_eq!(storm.record.state().overlaps, [""; 0], "seed {seed}");
        storm.end().await;
    }
}
