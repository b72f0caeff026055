use std::time::Duration;

use tokio::time::Instant;

use super::{
    action::{Action, Next},
    call::Outcome,
    causes::{Cause, Causes},
    failure_log::{Rounded, Told},
    hub::Hub,
    key_states::LastFailure,
};
use crate::{
    queue::{Priority, Retry, Work},
    resource::ObjectKey,
};

/// A call that has ended.
pub(super) struct Ended<'a> {
    /// What it did.
    pub(super) verb: &'static str,
    pub(super) key: &'a ObjectKey,
    pub(super) run: u64,
    /// Whether the object was there.
    pub(super) exists: bool,
}

/// What becomes of a key after its call. The work is given back if all that is left is to say that it is done.
pub(super) fn settle(
    hub: &Hub,
    ended: &Ended<'_>,
    outcome: Outcome,
    mut work: Work<ObjectKey, Causes>,
) -> Option<Work<ObjectKey, Causes>> {
    let Ended {
        verb,
        key,
        run,
        exists,
    } = *ended;
    let mut reason = &hub.metrics.requeues.error;
    let failure = match outcome {
        Outcome::Done(action) => {
            // What an earlier run applied and this one did not is not ours to skip any more.
            hub.states.with(key, |state| {
                state.applied.retain(|applied| applied.run == run);
                state.succeeded = run;
                state.failure = None;
            });
            return again(hub, action, work);
        }
        Outcome::Gone => {
            hub.metrics.success.inc();
            hub.states.remove(key);
            hub.writes.forget(key);
            return Some(work);
        }
        // No failure either: the event that tells of it is on its way.
        Outcome::Failed(failure) if failure.is_gone() && exists => {
            hub.metrics.requeue.inc();
            hub.metrics.requeues.gone.inc();
            work.priority = work.priority.min(Priority::Normal);
            work.note = Cause::Retry.into();
            work.retry(Duration::ZERO);
            tracing::debug!("{verb} {} {key} ended: {failure}", hub.kind);
            return None;
        }
        Outcome::Failed(failure) => {
            if failure.is_conflict() {
                reason = &hub.metrics.requeues.conflict;
            }
            failure
        }
        Outcome::Panicked(failure) => {
            hub.metrics.panics.inc();
            reason = &hub.metrics.requeues.panic;
            failure
        }
        Outcome::TimedOut(failure) => {
            hub.metrics.timeouts.inc();
            reason = &hub.metrics.requeues.timeout;
            failure
        }
        // No failure: the change that made it so has asked for the next one.
        Outcome::Outdated => {
            hub.metrics.requeue.inc();
            hub.metrics.requeues.outdated.inc();
            return None;
        }
    };
    // What it did not come to may still be as the last good run left it. Of the failed ones between
    // nothing is kept: a child that each of them names anew must not add up.
    let text = failure.to_string();
    let failed = match failure.is_terminal() {
        true => "failed (not retried)",
        false => "failed",
    };
    let line = format!("{verb} {} {key} {failed}: {text}", hub.kind);
    let (told, failing) = hub.failures.note(key, &line, Instant::now());
    hub.states.with(key, |state| {
        let runs = [state.succeeded, run];
        state.applied.retain(|applied| runs.contains(&applied.run));
        let failure = LastFailure::new(&text, failing, state.failure.as_deref());
        state.failure = Some(failure);
    });
    hub.metrics.error.inc();
    hub.metrics.errors.inc();
    if failure.is_terminal() {
        hub.metrics.terminal_errors.inc();
        tell(hub, ended, told, &text, None);
        if !exists {
            hub.states.remove(key);
            hub.writes.forget(key);
            return Some(work);
        }
        return rest(hub, work, Priority::Low);
    }
    reason.inc();
    work.priority = work.priority.min(Priority::Normal);
    work.note = Cause::Retry.into();
    let at_least = hub.at_least(&failure, work.attempt);
    let retry = work.retry(at_least);
    tell(hub, ended, told, &text, Some(retry));
    None
}

/// Logs a failure: the first of its series as a warning, or as an error if it is not retried; the others for debugging.
fn tell(hub: &Hub, ended: &Ended<'_>, told: Told, text: &str, retry: Option<Retry>) {
    let (verb, kind, key) = (ended.verb, hub.kind, ended.key);
    if told == Told::TooMany {
        tracing::warn!(
            "too many different failures: further ones are counted, and logged only at level debug"
        );
    }
    let next = match retry {
        Some(Retry { attempt, delay }) => format!("attempt {attempt}, next in {}", Rounded(delay)),
        None => "not retried".to_owned(),
    };
    match told {
        Told::Counted => tracing::debug!("{verb} {kind} {key} failed ({next}): {text}"),
        Told::First | Told::TooMany if retry.is_some() => {
            tracing::warn!("{verb} {kind} {key} failed ({next}): {text}");
        }
        Told::First | Told::TooMany => {
            tracing::error!("{verb} {kind} {key} failed ({next}): {text}");
        }
    }
}

/// After a reconcile that went well.
fn again(
    hub: &Hub,
    action: Action,
    mut work: Work<ObjectKey, Causes>,
) -> Option<Work<ObjectKey, Causes>> {
    let carried = work.priority.min(Priority::Normal);
    work.priority = action.priority.unwrap_or(carried);
    work.note = Cause::Requeue.into();
    match action.next {
        Next::Change => {
            hub.metrics.success.inc();
            rest(hub, work, action.priority.unwrap_or(Priority::Low))
        }
        Next::After(delay) => {
            hub.metrics.requeue_after.inc();
            hub.metrics.requeues.after.inc();
            let pace = hub.pace.as_ref().map(|pace| pace.next());
            work.requeue_after(pace.map_or(delay, |pace| pace.min(delay)));
            None
        }
        Next::Backoff => {
            hub.metrics.requeue.inc();
            hub.metrics.requeues.backoff.inc();
            work.retry(Duration::ZERO);
            None
        }
    }
}

/// Nothing until something changes, or until the controller's interval has passed.
fn rest(
    hub: &Hub,
    mut work: Work<ObjectKey, Causes>,
    priority: Priority,
) -> Option<Work<ObjectKey, Causes>> {
    let Some(pace) = &hub.pace else {
        return Some(work);
    };
    hub.metrics.requeues.interval.inc();
    work.priority = priority;
    work.note = Cause::Resync.into();
    work.requeue_after(pace.next());
    None
}
