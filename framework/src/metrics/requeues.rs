use prometheus::{IntCounter, IntCounterVec};

/// How often a reconcile led to another one of its own accord, by reason.
#[derive(Clone, Debug)]
pub struct RequeueMetrics {
    /// It asked for one after a while.
    pub after: IntCounter,
    /// It asked for one with backoff.
    pub backoff: IntCounter,
    /// The interval of the controller.
    pub interval: IntCounter,
    /// It failed.
    pub error: IntCounter,
    /// It failed because somebody else had changed an object that it wrote.
    pub conflict: IntCounter,
    /// It panicked.
    pub panic: IntCounter,
    /// It took too long.
    pub timeout: IntCounter,
    /// Its object had a newer generation before it was done.
    pub outdated: IntCounter,
    /// The object went away while it was reconciled.
    pub gone: IntCounter,
}

impl RequeueMetrics {
    pub(super) fn of(family: &IntCounterVec, controller: &str) -> Self {
        let of = |reason| family.with_label_values(&[controller, reason]);
        Self {
            after: of("requeue_after"),
            backoff: of("requeue"),
            interval: of("interval"),
            error: of("error"),
            conflict: of("conflict"),
            panic: of("panic"),
            timeout: of("timeout"),
            outdated: of("outdated"),
            gone: of("gone"),
        }
    }
}
