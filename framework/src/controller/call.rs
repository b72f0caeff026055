use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::{Action, Context, Failure, Reconciler, finalizers, hub::message};

/// How a call of the user's code ended.
pub(super) enum Outcome {
    Done(Action),
    /// `deleted` ended well: nothing of the key is left.
    Gone,
    Failed(Failure),
    Panicked(Failure),
    TimedOut(Failure),
    /// The object has a newer generation; its key waits already.
    Outdated,
}

/// What a key whose object is gone gets. First what may have to be tried again: `deleted` comes once.
async fn gone<R: Reconciler>(reconciler: &R, context: &Context<R::Resource>) -> super::Result<()> {
    context.remove_orphans().await?;
    // It may be here for its orphans alone.
    let states = &context.shared.hub.states;
    if states.with(&context.key, |state| state.called) != Some(true) {
        return Ok(());
    }
    Box::pin(reconciler.deleted(&context.key, context)).await
}

/// Calls the user's code. When this returns the call is over: nothing of it runs any more.
pub(super) async fn call<R: Reconciler>(
    reconciler: &R,
    object: Option<Arc<R::Resource>>,
    context: &Context<R::Resource>,
    timeout: Option<Duration>,
    outdated: Option<&CancellationToken>,
) -> Outcome {
    let call = async {
        let ended = match object {
            Some(object) => {
                let ended = finalizers::reconcile(reconciler, object, context).await;
                ended.map(Outcome::Done)
            }
            None => {
                let ended = Box::pin(gone(reconciler, context)).await;
                ended.map(|()| Outcome::Gone)
            }
        };
        // The error is the user's code, too: here a panic of its text is caught.
        ended.unwrap_or_else(|failure| Outcome::Failed(failure.told()))
    };
    let limited = async {
        match timeout {
            Some(limit) => tokio::time::timeout(limit, call)
                .await
                .unwrap_or_else(|_| Outcome::TimedOut(Failure::timed_out(limit))),
            None => call.await,
        }
    };
    // Within it the call is dropped as well, so that a panic on the way out is caught.
    let limited = async {
        match outdated {
            Some(outdated) => {
                let ended = outdated.run_until_cancelled(limited).await;
                ended.unwrap_or(Outcome::Outdated)
            }
            None => limited.await,
        }
    };
    let ended = AssertUnwindSafe(limited).catch_unwind().await;
    ended.unwrap_or_else(|panic| Outcome::Panicked(Failure::panicked(message(&*panic))))
}
