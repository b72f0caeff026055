use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::clock::{Clock, Moment};

/// What the containers of a Pod do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// What they do without a rule.
    #[default]
    Default,
    /// They become ready, and run until the Pod is deleted.
    Run,
    /// They run without ever being ready.
    NeverReady,
    /// Their images cannot be pulled.
    ImagePullError,
    /// They become ready, and exit after this time.
    Exit { code: i32, after: Duration },
    /// The init containers fail after this time.
    FailInit { after: Duration },
    /// A probe of theirs fails.
    FailProbe(Probe),
}

/// A probe of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    Startup,
    Readiness,
    Liveness,
}

impl Probe {
    /// The field of a container with the probe.
    pub(crate) fn field(self) -> &'static str {
        match self {
            Self::Startup => "startupProbe",
            Self::Readiness => "readinessProbe",
            Self::Liveness => "livenessProbe",
        }
    }
}

/// The rules of a sandbox, at most one for each selection, and the nodes that do not run.
pub(crate) struct Rules {
    state: Mutex<State>,
    /// Notified of every change.
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    /// The latest last.
    rules: Vec<Rule>,
    number: u64,
    /// The nodes that have stopped, and when.
    stopped: BTreeMap<String, Moment>,
}

struct Rule {
    number: u64,
    selection: Selection,
    behaviour: Behaviour,
    since: Moment,
    /// How many more runs the rule is for; `None` for all.
    runs: Option<u32>,
}

/// The Pods that a rule is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Selection {
    workload: Option<String>,
    namespace: Option<String>,
}

/// The rule of one run of a Pod's containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) number: u64,
    pub(crate) behaviour: Behaviour,
    /// When the rule was set.
    pub(crate) since: Moment,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            changed: watch::Sender::new(()),
        }
    }
}

impl Rules {
    fn set(&self, selection: Selection, runs: Option<u32>, behaviour: Behaviour, now: Moment) {
        {
            let mut state = self.state.lock();
            state.rules.retain(|rule| rule.selection != selection);
            state.number += 1;
            let number = state.number;
            state.rules.push(Rule {
                number,
                selection,
                behaviour,
                since: now,
                runs,
            });
        }
        self.changed.send_replace(());
    }

    /// The latest rule for a Pod. `names` are those of the Pod and of its owners. `current` is the rule that its present run
    /// has: it stays in force for this run even if it is for no further one.
    pub(crate) fn apply(
        &self,
        namespace: &str,
        names: &[String],
        current: Option<u64>,
    ) -> Option<Applied> {
        let mut state = self.state.lock();
        for rule in state.rules.iter_mut().rev() {
            if !rule.selection.matches(namespace, names) {
                continue;
            }
            if current != Some(rule.number) {
                match &mut rule.runs {
                    Some(0) => continue,
                    Some(left) => *left -= 1,
                    None => {}
                }
            }
            return Some(Applied {
                number: rule.number,
                behaviour: rule.behaviour,
                since: rule.since,
            });
        }
        None
    }

    pub(super) fn stop_node(&self, name: &str, now: Moment) {
        let mut state = self.state.lock();
        state.stopped.entry(name.to_owned()).or_insert(now);
        drop(state);
        self.changed.send_replace(());
    }

    pub(super) fn start_node(&self, name: &str) {
        self.state.lock().stopped.remove(name);
        self.changed.send_replace(());
    }

    /// When a node stopped; `None` if it runs.
    pub(crate) fn stopped_since(&self, node: &str) -> Option<Moment> {
        self.state.lock().stopped.get(node).copied()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }
}

impl Selection {
    fn matches(&self, namespace: &str, names: &[String]) -> bool {
        let here = self.namespace.as_ref().is_none_or(|own| own == namespace);
        here && self
            .workload
            .as_ref()
            .is_none_or(|workload| names.contains(workload))
    }
}

/// A rule for some simulated Pods, made with [`Pods::of`](super::Pods::of) or [`Pods::all`](super::Pods::all). It is in force
/// once one of the methods that say what happens is called.
///
/// A rule holds for Pods that run already and for Pods to come. Times count from the start of the containers; for containers
/// that run already, from this call. Of several rules for a Pod the latest holds. A rule replaces an earlier one for the same
/// selection.
///
/// Rules need the [simulator](crate::Builder::simulator).
#[derive(Clone)]
#[must_use = "a rule is in force once a method says what happens to the Pods"]
pub struct PodRule<'a> {
    rules: &'a Rules,
    clock: &'a Clock,
    selection: Selection,
    runs: Option<u32>,
}

impl<'a> PodRule<'a> {
    pub(super) fn new(rules: &'a Rules, clock: &'a Clock, workload: Option<String>) -> Self {
        Self {
            rules,
            clock,
            selection: Selection {
                workload,
                namespace: None,
            },
            runs: None,
        }
    }

    /// Selects only Pods in this namespace.
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.selection.namespace = Some(namespace.into());
        self
    }

    /// Limits the rule to the next `runs` runs of a Pod's containers, those that run now included: a restart of the containers is a
    /// run, and so is the first start of a new Pod. With `times(2).fail_after(…)`, the third Pod of a Job succeeds.
    pub fn times(mut self, runs: u32) -> Self {
        self.runs = Some(runs);
        self
    }

    /// The containers run until the Pod is deleted. Without a rule, those of a Job end by themselves.
    pub fn run(self) {
        self.set(Behaviour::Run);
    }

    /// The containers exit with code 0 after they ran for `after`.
    pub fn succeed_after(self, after: Duration) {
        self.exit_after(after, 0);
    }

    /// The containers exit with code 1 after they ran for `after`.
    pub fn fail_after(self, after: Duration) {
        self.exit_after(after, 1);
    }

    /// The containers exit with `code` after they ran for `after`. Whether they start again depends on the restart policy of the
    /// Pod. A second and each further exit is followed by a back-off (`CrashLoopBackOff`) of 10 s, 20 s, and so on up to 5 min.
    pub fn exit_after(self, after: Duration, code: i32) {
        self.set(Behaviour::Exit { code, after });
    }

    /// The containers exit with code 1 as soon as they have started, again and again: `CrashLoopBackOff`.
    pub fn crash_loop(self) {
        self.fail_after(Duration::ZERO);
    }

    /// The images of containers that have not started cannot be pulled: `ErrImagePull`, and later `ImagePullBackOff`.
    pub fn fail_image_pull(self) {
        self.set(Behaviour::ImagePullError);
    }

    /// The containers run, but the Pod is not ready.
    pub fn never_ready(self) {
        self.set(Behaviour::NeverReady);
    }

    /// The init containers exit with code 1 after they ran for `after`, the first one first. They start again with a back-off, or the Pod has
    /// failed, as its restart policy says. Init containers that restart always, and Pods that have started, are not concerned.
    pub fn fail_init_after(self, after: Duration) {
        self.set(Behaviour::FailInit { after });
    }

    /// The readiness probes fail: after as many failures as each allows, its container is not ready. A container without such a probe is not concerned.
    pub fn fail_readiness_probe(self) {
        self.set(Behaviour::FailProbe(Probe::Readiness));
    }

    /// The liveness probes fail: after as many failures as each allows, its container starts again. A container without such a probe is not concerned.
    pub fn fail_liveness_probe(self) {
        self.set(Behaviour::FailProbe(Probe::Liveness));
    }

    /// The startup probes fail: after as many failures as each allows, its container starts again. A container that has no such probe, or has started, is
    /// not concerned.
    pub fn fail_startup_probe(self) {
        self.set(Behaviour::FailProbe(Probe::Startup));
    }

    /// The Pods behave as without a rule. Those whose image could not be pulled start, and unready ones become ready.
    pub fn recover(self) {
        self.set(Behaviour::Default);
    }

    fn set(self, behaviour: Behaviour) {
        let now = self.clock.moment();
        self.rules.set(self.selection, self.runs, behaviour, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[tokio::test]
    async fn the_latest_rule_that_selects_a_pod_holds() {
        let (rules, clock) = (Rules::default(), Clock::new(None, 1));
        let pod = names(&["web-1", "web"]);
        let behaviour = |namespace| {
            rules
                .apply(namespace, &pod, None)
                .map(|rule| rule.behaviour)
        };
        assert_eq!(behaviour("default"), None);
        PodRule::new(&rules, &clock, Some("web".into())).never_ready();
        PodRule::new(&rules, &clock, Some("other".into())).run();
        PodRule::new(&rules, &clock, None).in_namespace("far").run();
        assert_eq!(behaviour("default"), Some(Behaviour::NeverReady));
        assert_eq!(behaviour("far"), Some(Behaviour::Run));
        PodRule::new(&rules, &clock, Some("web".into())).recover();
        assert_eq!(behaviour("far"), Some(Behaviour::Default));
        assert_eq!(rules.state.lock().rules.len(), 3);
    }

    #[tokio::test]
    async fn a_limited_rule_stays_in_force_for_the_runs_that_it_got() {
        let (rules, clock) = (Rules::default(), Clock::new(None, 1));
        PodRule::new(&rules, &clock, None).times(1).never_ready();
        let pod = names(&["a"]);
        let first = rules.apply("default", &pod, None).unwrap();
        assert!(rules.apply("default", &pod, None).is_none());
        assert!(rules.apply("default", &pod, Some(first.number)).is_some());
    }
}
