use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::containers;
use super::environment;
use super::ephemeral::Ephemeral;
use super::pod_events::PodEvents;
use super::pod_status::{self, Exit, Which, cannot_be_pulled, images};
use super::probes::{self, Turn};
use crate::api::Handle;
use crate::clock::Moment;
use crate::controllers::simulator::object::{controller, names_of, number, pods, since};
use crate::controllers::simulator::pod_control::remove;
use crate::controllers::simulator::{INIT, RUN, START, STOP};
use crate::meta;
use crate::pods::{Applied, Behaviour, Probe};

/// The first pause before containers that exited for the second time start again. It doubles up to [`LONGEST_BACK_OFF`].
pub(super) const BACK_OFF: Duration = Duration::from_secs(10);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(300);
/// Containers that ran as long as this start again without a back-off.
const STABLE: Duration = Duration::from_secs(600);
/// The pause after which a node looks again whether the environment of a container is complete.
pub(super) const LOOK: Duration = Duration::from_secs(2);
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
    events: PodEvents,
    /// Whether the Events of this step are recorded.
    is_told: bool,
    /// What the environment of a container lacks, as it was told last.
    lacks: Option<String>,
    ephemeral: Ephemeral,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Starting,
    /// An image cannot be pulled.
    PullFailed,
    /// It still cannot be pulled.
    PullBackOff,
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
            events: PodEvents::default(),
            is_told: false,
            lacks: None,
            ephemeral: Ephemeral::default(),
        }
    }

    fn enter(&mut self, step: Step, handle: &Handle) {
        self.step = step;
        self.is_told = false;
        self.since = handle.core().clock.moment();
    }

    /// The rest of a time that began with the step; `None` if it is over.
    fn rest(&self, time: Duration, handle: &Handle) -> Option<Duration> {
        rest(self.since, time, handle)
    }
}

pub(super) fn rest(since: Moment, time: Duration, handle: &Handle) -> Option<Duration> {
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
        let life = self.lives.entry(uid).or_insert_with(|| Life {
            // The Events of containers that run already were recorded before.
            is_told: step == Step::Running,
            ..Life::new(step, handle.core().clock.moment())
        });
        if let Some(limit) = pod["spec"]["activeDeadlineSeconds"].as_u64() {
            let age = since(handle, &pod["status"]["startTime"]);
            if age.is_some_and(|age| age >= Duration::from_secs(limit)) {
                pod_status::deadline_exceeded(handle, pod);
                life.events.deadline_exceeded(handle, pod);
                return None;
            }
            let next = life.live_on(handle, pod);
            let left = Duration::from_secs(limit).saturating_sub(age.unwrap_or_default());
            return Some(next.map_or(left, |next| next.min(left)));
        }
        life.live_on(handle, pod)
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
        if !life.is_told {
            life.is_told = true;
            for container in containers::running(pod) {
                life.events.stopped(handle, pod, container);
            }
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

impl Life {
    /// Moves the containers on, and then the ephemeral ones.
    fn live_on(&mut self, handle: &Handle, pod: &Value) -> Option<Duration> {
        let next = self.live(handle, pod);
        if self.step == Step::Starting {
            return next;
        }
        let rule = applied(handle, pod, self.rule);
        let fails = rule.is_some_and(|rule| rule.behaviour == Behaviour::ImagePullError);
        let refused = |image: &str| fails || cannot_be_pulled(image);
        let of_ephemeral = self
            .ephemeral
            .reconcile(handle, pod, refused, &mut self.events);
        next.into_iter().chain(of_ephemeral).min()
    }

    fn live(&mut self, handle: &Handle, pod: &Value) -> Option<Duration> {
        let rule = applied(handle, pod, self.rule);
        self.rule = rule.map(|rule| rule.number);
        let behaviour = rule.map(|rule| rule.behaviour).unwrap_or_default();
        let refused =
            |image: &str| behaviour == Behaviour::ImagePullError || cannot_be_pulled(image);
        let broken = images(pod).any(refused);
        if matches!(self.step, Step::PullFailed | Step::PullBackOff) && !broken {
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
                let Some(rest) = self.rest(BACK_OFF, handle) else {
                    self.enter(Step::PullBackOff, handle);
                    return self.live(handle, pod);
                };
                pod_status::waiting(handle, pod, pod_status::PULL, refused);
                self.tell_pull(handle, pod, refused);
                Some(rest)
            }
            Step::PullBackOff => {
                pod_status::waiting(handle, pod, pod_status::BACK_OFF, refused);
                self.tell_pull(handle, pod, refused);
                None
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
                self.is_told = true;
                for container in Which(probe).containers(pod) {
                    self.events.started(handle, pod, container);
                }
                pod_status::restarted(handle, pod, exit, Which(probe));
                self.live(handle, pod)
            }
            Step::Ending => None,
        }
    }

    /// Records the Events of images that cannot be pulled, once in each step.
    fn tell_pull(&mut self, handle: &Handle, pod: &Value, refused: impl Fn(&str) -> bool) {
        if self.is_told {
            return;
        }
        self.is_told = true;
        for container in containers::all(pod) {
            if refused(container["image"].as_str().unwrap_or_default()) {
                match self.step {
                    Step::PullFailed => self.events.pull_failed(handle, pod, container),
                    _ => self.events.pull_backs_off(handle, pod, container),
                }
            }
        }
    }

    /// Whether one of these containers cannot be created. If so, that is reported.
    fn lacks_environment(&mut self, handle: &Handle, pod: &Value, containers: &[&Value]) -> bool {
        let missing = |container: &&Value| environment::missing(handle, pod, container);
        let all = containers.iter();
        let found: Vec<(&Value, String)> = all
            .filter_map(|container| Some((*container, missing(container)?)))
            .collect();
        if found.is_empty() {
            self.lacks = None;
            return false;
        }
        let texts: Vec<&str> = found.iter().map(|(_, why)| why.as_str()).collect();
        let lacks = texts.join(", ");
        if self.lacks.as_ref() != Some(&lacks) {
            pod_status::misconfigured(handle, pod, |container| {
                let mut found = found.iter();
                let this = found.find(|(one, _)| one["name"] == container["name"]);
                this.map(|(_, why)| why.clone())
            });
            for (container, why) in &found {
                self.events.misconfigured(handle, pod, container, why);
            }
            self.lacks = Some(lacks);
        }
        true
    }

    fn run(&mut self, handle: &Handle, pod: &Value, rule: Option<Applied>) -> Option<Duration> {
        if !self.is_told {
            self.is_told = true;
            for container in Which(None).containers(pod) {
                self.events.started(handle, pod, container);
            }
        }
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
            let all: Vec<&Value> = Which(None).containers(pod).collect();
            if self.lacks_environment(handle, pod, &all) {
                return Some(LOOK);
            }
            self.enter(Step::Running, handle);
            return self.live(handle, pod);
        };
        if !self.is_told {
            if self.lacks_environment(handle, pod, &[container]) {
                return Some(LOOK);
            }
            // The container starts now.
            self.is_told = true;
            self.since = handle.core().clock.moment();
            self.events.started(handle, pod, container);
        }
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
        if self.back_off().is_some() {
            self.events.backs_off(handle, pod, container);
        }
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
        if unready {
            self.tell_unready(handle, pod);
        }
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
            for container in Which(Some(probe)).containers(pod) {
                self.events.unhealthy(handle, pod, container, probe);
            }
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
        if self.back_off().is_some() {
            for container in Which(probe).containers(pod) {
                self.events.backs_off(handle, pod, container);
            }
        }
        Some(pause)
    }

    /// Records that the readiness probe of a container fails that was ready.
    fn tell_unready(&mut self, handle: &Handle, pod: &Value) {
        let probe = Probe::Readiness;
        let current = handle.get(&pods(), Some(meta::text(pod, "namespace")), meta::name(pod));
        let Some(current) = current else { return };
        for container in Which(Some(probe)).containers(pod) {
            let was = containers::is_ready(pod, container);
            if was && !containers::is_ready(&current, container) {
                self.events.unhealthy(handle, pod, container, probe);
            }
        }
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
