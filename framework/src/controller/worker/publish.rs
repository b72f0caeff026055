use std::time::Duration;

use tokio::time::Instant;

use super::invoke::Outcome;
use crate::{
    controller::{
        context::{
            CLEANUP_FAILED, CLEANUP_WAITING, Context, RECONCILE_FAILED, RECONCILE_WAITING,
            RECONCILED, ReadyUpdate, SUCCEEDED, set_ready,
        },
        error::{Error, Failure},
        reconcilable::Reconcilable,
    },
    events::NewEvent,
};

/// A failure that often ends by itself is shown when its object has failed for this time.
pub(super) const TRANSIENT: Duration = Duration::from_secs(10);
/// The action of the Event about a status that cannot be written.
const UPDATE_STATUS: &str = "UpdateStatus";
/// The longest text of an error in a condition, in bytes.
const LONGEST_MESSAGE: usize = 1024;

/// Shows on the object how its call ended: a failure as an Event and in the condition `Ready`, a success in the condition.
/// Nothing is shown of an object that was never reconciled and is not there.
///
/// Returns the outcome. A success whose condition cannot be written becomes a failure.
pub(crate) async fn publish<K: Reconcilable>(
    cx: &Context<K>,
    cleans_up: bool,
    outcome: Outcome,
) -> Outcome {
    if cx.object().is_none() && !was_called(cx) {
        // Only the mark of a child names the object, and anybody may write such a mark.
        return outcome;
    }
    match &outcome {
        // The object is gone: there is nothing to show the failure on.
        Outcome::Failed(failure) if failure.is_gone() && cx.object().is_some() => outcome,
        Outcome::Failed(failure) if failure.is_deletion_of(&cx.resource().kind, cx.key()) => {
            outcome
        }
        Outcome::Failed(failure) if failure.is_waiting() && cx.object().is_some() => {
            let text = failure.to_string();
            let reason = match cleans_up {
                true => CLEANUP_WAITING,
                false => RECONCILE_WAITING,
            };
            if cx.shared().ready.is_none() && cx.shared().failure_events {
                // Nothing else would show it.
                cx.event(NewEvent::normal(reason, action(cleans_up)).note(text));
                return outcome;
            }
            let update = ReadyUpdate {
                is_true: false,
                reason,
                message: cut(&text),
            };
            let shown = set_ready(cx, update).await;
            or_unshown(cx, cleans_up, outcome, shown)
        }
        Outcome::Failed(failure) | Outcome::Panicked(failure) | Outcome::TimedOut(failure) => {
            let unshown = publish_failure(cx, cleans_up, failure).await;
            outcome.and_also(unshown)
        }
        Outcome::Done(_) if cx.object().is_some_and(|object| !object.is_deleting()) => {
            let shown = publish_success(cx).await;
            or_unshown(cx, cleans_up, outcome, shown)
        }
        Outcome::Done(_) | Outcome::OnlyFinalizers | Outcome::Gone | Outcome::Outdated => outcome,
    }
}

/// The outcome of a call that did not fail, or a failure if its condition could not be written.
fn or_unshown<K: Reconcilable>(
    cx: &Context<K>,
    cleans_up: bool,
    outcome: Outcome,
    shown: Result<(), Error>,
) -> Outcome {
    match shown {
        Ok(()) => outcome,
        Err(error) => {
            let failure = Failure::from(error).into_text();
            record_failure(cx, cleans_up, UPDATE_STATUS, &failure);
            Outcome::Failed(failure)
        }
    }
}

/// The text of an error, as far as a condition shows it.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_MESSAGE)]
}

/// Whether the user's code was called for the object.
fn was_called<K: Reconcilable>(cx: &Context<K>) -> bool {
    let key_states = &cx.shared().controller.key_states;
    key_states.with(cx.key(), |state| state.called) == Some(true)
}

async fn publish_success<K: Reconcilable>(cx: &Context<K>) -> Result<(), Error> {
    let update = ReadyUpdate {
        is_true: true,
        reason: RECONCILED,
        message: SUCCEEDED,
    };
    set_ready(cx, update).await
}

/// Records the failure as an Event, unless it may soon end by itself. Returns whether it is to be shown now.
fn record_failure<K: Reconcilable>(
    cx: &Context<K>,
    cleans_up: bool,
    action: &'static str,
    failure: &Failure,
) -> bool {
    let key_states = &cx.shared().controller.key_states;
    let since = key_states.with(cx.key(), |state| Some(state.failure.as_ref()?.since));
    let lasts = since.flatten().map_or(Duration::ZERO, |since| {
        Instant::now().saturating_duration_since(since)
    });
    if failure.is_transient() && lasts < TRANSIENT {
        return false;
    }
    if cx.shared().failure_events {
        let event = NewEvent::warning(reason(cleans_up), action);
        cx.event(event.note(failure.to_string()));
    }
    true
}

/// The reason of a failure, for its Event and the condition.
fn reason(cleans_up: bool) -> &'static str {
    match cleans_up {
        true => CLEANUP_FAILED,
        false => RECONCILE_FAILED,
    }
}

/// The action of the Events about a call.
fn action(cleans_up: bool) -> &'static str {
    match cleans_up {
        true => "CleanUp",
        false => "Reconcile",
    }
}

/// Shows a failure on the object, as far as it is to be shown now.
///
/// Returns why the condition could not be written, if only a person can correct that.
pub(super) async fn publish_failure<K: Reconcilable>(
    cx: &Context<K>,
    cleans_up: bool,
    failure: &Failure,
) -> Option<Failure> {
    let is_shown = record_failure(cx, cleans_up, action(cleans_up), failure);
    // If the API server cannot be reached, another request would fail too. After a call that is made only for finalizers there
    // may be no reconcile that sets the condition to true again.
    let is_never_cleared = cx.only_finalizers && !was_called(cx);
    if !is_shown || failure.is_unreachable() || is_never_cleared {
        return None;
    }
    let text = failure.to_string();
    let update = ReadyUpdate {
        is_true: false,
        reason: reason(cleans_up),
        message: cut(&text),
    };
    let unshown = Failure::from(set_ready(cx, update).await.err()?);
    if !unshown.needs_person() {
        tracing::debug!("the failure is not shown in the condition: {unshown}");
        return None;
    }
    if !text.contains(&unshown.to_string()) {
        record_failure(cx, cleans_up, UPDATE_STATUS, &unshown);
        return Some(unshown);
    }
    None
}
