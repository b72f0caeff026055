//! R12: how an operator stops.

use std::time::Duration;

use pilothouse::{health::Query, prelude::*};

use super::started;
use crate::probe::{Probe, widget};

#[tokio::test(start_paused = true)]
async fn at_the_stop_running_reconciles_finish_no_new_ones_start_and_readiness_fails() {
    let probe = Probe::new(async |_, _| {
        tokio::time::sleep(Duration::from_secs(20)).await;
        Ok(Action::wait())
    });
    let seen = probe.seen();
    let (cluster, running) = started([probe]).await;
    cluster.create(&widget("a", 1)).await.unwrap();
    seen.until_calls("a", 1).await;
    let ready = running.ready().clone();
    let begun = tokio::time::Instant::now();
    let stop = tokio::spawn(running.stop());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!ready.report(&Query::default()).healthy());
    cluster.create(&widget("b", 1)).await.unwrap();
    stop.await.unwrap();
    assert_eq!((seen.finished("a"), seen.sizes("b").len()), (1, 0));
    assert!(
        begun.elapsed() < Duration::from_secs(21),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_does_not_end_is_cancelled_after_25_s() {
    let probe = Probe::new(async |_, _| std::future::pending().await);
    let seen = probe.seen();
    let (cluster, running) = started([probe]).await;
    cluster.create(&widget("a", 1)).await.unwrap();
    seen.until_calls("a", 1).await;
    let begun = tokio::time::Instant::now();
    running.stop().await;
    let took = begun.elapsed();
    assert!(
        (Duration::from_secs(25)..Duration::from_secs(29)).contains(&took),
        "{took:?}"
    );
    assert_eq!(seen.finished("a"), 0);
}
