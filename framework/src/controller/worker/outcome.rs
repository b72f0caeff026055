use std::time::Duration;

use tokio::time::Instant;

use super::invoke::Outcome;
use crate::{
    controller::{
        action::{Action, Next},
        cause::{Cause, Causes},
        state::{ControllerState, KeyState, LastFailure, LogDecision, Rounded},
    },
    queue::{Priority, Retry, Work},
    resource::ObjectKey,
};

/// A call that has ended.
pub(crate) struct FinishedCall<'a> {
    /// What the call did, for the log.
    pub(crate) verb: &'static str,
    pub(crate) key: &'a ObjectKey,
    pub(crate) run: u64,
    /// Whether the object existed.
    pub(crate) exists: bool,
}

/// Counts and logs the outcome of a call, and decides when its key comes again.
///
/// Returns the work if the only remaining step is to mark it done. Otherwise the work has gone back to the queue.
pub(crate) fn finish(
    controller: &ControllerState,
    call: &FinishedCall<'_>,
    outcome: Outcome,
    mut work: Work<ObjectKey, Causes>,
) -> Option<Work<ObjectKey, Causes>> {
    let FinishedCall {
        verb,
        key,
        run,
        exists,
    } = *call;
    let mut reason = &controller.metrics.requeues.error;
    let failure = match outcome {
        Outcome::Done(action) => {
            // The next apply of a child that an earlier run applied and this run did not must not be skipped.
            controller.key_states.with(key, |state| {
                state.applied.retain(|applied| applied.run == run);
                state.succeeded = run;
                state.failure = None;
            });
            return requeue(controller, action, work);
        }
        Outcome::OnlyFinalizers => {
            controller
                .key_states
                .leave_out(key, &controller.write_limit);
            controller.metrics.success.inc();
            return Some(work);
        }
        Outcome::Gone => {
            controller.metrics.success.inc();
            controller.key_states.remove(key);
            controller.writes.forget(key);
            return Some(work);
        }
        // No failure: the object is gone, and the event of its deletion is on its way.
        Outcome::Failed(failure) if failure.is_gone() && exists => {
            controller.metrics.requeue.inc();
            controller.metrics.requeues.gone.inc();
            work.priority = work.priority.min(Priority::Normal);
            work.note = retried(work.note);
            work.retry(Duration::ZERO);
            tracing::debug!("{verb} {} {key} ended: {failure}", controller.resource.kind);
            return None;
        }
        // No failure: an object that is being deleted gets no children any more.
        Outcome::Failed(failure) if failure.is_deletion_of(&controller.resource.kind, key) => {
            controller.metrics.success.inc();
            tracing::debug!("{verb} {} {key} ended: {failure}", controller.resource.kind);
            return wait_for_change(controller, work, Priority::Normal);
        }
        // No failure: something is not ready, and its change leads to the next call. An object that is gone has no changes.
        Outcome::Failed(failure) if failure.is_waiting() && exists => {
            controller.key_states.with(key, |state| {
                keep_applied(state, run);
                state.failure = None;
            });
            tracing::debug!("{verb} {} {key} waits: {failure}", controller.resource.kind);
            return requeue(controller, failure.next_call(), work);
        }
        Outcome::Failed(failure) => {
            if failure.is_conflict() {
                reason = &controller.metrics.requeues.conflict;
            }
            failure
        }
        Outcome::Panicked(failure) => {
            controller.metrics.panics.inc();
            reason = &controller.metrics.requeues.panic;
            failure
        }
        Outcome::TimedOut(failure) => {
            controller.metrics.timeouts.inc();
            reason = &controller.metrics.requeues.timeout;
            failure
        }
        // No failure: the change that outdated the call has added the key again.
        Outcome::Outdated => {
            controller.metrics.requeue.inc();
            controller.metrics.requeues.outdated.inc();
            return None;
        }
    };
    let text = failure.to_string();
    let failed = match failure.is_terminal() {
        true => "failed (not retried)",
        false => "failed",
    };
    let line = format!("{verb} {} {key} {failed}: {text}", controller.resource.kind);
    let (decision, failing) = controller.failures.note(key, &line, Instant::now());
    controller.key_states.with(key, |state| {
        keep_applied(state, run);
        let failure = LastFailure::new(&text, failing, state.failure.as_deref());
        state.failure = Some(failure);
    });
    controller.metrics.error.inc();
    controller.metrics.errors.inc();
    if failure.is_terminal() {
        controller.metrics.terminal_errors.inc();
        log_failure(controller, call, decision, &text, None);
        if !exists {
            controller.key_states.remove(key);
            controller.writes.forget(key);
            return Some(work);
        }
        return wait_for_change(controller, work, Priority::Low);
    }
    reason.inc();
    work.priority = work.priority.min(Priority::Normal);
    work.note = retried(work.note);
    let delay = controller.minimum_delay(&failure, work.attempt);
    let retry = work.retry(delay);
    log_failure(controller, call, decision, &text, Some(retry));
    None
}

/// Drops what is remembered of the children, except of those that `run`, which did not come to its end, or the last successful
/// run applied.
///
/// Children that this run did not reach may still be as the last successful run left them, so its entries are kept too. The
/// entries of the runs between are dropped: a reconcile that names a new child each time must not fill the memory.
fn keep_applied(state: &mut KeyState, run: u64) {
    let runs = [state.succeeded, run];
    state.applied.retain(|applied| runs.contains(&applied.run));
}

/// Why a key comes again after a call that `causes` led to and that failed.
fn retried(causes: Causes) -> Causes {
    match causes.are_only(Cause::Finalizers) {
        true => Cause::Finalizers.into(),
        false => Cause::Retry.into(),
    }
}

/// The largest number of bytes of an error's text in the log.
const LONGEST_LINE: usize = 8 << 10;

/// Logs a failure: the first of its series as a warning, or as an error if it is not retried; the others at level debug.
fn log_failure(
    controller: &ControllerState,
    call: &FinishedCall<'_>,
    decision: LogDecision,
    text: &str,
    retry: Option<Retry>,
) {
    let (verb, kind, key) = (call.verb, &controller.resource.kind, call.key);
    // A text may repeat what a tenant wrote.
    let text = &text[..text.floor_char_boundary(LONGEST_LINE)];
    if decision == LogDecision::TooMany {
        tracing::warn!(
            "too many different failures: further ones are only counted, and logged at level debug"
        );
    }
    let next = match retry {
        Some(Retry { attempt, delay }) => format!("attempt {attempt}, next in {}", Rounded(delay)),
        None => "not retried".to_owned(),
    };
    match decision {
        LogDecision::Counted => tracing::debug!("{verb} {kind} {key} failed ({next}): {text}"),
        LogDecision::First | LogDecision::TooMany if retry.is_some() => {
            tracing::warn!("{verb} {kind} {key} failed ({next}): {text}");
        }
        LogDecision::First | LogDecision::TooMany => {
            tracing::error!("{verb} {kind} {key} failed ({next}): {text}");
        }
    }
}

/// What the action of a successful reconcile asks for.
fn requeue(
    controller: &ControllerState,
    action: Action,
    mut work: Work<ObjectKey, Causes>,
) -> Option<Work<ObjectKey, Causes>> {
    let carried = work.priority.min(Priority::Normal);
    work.priority = action.priority.unwrap_or(carried);
    work.note = Cause::Requeue.into();
    match action.next {
        Next::Change => {
            controller.metrics.success.inc();
            wait_for_change(controller, work, action.priority.unwrap_or(Priority::Low))
        }
        Next::After(delay) => {
            controller.metrics.requeue_after.inc();
            controller.metrics.requeues.after.inc();
            let resync = controller.resync.as_ref().map(|resync| resync.next_delay());
            work.requeue_after(resync.map_or(delay, |resync| resync.min(delay)));
            None
        }
        Next::Backoff => {
            controller.metrics.requeue.inc();
            controller.metrics.requeues.backoff.inc();
            work.retry(Duration::ZERO);
            None
        }
    }
}

/// Waits for a change, or until the controller's resync period has passed.
fn wait_for_change(
    controller: &ControllerState,
    mut work: Work<ObjectKey, Causes>,
    priority: Priority,
) -> Option<Work<ObjectKey, Causes>> {
    let Some(resync) = &controller.resync else {
        return Some(work);
    };
    controller.metrics.requeues.interval.inc();
    work.priority = priority;
    work.note = Cause::Resync.into();
    work.requeue_after(resync.next_delay());
    None
}
