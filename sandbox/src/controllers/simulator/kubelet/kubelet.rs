use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::pod_status::{self, Exit, Which, cannot_be_pulled, images};
use super::probes::{self, Turn};
use crate::api::{DeleteOptions, Handle};
use crate::clock::Moment;
use crate::controllers::simulator::object::{controller, names_of, number, pods, since};
use crate::controllers::simulator::{INIT, RUN, START, STOP};
use crate::meta;
use crate::pods::{Applied, Behaviour, Probe};

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
    /// How often its containers exited without having been stable; before they run, how often the present init container did.
    exits: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Starting,
    /// An image cannot be pulled.
    PullFailed,
    /// The init container with this number runs.
    Initializing(usize),
    /// It failed, and starts again after this time.
    InitRestarting(usize, Duration),
    Running,
    /// The containers exited and start again after this time; with a probe only those whose probe failed.
    Restarting(Duration, Exit, Option<Probe>),
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
                    Step::Initializing(0)
                };
                self.enter(next, handle);
                self.live(handle, pod)
            }
            Step::Initializing(index) => self.initialize(handle, pod, index, rule),
            Step::InitRestarting(index, pause) => {
                if let Some(rest) = self.rest(pause, handle) {
                    return Some(rest);
                }
                self.enter(Step::Initializing(index), handle);
                // Another run: a rule for a limited number of runs may be used up.
                self.rule = None;
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
            Step::Restarting(pause, exit, probe) => {
                if let Some(rest) = self.rest(pause, handle) {
                    pod_status::restarting(handle, pod, exit, self.back_off(), Which(probe));
                    return Some(rest);
                }
                self.enter(Step::Running, handle);
                // Another run: a rule for a limited number of runs may be used up.
                self.rule = None;
                pod_status::restarted(handle, pod, exit, Which(probe));
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
            Behaviour::Default | Behaviour::FailInit { .. } if is_of_job(pod) => (0, RUN),
            Behaviour::NeverReady => {
                pod_status::running(handle, pod, |_, _| (true, false));
                return None;
            }
            _ => return self.serve(handle, pod, rule),
        };
        if let Some(rest) = rest(begun, after, handle) {
            let next = self.serve(handle, pod, rule);
            return Some(next.map_or(rest, |next| next.min(rest)));
        }
        // The containers have run, be it for no time at all.
        if pod["status"]["phase"] != "Running" {
            pod_status::running(handle, pod, |_, _| (true, false));
        }
        self.exit(handle, pod, Exit { code }, None)
    }

    /// Runs an init container, and then the next one or the others.
    fn initialize(
        &mut self,
        handle: &Handle,
        pod: &Value,
        index: usize,
        rule: Option<Applied>,
    ) -> Option<Duration> {
        let all = pod
            .pointer("/spec/initContainers")
            .and_then(Value::as_array);
        let Some(container) = all.and_then(|all| all.get(index)) else {
            self.enter(Step::Running, handle);
            return self.live(handle, pod);
        };
        let name = container["name"].as_str().unwrap_or_default();
        if container["restartPolicy"] == "Always" {
            let elapsed = handle.core().clock.since(self.since);
            let probed = probes::outcome(container, elapsed, None);
            pod_status::sidecar_runs(handle, pod, name, probed.started, probed.ready);
            if !probed.started {
                return probed.next.map(|next| next.saturating_sub(elapsed));
            }
            self.enter(Step::Initializing(index + 1), handle);
            return self.live(handle, pod);
        }
        let behaviour = rule.map(|rule| rule.behaviour).unwrap_or_default();
        let (code, after) = match behaviour {
            Behaviour::FailInit { after } => (1, after),
            _ => (0, INIT),
        };
        pod_status::init_runs(handle, pod, name, self.exits);
        if let Some(rest) = self.rest(after, handle) {
            return Some(rest);
        }
        let exit = Exit { code };
        if code == 0 {
            pod_status::init_exited(handle, pod, name, exit, None);
            self.exits = 0;
            self.enter(Step::Initializing(index + 1), handle);
            return self.live(handle, pod);
        }
        if pod["spec"]["restartPolicy"] == "Never" {
            pod_status::init_exited(handle, pod, name, exit, None);
            pod_status::init_failed(handle, pod);
            return None;
        }
        self.exits = self.exits.saturating_add(1);
        let pause = self.back_off().unwrap_or(RESTART);
        pod_status::init_exited(handle, pod, name, exit, Some(self.back_off()));
        self.enter(Step::InitRestarting(index, pause), handle);
        Some(pause)
    }

    /// Lets the containers run, and asks their probes.
    fn serve(&mut self, handle: &Handle, pod: &Value, rule: Option<Applied>) -> Option<Duration> {
        let elapsed = handle.core().clock.since(self.since);
        let turn = rule.map(|rule| {
            let since = rule.since.saturating_sub(self.since);
            match rule.behaviour {
                Behaviour::FailProbe(probe) => Turn::Fail(probe, since),
                _ => Turn::Succeed(since),
            }
        });
        let probed = |container: &Value| probes::outcome(container, elapsed, turn);
        let unready = matches!(turn, Some(Turn::Fail(Probe::Readiness, _)));
        pod_status::running(handle, pod, |container, old| {
            let probed = probed(container);
            // Another container's restart makes no container unready.
            let was_ready = old["ready"] == true && old["state"]["running"].is_object();
            let fails = unready && container.get(Probe::Readiness.field()).is_some();
            let was_started = old["started"] == true && old["state"]["running"].is_object();
            (
                probed.started || was_started,
                probed.ready || was_ready && !fails,
            )
        });
        let lists = ["/spec/containers", "/spec/initContainers"];
        let lists = lists
            .iter()
            .filter_map(|list| pod.pointer(list)?.as_array());
        let sidecar = |one: &&Value| one["restartPolicy"] == "Always";
        let containers = lists.enumerate().flat_map(|(number, list)| {
            let list = list.iter();
            list.filter(move |one| number == 0 || sidecar(one))
        });
        let outcomes: Vec<_> = containers.map(probed).collect();
        if let Some(probe) = outcomes.iter().find_map(|outcome| outcome.kills) {
            return self.exit(handle, pod, Exit::TERMINATED, Some(probe));
        }
        let next = outcomes.iter().filter_map(|outcome| outcome.next).min();
        next.map(|next| next.saturating_sub(elapsed))
    }

    /// Ends the containers, or those whose probe failed. They start again if the restart policy says so.
    fn exit(
        &mut self,
        handle: &Handle,
        pod: &Value,
        exit: Exit,
        probe: Option<Probe>,
    ) -> Option<Duration> {
        if let Some(probe) = probe {
            pod_status::tell_probe(handle, pod, probe);
        }
        let again = match pod["spec"]["restartPolicy"].as_str() {
            Some("Never") => false,
            Some("OnFailure") => exit.code != 0,
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
        self.enter(Step::Restarting(pause, exit, probe), handle);
        pod_status::restarting(handle, pod, exit, self.back_off(), Which(probe));
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
    let names = names_of(handle, pod);
    let rules = &handle.core().containers.rules;
    rules.apply(namespace, &names, current)
}

fn is_of_job(pod: &Value) -> bool {
    controller(pod).is_some_and(|owner| owner["kind"] == "Job")
}
