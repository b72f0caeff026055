//! A stop while blocking code runs (R12). Meanwhile the paused clock advances only when the test advances it.

use std::{
    sync::{Arc, mpsc as blocking_mpsc},
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use tokio::{sync::mpsc, task::yield_now, time::Instant};
use tokio_util::sync::CancellationToken;

use super::world::*;
use crate::{
    controller::{Action, Context, Reconciler, Result},
    election::ElectionSettings,
    operator::{Operator, OperatorError},
};

/// Blocks until the test sends something.
#[derive(Clone)]
struct Blocking {
    begun: mpsc::UnboundedSender<()>,
    waits: Arc<Mutex<blocking_mpsc::Receiver<()>>>,
}

impl Reconciler for Blocking {
    type Resource = ConfigMap;

    async fn reconcile(&self, _: Arc<ConfigMap>, cx: &Context<ConfigMap>) -> Result {
        let this = self.clone();
        cx.blocking(move || {
            // The test may be over.
            let _ = this.begun.send(());
            let _ = this.waits.lock().recv();
        })
        .await;
        Ok(Action::wait())
    }
}

/// Starts an operator whose reconcile of `default/one` has begun to block, and begins to stop it after that. The blocking code
/// ends when the stop has lasted for `work`, if that is given. Returns how long the stop took.
async fn stop_while_blocking(
    process: &Process,
    work: Option<Duration>,
) -> (std::result::Result<(), OperatorError>, Duration) {
    let (begun, mut has_begun) = mpsc::unbounded_channel();
    let (go_on, waits) = blocking_mpsc::channel();
    let blocking = Blocking {
        begun,
        waits: Arc::new(Mutex::new(waits)),
    };
    let election = ElectionSettings::new("scribe")
        .on_tokio_clock()
        .identity(process.name);
    let operator = Operator::new("scribe")
        .controller(blocking)
        .election(election);
    let running = process.start(operator).await;
    process.create("one").await;
    has_begun.recv().await.unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    let begun = Instant::now();
    let stopping = tokio::spawn(running.run_until(stop));
    while !stopping.is_finished() && work.is_none_or(|work| begun.elapsed() < work) {
        tokio::time::advance(seconds(1) / 10).await;
        for _ in 0..50 {
            yield_now().await;
        }
        assert!(begun.elapsed() < seconds(29), "the stop takes too long");
    }
    if work.is_some() {
        assert!(!stopping.is_finished(), "the stop did not wait");
        // From here on the runtime advances the clock, and not before the blocking code has ended.
        go_on.send(()).unwrap();
    }
    let ended = stopping.await.unwrap();
    (ended, begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn blocking_code_without_end_does_not_hold_up_the_stop_and_the_lease_is_not_released() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let (ended, took) = stop_while_blocking(&a, None).await;
    assert!(took >= seconds(25), "{took:?}");
    let error = ended.unwrap_err().to_string();
    let expected = "cancelled work did not end in time, because it blocks its thread: controller configmap with default/one";
    assert_eq!(error, expected);
    assert_eq!(a.holder().await, "a");
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_for_blocking_code_that_ends_in_time() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let (ended, took) = stop_while_blocking(&a, Some(seconds(20))).await;
    ended.unwrap();
    assert!(took < seconds(22), "{took:?}");
    assert_eq!(a.holder().await, "");
}
