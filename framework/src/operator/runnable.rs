use std::fmt;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::{OperatorError, Setup, readiness::Readiness, shutdown_cause::ShutdownCause};
use crate::{controller::Failure, election::LeadershipGate};

type Start =
    Box<dyn FnOnce(Setup, CancellationToken) -> BoxFuture<'static, Result<(), Failure>> + Send>;

/// A task of the user that an operator starts and stops with its controllers.
pub(super) struct Runnable {
    pub(super) name: String,
    /// Whether it runs only while this process leads.
    pub(super) leads: bool,
    start: Start,
}

/// When a runnable starts and tokens.
pub(super) struct RunnableContext {
    pub(super) readiness: Readiness,
    pub(super) leadership_gate: Option<LeadershipGate>,
    pub(super) closing: CancellationToken,
    pub(super) abort: CancellationToken,
    pub(super) shutdown_cause: ShutdownCause,
}

impl Runnable {
    pub(super) fn new<S, F>(name: String, leads: bool, start: S) -> Self
    where
        F: Future<Output = Result<(), Failure>> + Send + 'static,
        S: FnOnce(Setup, CancellationToken) -> F + Send + 'static,
    {
        let start: Start = Box::new(|setup, stop| Box::pin(start(setup, stop)));
        Self { name, leads, start }
    }

    /// Runs it from its start, when the caches are full and, if it needs leadership, this process leads.
    pub(super) async fn run(self, setup: Setup, context: RunnableContext) {
        let begin = async {
            context.readiness.caches_settled().await;
            if let Some(leadership_gate) = context.leadership_gate.filter(|_| self.leads) {
                leadership_gate.opened().await;
            }
        };
        if context.closing.run_until_cancelled(begin).await.is_none() {
            return;
        }
        let name = self.name;
        let work = (self.start)(setup, context.closing.clone());
        match context.abort.run_until_cancelled(work).await {
            Some(Ok(())) => tracing::debug!("the runnable {name} has ended"),
            Some(Err(failure)) => {
                let reason = failure.to_string();
                tracing::error!("the runnable {name} failed: {reason}");
                context
                    .shutdown_cause
                    .report(OperatorError::Runnable { name, reason });
            }
            None => tracing::warn!("the runnable {name} was cancelled"),
        }
    }
}

impl fmt::Debug for Runnable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runnable")
            .field("name", &self.name)
            .field("leads", &self.leads)
            .finish_non_exhaustive()
    }
}
