use std::time::Duration;

use tokio::time::Instant;

use super::{
    Context, Controller, Error, Failure, Reconciler,
    call::Outcome,
    ready_condition::{
        CLEANUP_FAILED, NewReady, RECONCILE_FAILED, RECONCILED, ReadyCondition, SUCCEEDED,
    },
};
use crate::{events::Event, resource::Resource};

/// What a controller shows of its calls on the objects.
#[derive(Default)]
pub(super) struct Publishing {
    events: bool,
    pub(super) ready: Option<ReadyCondition>,
}

/// A failure that often ends by itself is shown when its object has failed for so long.
const PASSING: Duration = Duration::from_secs(10);
/// So much of an error's text is shown in a condition, in bytes.
const LONGEST_MESSAGE: usize = 1024;

impl Publishing {
    pub(super) fn of<R: Reconciler>(controller: &Controller<R>, operator: &str) -> Self {
        let ready = controller.ready_condition;
        Self {
            events: controller.failure_events,
            ready: ready
                .then(|| ReadyCondition::of::<R::Resource>(operator))
                .flatten(),
        }
    }
}

/// Shows on the object how its call ended: a failure as an Event and in the condition `Ready`, a success in the condition.
///
/// Gives the outcome back; a success whose condition cannot be written is a failure.
pub(super) async fn publish<K: Resource>(
    cx: &Context<K>,
    cleans_up: bool,
    outcome: Outcome,
) -> Outcome {
    match &outcome {
        // The object is gone, and with it what could be shown.
        Outcome::Failed(failure) if failure.is_gone() && cx.object.is_some() => outcome,
        Outcome::Failed(failure) | Outcome::Panicked(failure) | Outcome::TimedOut(failure) => {
            cx.publish_failure(cleans_up, failure).await;
            outcome
        }
        Outcome::Done(_)
            if cx
                .object
                .as_ref()
                .is_some_and(|object| !object.is_deleting()) =>
        {
            match cx.publish_success().await {
                Ok(()) => outcome,
                Err(error) => Outcome::Failed(Failure::from(error).told()),
            }
        }
        Outcome::Done(_) | Outcome::Gone | Outcome::Outdated => outcome,
    }
}

impl<K: Resource> Context<K> {
    async fn publish_success(&self) -> Result<(), Error> {
        let new = NewReady {
            is_true: true,
            reason: RECONCILED,
            message: SUCCEEDED,
        };
        self.set_ready(new).await
    }

    async fn publish_failure(&self, cleans_up: bool, failure: &Failure) {
        let hub = &self.shared.hub;
        let since = hub
            .states
            .with(&self.key, |state| Some(state.failure.as_ref()?.since));
        let lasts = since.flatten().map_or(Duration::ZERO, |since| {
            Instant::now().saturating_duration_since(since)
        });
        if failure.is_passing() && lasts < PASSING {
            return;
        }
        let (reason, action) = match cleans_up {
            true => (CLEANUP_FAILED, "CleanUp"),
            false => (RECONCILE_FAILED, "Reconcile"),
        };
        let text = failure.to_string();
        if hub.publishing.events {
            self.event(Event::warning(reason, action).note(text.as_str()));
        }
        // A request more would only add to the trouble.
        if failure.is_unreachable() {
            return;
        }
        let new = NewReady {
            is_true: false,
            reason,
            message: &text[..text.floor_char_boundary(LONGEST_MESSAGE)],
        };
        if let Err(error) = self.set_ready(new).await {
            tracing::debug!("the failure is not shown in the condition: {error}");
        }
    }
}
