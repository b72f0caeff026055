use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::containers::{EPHEMERAL, containers, statuses_of};
use super::environment;
use super::ephemeral_status;
use super::kubelet::{BACK_OFF, LOOK, rest};
use super::pod_events::PodEvents;
use super::pod_status::{self, pull_failure};
use crate::api::Handle;
use crate::clock::Moment;
use crate::controllers::simulator::START;

/// The ephemeral containers of a Pod. They start beside the others, whatever happens to those, and run until the Pod ends.
#[derive(Default)]
pub(super) struct Ephemeral {
    /// By name: where each is in its life, and since when.
    steps: BTreeMap<String, (Step, Moment)>,
}

#[derive(Clone, PartialEq, Eq)]
enum Step {
    Starting,
    PullFailed,
    PullBackOff,
    /// Its environment names something that does not exist.
    Lacking(String),
    Running,
    Ended,
}

impl Ephemeral {
    /// Moves the containers on. `refused` tells which images cannot be pulled. Returns the time until the next step.
    pub(super) fn reconcile(
        &mut self,
        handle: &Handle,
        pod: &Value,
        refused: impl Fn(&str) -> bool,
        events: &mut PodEvents,
    ) -> Option<Duration> {
        let mut delay: Option<Duration> = None;
        for container in containers(pod, EPHEMERAL) {
            let name = container["name"].as_str().unwrap_or_default();
            let now = handle.core().clock.moment();
            if !self.steps.contains_key(name) {
                let step = first(pod, name);
                report(handle, pod, container, &step);
                self.steps.insert(name.to_owned(), (step, now));
            }
            let Some((step, since)) = self.steps.get_mut(name) else {
                continue;
            };
            let is_refused = refused(container["image"].as_str().unwrap_or_default());
            while let Some(next) = following(step, *since, handle, pod, container, is_refused) {
                (*step, *since) = (next, now);
                report(handle, pod, container, step);
                tell(events, handle, pod, container, step);
            }
            let wait = match step {
                Step::Starting => rest(*since, START, handle),
                Step::PullFailed => rest(*since, BACK_OFF, handle),
                Step::Lacking(_) => Some(LOOK),
                Step::PullBackOff | Step::Running | Step::Ended => None,
            };
            delay = delay.into_iter().chain(wait).min();
        }
        delay
    }
}

/// The step of a container that was not seen before. It may have run before the sandbox was started again.
fn first(pod: &Value, name: &str) -> Step {
    let mut statuses = statuses_of(pod, EPHEMERAL);
    match statuses.find(|one| one["name"] == name) {
        Some(status) if status["state"]["running"].is_object() => Step::Running,
        Some(status) if status["state"]["terminated"].is_object() => Step::Ended,
        _ => Step::Starting,
    }
}

/// The step after this one, if it is time for it.
fn following(
    step: &Step,
    since: Moment,
    handle: &Handle,
    pod: &Value,
    container: &Value,
    is_refused: bool,
) -> Option<Step> {
    match step {
        Step::Starting if rest(since, START, handle).is_some() => None,
        Step::Starting if is_refused => Some(Step::PullFailed),
        Step::Starting | Step::Lacking(_) => {
            let next = match environment::missing(handle, pod, container) {
                Some(why) => Step::Lacking(why),
                None => Step::Running,
            };
            (next != *step).then_some(next)
        }
        Step::PullFailed | Step::PullBackOff if !is_refused => Some(Step::Starting),
        Step::PullFailed if rest(since, BACK_OFF, handle).is_none() => Some(Step::PullBackOff),
        Step::PullFailed | Step::PullBackOff | Step::Running | Step::Ended => None,
    }
}

/// Writes the step into the status.
fn report(handle: &Handle, pod: &Value, container: &Value, step: &Step) {
    let text = |field: &str| container[field].as_str().unwrap_or_default();
    let (name, image) = (text("name"), text("image"));
    let pull = |reason: &str| {
        let message = pull_failure(reason, image);
        ephemeral_status::waits(handle, pod, name, (reason, Some(&message)));
    };
    match step {
        Step::Starting => {
            ephemeral_status::waits(handle, pod, name, ("ContainerCreating", None));
        }
        Step::PullFailed => pull(pod_status::PULL),
        Step::PullBackOff => pull(pod_status::BACK_OFF),
        Step::Lacking(why) => {
            let reason = "CreateContainerConfigError";
            ephemeral_status::waits(handle, pod, name, (reason, Some(why)));
        }
        Step::Running => ephemeral_status::runs(handle, pod, name),
        Step::Ended => {}
    }
}

/// Records the Events of the step.
fn tell(events: &mut PodEvents, handle: &Handle, pod: &Value, container: &Value, step: &Step) {
    match step {
        Step::Starting | Step::Ended => {}
        Step::PullFailed => events.pull_failed(handle, pod, container),
        Step::PullBackOff => events.pull_backs_off(handle, pod, container),
        Step::Lacking(why) => events.misconfigured(handle, pod, container, why),
        Step::Running => events.started(handle, pod, container),
    }
}
