use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::pod_status::{self, Exit, cannot_be_pulled, images};
use crate::api::{DeleteOptions, Handle};
use crate::clock::Moment;
use crate::controllers::simulator::object::{controller, number, owner_of, pods, since};
use crate::controllers::simulator::{RUN, START, STOP};
use crate::meta;
use crate::pods::{Applied, Behaviour};

/// The first pause before containers that exited for the second time start again. It doubles up to [`LONGEST_BACK_OFF`].
const BACK_OFF: Duration = Duration::from_secs(10);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(300);
/// Containers that ran as long as this start again without a back-off.
const STABLE: Duration = Duration::from_secs(600);
/// The pause before containers that exited for the first time start again.
const RESTART: Duration = Duration::from_secs(1);

/// Runs the Pods of the simulated node.
///
/// Times in objects are whole seconds, so the exact times of the steps are held here.
#[derive(Default)]
pub(in crate::controllers::simulator) struct Kubelet {
    /// By the UID of the Pod. An entry lives as long as the Pod.
    lives: BTreeMap<String, Life>,
}

/// Where a Pod is in its life.
struct Life {
    step: Step,
    since: Moment,
    /// The rule of the present run.
    rule: Option<u64>,
    /// How often its containers exited without having been stable.
    exits: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Starting,
    /// An image cannot be pulled.
    PullFailed,
    Running,
    /// The containers exited and start again after this time.
    Restarting(Duration, Exit),
    /// The Pod is being deleted.
    Ending,
}

impl Life {
    fn new(step: Step, now: Moment) -> Self {
        Self {
            step,
            since: now,
            rule: None,
            exits: 0,
        }
    }

    fn enter(&mut self, step: Step, handle: &Handle) {
        self.step = step;
        self.since = handle.core().clock.moment();
    }

    /// The rest of a time that began with the step; `None` if it is over.
    fn rest(&self, time: Duration, handle: &Handle) -> Option<Duration> {
        rest(self.since, time, handle)
    }
}

fn rest(since: Moment, time: Duration, handle: &Handle) -> Option<Duration> {
    let rest = time.checked_sub(handle.core().clock.since(since));
    rest.filter(|rest| !rest.is_zero())
}

impl Kubelet {
    /// Moves a Pod that is bound to the node on. Returns the time until the next step.
    pub(in crate::controllers::simulator) fn reconcile(
        &mut self,
        handle: &Handle,
        pod: &Value,
    ) -> Option<Duration> {
        if pod_status::is_terminal(pod) {
            self.forget(meta::uid(pod));
            return None;
        }
        let step = match pod["status"]["phase"] == "Running" {
            true => Step::Running,
            false => Step::Starting,
        };
        let uid = meta::uid(pod).to_owned();
        let life = self
            .lives
            .entry(uid)
            .or_insert_with(|| Life::new(step, handle.core().clock.moment()));
        if let Some(limit) = pod["spec"]["activeDeadlineSeconds"].as_u64() {
            let age = since(handle, &pod["status"]["startTime"]);
            if age.is_some_and(|age| age >= Duration::from_secs(limit)) {
                pod_status::deadline_exceeded(handle, pod);
                return None;
            }
            let next = life.live(handle, pod);
            let left = Duration::from_secs(limit).saturating_sub(age.unwrap_or_default());
            return Some(next.map_or(left, |next| next.min(left)));
        }
        life.live(handle, pod)
    }

    /// Ends the containers of a Pod that is being deleted, and removes the Pod. Returns the time until it does.
    pub(in crate::controllers::simulator) fn end(
        &mut self,
        handle: &Handle,
        pod: &Value,
    ) -> Option<Duration> {
        let uid = meta::uid(pod).to_owned();
        // Without a grace period the containers have ended, and only finalizers hold the Pod.
        let killed = number(pod, "/metadata/deletionGracePeriodSeconds") == 0;
        let life = self.lives.entry(uid);
        let life = life.or_insert_with(|| Life::new(Step::Ending, handle.core().clock.moment()));
        if life.step != Step::Ending {
            life.enter(Step::Ending, handle);
        }
        if !killed && let Some(rest) = life.rest(STOP, handle) {
            return Some(rest);
        }
        if !meta::finalizers(pod).is_empty() && !pod_status::is_terminal(pod) {
            pod_status::exited(handle, pod, Exit::TERMINATED);
        }
        if !killed {
            remove(handle, pod);
        }
        None
    }

    /// Forgets a Pod that is gone.
    pub(in crate::controllers::simulator) fn forget(&mut self, uid: &str) {
        self.lives.remove(uid);
    }
}

fn remove(handle: &Handle, pod: &Value) {
    let options = DeleteOptions {
        grace_period: Some(0),
        uid: Some(meta::uid(pod).to_owned()),
        ..DeleteOptions::default()
    };
    let namespace = meta::text(pod, "namespace");
    // An error means that the Pod is gone or that another Pod has its name. In both cases nothing is left to do.
    let _ = handle.delete(&pods(), Some(namespace), meta::name(pod), &options);
}

impl Life {
    fn live(&mut self, handle: &Handle, pod: &Value) -> Option<Duration> {
        let rule = applied(handle, pod, self.rule);
        self.rule = rule.map(|rule| rule.number);
        let behaviour = rule.map(|rule| rule.behaviour).unwrap_or_default();
        let refused =
            |image: &str| behaviour == Behaviour::ImagePullError || cannot_be_pulled(image);
        let broken = images(pod).any(refused);
        if self.step == Step::PullFailed && !broken {
            self.enter(Step::Starting, handle);
        }
        match self.step {
            Step::Starting => {
                if let Some(rest) = self.rest(START, handle) {
                    pod_status::waiting(handle, pod, "ContainerCreating", |_| false);
                    return Some(rest);
                }
                let next = if broken {
                    Step::PullFailed
                } else {
                    Step::Running
                };
                self.enter(next, handle);
                self.live(handle, pod)
            }
            Step::PullFailed => {
                let rest = self.rest(BACK_OFF, handle);
                let reason = match rest {
                    Some(_) => "ErrImagePull",
                    None => "ImagePullBackOff",
                };
                pod_status::waiting(handle, pod, reason, refused);
                rest
            }
            Step::Running => self.run(handle, pod, rule),
            Step::Restarting(pause, exit) => {
                if let Some(rest) = self.rest(pause, handle) {
                    pod_status::restarting(handle, pod, exit, self.back_off());
                    return Some(rest);
                }
                self.enter(Step::Running, handle);
                // Another run: a rule for a limited number of runs may be used up.
                self.rule = None;
                pod_status::restarted(handle, pod, exit);
                self.live(handle, pod)
            }
            Step::Ending => None,
        }
    }

    fn run(&mut self, handle: &Handle, pod: &Value, rule: Option<Applied>) -> Option<Duration> {
        // A rule that is set while the containers run counts from there.
        let begun = rule.map_or(self.since, |rule| rule.since.max(self.since));
        let (code, after) = match rule.map(|rule| rule.behaviour).unwrap_or_default() {
            Behaviour::Exit { code, after } => (code, after),
            Behaviour::Default if is_of_job(pod) => (0, RUN),
            Behaviour::NeverReady => {
                pod_status::running(handle, pod, false);
                return None;
            }
            Behaviour::Default | Behaviour::Run | Behaviour::ImagePullError => {
                pod_status::running(handle, pod, true);
                return None;
            }
        };
        if let Some(rest) = rest(begun, after, handle) {
            pod_status::running(handle, pod, true);
            return Some(rest);
        }
        let exit = Exit { code };
        // The containers have run, be it for no time at all.
        if pod["status"]["phase"] != "Running" {
            pod_status::running(handle, pod, false);
        }
        let again = match pod["spec"]["restartPolicy"].as_str() {
            Some("Never") => false,
            Some("OnFailure") => code != 0,
            _ => true,
        };
        if !again {
            pod_status::exited(handle, pod, exit);
            return None;
        }
        self.exits = match handle.core().clock.since(self.since) >= STABLE {
            true => 1,
            false => self.exits.saturating_add(1),
        };
        let pause = self.back_off().unwrap_or(RESTART);
        self.enter(Step::Restarting(pause, exit), handle);
        pod_status::restarting(handle, pod, exit, self.back_off());
        Some(pause)
    }

    /// The pause before the next start. The first start after an exit has none.
    fn back_off(&self) -> Option<Duration> {
        let doublings = self.exits.checked_sub(2)?;
        let factor = 2_u32.saturating_pow(doublings);
        Some(BACK_OFF.saturating_mul(factor).min(LONGEST_BACK_OFF))
    }
}

/// The rule for a Pod, by its own name and by those of its owners.
fn applied(handle: &Handle, pod: &Value, current: Option<u64>) -> Option<Applied> {
    let namespace = meta::text(pod, "namespace");
    let mut names = vec![meta::name(pod).to_owned()];
    let mut object = Arc::new(pod.clone());
    // No chain of owners is this long, unless it is a circle.
    for _ in 0..8 {
        let name = controller(&object).and_then(|owner| owner["name"].as_str());
        names.extend(name.map(str::to_owned));
        let Some(owner) = owner_of(handle, &object) else {
            break;
        };
        object = owner;
    }
    handle
        .core()
        .containers
        .rules
        .apply(namespace, &names, current)
}

fn is_of_job(pod: &Value) -> bool {
    controller(pod).is_some_and(|owner| owner["kind"] == "Job")
}
