use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::{FutureExt, future::BoxFuture};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::OperatorError;
use crate::{health::Lifeline, metrics::Metrics};

/// Why an operator has to stop though nobody told it to: the first reason counts. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    first: Arc<Mutex<Option<OperatorError>>>,
    reported: CancellationToken,
    metrics: Metrics,
}

impl Trouble {
    pub(super) fn new(metrics: Metrics) -> Self {
        Self {
            first: Arc::default(),
            reported: CancellationToken::new(),
            metrics,
        }
    }

    pub(super) fn report(&self, error: OperatorError) {
        self.first().get_or_insert(error);
        self.reported.cancel();
    }

    /// Cancelled with the first report.
    pub(super) fn reported(&self) -> &CancellationToken {
        &self.reported
    }

    pub(super) fn take(&self) -> Option<OperatorError> {
        self.first().take()
    }

    /// Runs a task whose panic is trouble; `name` is one of a few, for the metric.
    pub(super) fn spawn(
        &self,
        tracker: &TaskTracker,
        name: &'static str,
        detail: &str,
        task: BoxFuture<'static, ()>,
    ) -> tokio::task::JoinHandle<()> {
        let (trouble, detail) = (self.clone(), detail.to_owned());
        let panics = self.metrics.task_panics(name);
        let guarded = async move {
            let lifeline = Lifeline::new();
            if lifeline.guard(&detail, task).await.is_none() {
                panics.inc();
                trouble.failed(lifeline.cut().await);
            }
        };
        tracker.spawn(guarded.boxed())
    }

    /// Reports what tasks of another module die of, until `end`.
    pub(super) fn watch(
        &self,
        tracker: &TaskTracker,
        name: &'static str,
        lifeline: Lifeline,
        end: CancellationToken,
    ) {
        let trouble = self.clone();
        let panics = self.metrics.task_panics(name);
        let watching = async move {
            if let Some(reason) = end.run_until_cancelled(lifeline.cut()).await {
                panics.inc();
                trouble.failed(reason);
            }
        };
        tracker.spawn(watching.boxed());
    }

    pub(super) fn failed(&self, reason: String) {
        self.report(OperatorError::Task { reason });
    }

    fn first(&self) -> MutexGuard<'_, Option<OperatorError>> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
