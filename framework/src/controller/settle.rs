use std::time::Duration;

use super::{Context, Failure, call::Outcome};
use crate::{
    queue::Work,
    resource::{ObjectKey, Resource},
};

/// What becomes of a key after its call.
pub(super) fn settle<K: Resource>(
    verb: &str,
    context: &Context<K>,
    outcome: Outcome,
    work: Work<ObjectKey>,
) {
    let hub = &context.shared.hub;
    let key = &context.key;
    let failure = match outcome {
        Outcome::Done(action) => {
            // What an earlier run applied and this one did not is not ours to skip any more.
            hub.states.with(key, |state| {
                state
                    .applied
                    .retain(|_, applied| applied.run == context.run);
                state.succeeded = context.run;
            });
            match action.after {
                Some(delay) => {
                    hub.metrics.requeue_after.inc();
                    work.requeue_after(delay);
                }
                None => {
                    hub.metrics.success.inc();
                    work.done();
                }
            }
            return;
        }
        Outcome::Gone => {
            hub.metrics.success.inc();
            hub.states.remove(key);
            hub.writes.forget(key);
            return work.done();
        }
        Outcome::Failed(failure) => failure,
        Outcome::Panicked(message) => {
            hub.metrics.panics.inc();
            Failure::new(format!("panicked: {message}"))
        }
        Outcome::TimedOut(limit) => {
            hub.metrics.timeouts.inc();
            Failure::new(format!("not done within {limit:?}"))
        }
    };
    // What it did not come to may still be as the last good run left it. Of the failed ones between
    // nothing is kept: a child that each of them names anew must not add up.
    hub.states.with(key, |state| {
        let runs = [state.succeeded, context.run];
        state
            .applied
            .retain(|_, applied| runs.contains(&applied.run));
    });
    hub.metrics.error.inc();
    hub.metrics.errors.inc();
    let kind = K::KIND;
    if failure.is_terminal() {
        hub.metrics.terminal_errors.inc();
        if context.object.is_none() {
            hub.states.remove(key);
            hub.writes.forget(key);
        }
        work.done();
        tracing::error!("{verb} {kind} {key} failed (not retried): {failure}");
        return;
    }
    let retry = work.retry(failure.at_least());
    tracing::warn!(
        "{verb} {kind} {key} failed (attempt {}, next in {}): {failure}",
        retry.attempt,
        Rounded(retry.delay),
    );
}

/// `20ms`, `1.3s`, `5m0s`: as precise as a reader needs.
struct Rounded(Duration);

impl std::fmt::Display for Rounded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.0.as_secs_f64();
        match self.0.as_secs() {
            0 => write!(f, "{}ms", self.0.as_millis()),
            1..60 => write!(f, "{}s", (seconds * 10.0).round() / 10.0),
            whole => write!(f, "{}m{}s", whole / 60, whole % 60),
        }
    }
}
