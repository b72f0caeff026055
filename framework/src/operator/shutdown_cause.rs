use std::sync::Arc;

use futures_util::{FutureExt, future::BoxFuture};
use parking_lot::Mutex;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::OperatorError;
use crate::{health::TaskMonitor, metrics::Metrics};

/// The first reason why an operator must stop without being told to. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct ShutdownCause {
    first: Arc<Mutex<Option<OperatorError>>>,
    reported: CancellationToken,
    metrics: Metrics,
}

impl ShutdownCause {
    pub(super) fn new(metrics: Metrics) -> Self {
        Self {
            first: Arc::default(),
            reported: CancellationToken::new(),
            metrics,
        }
    }

    pub(super) fn report(&self, error: OperatorError) {
        self.first.lock().get_or_insert(error);
        self.reported.cancel();
    }

    /// A token that is cancelled with the first report.
    pub(super) fn reported(&self) -> &CancellationToken {
        &self.reported
    }

    pub(super) fn take(&self) -> Option<OperatorError> {
        self.first.lock().take()
    }

    /// Spawns a task whose panic stops the operator. `name` is a label of the metric and must be one of a few.
    pub(super) fn spawn(
        &self,
        tracker: &TaskTracker,
        name: &'static str,
        detail: &str,
        task: BoxFuture<'static, ()>,
    ) -> tokio::task::JoinHandle<()> {
        let (shutdown_cause, detail) = (self.clone(), detail.to_owned());
        let panics = self.metrics.task_panics(name);
        let guarded = async move {
            let task_monitor = TaskMonitor::new();
            if task_monitor.run(&detail, task).await.is_none() {
                panics.inc();
                shutdown_cause.failed(task_monitor.first_panic().await);
            }
        };
        tracker.spawn(guarded.boxed())
    }

    /// Reports a panic of another module's tasks, until `end`.
    pub(super) fn watch(
        &self,
        tracker: &TaskTracker,
        name: &'static str,
        task_monitor: TaskMonitor,
        end: CancellationToken,
    ) {
        let shutdown_cause = self.clone();
        let panics = self.metrics.task_panics(name);
        let watching = async move {
            if let Some(reason) = end.run_until_cancelled(task_monitor.first_panic()).await {
                panics.inc();
                shutdown_cause.failed(reason);
            }
        };
        tracker.spawn(watching.boxed());
    }

    pub(super) fn failed(&self, reason: String) {
        self.report(OperatorError::Task { reason });
    }
}
