use std::fmt;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::{OperatorError, Setup, readiness::Readiness, trouble::Trouble};
use crate::{controller::Failure, election::Turn};

type Start =
    Box<dyn FnOnce(Setup, CancellationToken) -> BoxFuture<'static, Result<(), Failure>> + Send>;

/// Work of the user's own that an operator starts and stops with its controllers.
pub(super) struct Runnable {
    pub(super) name: String,
    /// Whether it runs only while this process leads.
    pub(super) leads: bool,
    start: Start,
}

/// When a runnable begins and ends.
pub(super) struct Span {
    pub(super) readiness: Readiness,
    pub(super) turn: Option<Turn>,
    pub(super) closing: CancellationToken,
    pub(super) abort: CancellationToken,
    pub(super) trouble: Trouble,
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

    /// From its beginning, when the caches are full and this process leads where that matters, to its end.
    pub(super) async fn run(self, setup: Setup, span: Span) {
        let begin = async {
            span.readiness.settled().await;
            if let Some(turn) = span.turn.filter(|_| self.leads) {
                turn.come().await;
            }
        };
        if span.closing.run_until_cancelled(begin).await.is_none() {
            return;
        }
        let name = self.name;
        let work = (self.start)(setup, span.closing.clone());
        match span.abort.run_until_cancelled(work).await {
            Some(Ok(())) => tracing::debug!("the runnable {name} has ended"),
            Some(Err(failure)) => {
                let reason = failure.to_string();
                tracing::error!("the runnable {name} failed: {reason}");
                span.trouble
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
