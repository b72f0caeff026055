use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::status::Counts;
use super::{COMPONENT, claims, pod};
use crate::api::{DeleteOptions, Handle};
use crate::controllers::simulator::claim::{claim, is_selected};
use crate::controllers::simulator::events::{self, Message};
use crate::controllers::simulator::history;
use crate::controllers::simulator::object::{number, pods};
use crate::controllers::simulator::pod_control::{available_in, controlled, has_ended};
use crate::meta;

/// The pause before the next look at a Pod whose claims cannot be used yet.
const RETRY: Duration = Duration::from_secs(1);

/// The most Pods that one step creates, so that other objects have their turn.
const MOST: usize = 500;

/// Moves a StatefulSet one step forward and reports its status. Returns the time until the next one.
pub(in crate::controllers::simulator) fn reconcile(
    handle: &Handle,
    set: &Value,
) -> Option<Duration> {
    let mut revisions = history::of(handle, set);
    let update = history::latest(handle, set, &mut revisions)?;
    let current = set["status"]["currentRevision"].as_str();
    let current = revisions
        .iter()
        .find(|one| current == Some(meta::name(one)));
    let current = current.unwrap_or(&update).clone();
    let namespace = meta::text(set, "namespace");
    let all = handle.list(&pods(), Some(namespace));
    claim(handle, set, (&pods(), &all), None, |one| {
        is_selected(set, one) && pod::ordinal(set, one).is_some()
    });
    let mut step = Step::new(handle, set, current, update);
    if !meta::is_deleting(set) {
        step.run();
    }
    step.counts.write(handle, set, &step.current, &step.update);
    let mut live: BTreeSet<String> = step
        .pods()
        .map(|one| pod::revision(one).to_owned())
        .collect();
    live.extend([&step.current, &step.update].map(|one| meta::name(one).to_owned()));
    history::truncate(handle, set, &revisions, &live);
    step.next
}

struct Step<'a> {
    handle: &'a Handle,
    set: &'a Value,
    current: Arc<Value>,
    update: Arc<Value>,
    /// How many Pods the set is to have.
    count: i64,
    /// The Pods with a number of the set, counted from the first.
    replicas: BTreeMap<i64, Arc<Value>>,
    /// The Pods with a higher or lower number, the highest first.
    surplus: Vec<(i64, Arc<Value>)>,
    counts: Counts,
    /// When to look again.
    next: Option<Duration>,
}

/// Whether the step goes on after a Pod.
#[derive(PartialEq, Eq)]
enum Flow {
    GoOn,
    Stop,
}

impl<'a> Step<'a> {
    fn new(handle: &'a Handle, set: &'a Value, current: Arc<Value>, update: Arc<Value>) -> Self {
        let count = number(set, "/spec/replicas").max(0);
        let mut replicas = BTreeMap::new();
        let mut surplus = Vec::new();
        for one in controlled(handle, set) {
            let Some(ordinal) = pod::ordinal(set, &one) else {
                continue;
            };
            let at = ordinal.saturating_sub(pod::first(set));
            if (0..count).contains(&at) {
                replicas.insert(at, one);
            } else {
                surplus.push((ordinal, one));
            }
        }
        surplus.sort_by_key(|(ordinal, _)| -ordinal);
        let mut step = Self {
            handle,
            set,
            current,
            update,
            count,
            replicas,
            surplus,
            counts: Counts::default(),
            next: None,
        };
        step.count();
        step
    }

    fn pods(&self) -> impl Iterator<Item = &Arc<Value>> {
        let surplus = self.surplus.iter().map(|(_, pod)| pod);
        self.replicas.values().chain(surplus)
    }

    fn count(&mut self) {
        let (minimum, now) = (self.minimum(), self.handle.core().clock.now());
        let revisions = [&self.current, &self.update].map(|one| meta::name(one).to_owned());
        let mut counts = Counts::default();
        let mut rests = Vec::new();
        for one in self.pods() {
            let rest = available_in(one, minimum, now);
            rests.extend(rest.filter(|rest| !rest.is_zero()));
            counts.add(one, rest, &revisions);
        }
        self.next = rests.into_iter().min();
        self.counts = counts;
    }

    fn minimum(&self) -> i64 {
        number(self.set, "/spec/minReadySeconds")
    }

    fn is_available(&self, pod: &Value) -> bool {
        let rest = available_in(pod, self.minimum(), self.handle.core().clock.now());
        rest.is_some_and(|rest| rest.is_zero()) && pod["status"]["phase"] == "Running"
    }

    /// Whether Pods are created and deleted one after the other.
    fn is_ordered(&self) -> bool {
        self.set["spec"]["podManagementPolicy"] != "Parallel"
    }

    fn run(&mut self) {
        let mut left = MOST;
        for at in 0..self.count {
            if left == 0 {
                // The rest follows with the next step.
                self.next = Some(Duration::ZERO);
                return;
            }
            left -= usize::from(!self.replicas.contains_key(&at));
            if self.keep(at) == Flow::Stop && self.is_ordered() {
                return;
            }
        }
        let surplus = self.surplus.clone();
        for (ordinal, pod) in &surplus {
            claims::own(self.handle, self.set, pod, *ordinal, true);
        }
        // The Pod with the lowest number that is not available may go before others have become available.
        let unavailable = surplus
            .iter()
            .rev()
            .find(|(_, pod)| !self.is_available(pod) || meta::is_deleting(pod));
        for (ordinal, pod) in &surplus {
            let first = unavailable.is_some_and(|(first, _)| first == ordinal);
            if self.remove(pod, first) == Flow::Stop && self.is_ordered() {
                return;
            }
        }
        // A set that scales down is updated afterwards.
        if surplus.is_empty() || !self.is_ordered() {
            self.roll();
        }
    }

    /// Creates the Pod at a place, or lets it be replaced if it has ended.
    fn keep(&mut self, at: i64) -> Flow {
        let ordinal = pod::first(self.set).saturating_add(at);
        let Some(one) = self.replicas.get(&at).cloned() else {
            self.create(ordinal);
            return Flow::Stop;
        };
        if has_ended(&one) {
            if !meta::is_deleting(&one) {
                self.delete(&one);
            }
            return Flow::Stop;
        }
        if one["status"]["phase"] == "Pending" {
            claims::create(self.handle, self.set, ordinal);
        }
        claims::own(self.handle, self.set, &one, ordinal, false);
        match meta::is_deleting(&one) || !self.is_available(&one) {
            true => Flow::Stop,
            false => Flow::GoOn,
        }
    }

    fn create(&mut self, ordinal: i64) {
        if claims::are_stale(self.handle, self.set, ordinal)
            || !claims::create(self.handle, self.set, ordinal)
        {
            self.next = Some(RETRY);
            return;
        }
        let partition = number(self.set, "/spec/updateStrategy/rollingUpdate/partition");
        let revision = match ordinal < pod::first(self.set) + partition {
            true => &self.current,
            false => &self.update,
        };
        let made = pod::make(self.set, revision, ordinal);
        let created = self.handle.create(&pods(), made);
        if let Err(error) = &created
            && error.code == 409
        {
            return;
        }
        if let Ok(made) = &created {
            claims::own(self.handle, self.set, made, ordinal, false);
        }
        let error = created.err().map(|error| error.to_string());
        self.record("Create", &pod::name(self.set, ordinal), error);
    }

    /// Deletes a Pod that is one too many, in its turn.
    fn remove(&self, pod: &Value, is_first_unavailable: bool) -> Flow {
        if meta::is_deleting(pod) {
            return Flow::Stop;
        }
        if self.is_ordered() && !self.is_available(pod) && !is_first_unavailable {
            return Flow::Stop;
        }
        self.delete(pod);
        Flow::Stop
    }

    /// Deletes the Pod with the highest number that has not the latest revision, once all above it are available.
    fn roll(&mut self) {
        let strategy = &self.set["spec"]["updateStrategy"];
        if strategy["type"] == "OnDelete" {
            return;
        }
        let partition = number(strategy, "/rollingUpdate/partition").max(0);
        let update = meta::name(&self.update).to_owned();
        for at in (partition..self.count).rev() {
            let Some(one) = self.replicas.get(&at).cloned() else {
                return;
            };
            let one = &one;
            if pod::revision(one) != update && !meta::is_deleting(one) {
                self.delete(one);
                self.counts.replaced();
                return;
            }
            if meta::is_deleting(one) || !self.is_available(one) {
                return;
            }
        }
    }

    fn delete(&self, pod: &Value) {
        let options = DeleteOptions {
            uid: Some(meta::uid(pod).to_owned()),
            ..DeleteOptions::default()
        };
        let (namespace, name) = (meta::text(pod, "namespace"), meta::name(pod));
        let deleted = self.handle.delete(&pods(), Some(namespace), name, &options);
        let failed = deleted.err().filter(|error| error.code != 404);
        self.record("Delete", name, failed.map(|error| error.to_string()));
    }

    fn record(&self, verb: &str, pod: &str, error: Option<String>) {
        let set = meta::name(self.set);
        let text = format!("{verb} Pod {pod} in StatefulSet {set}");
        let (result, text) = match &error {
            None => ("Successful", format!("{text} successful")),
            Some(error) => ("Failed", format!("{text} failed error: {error}")),
        };
        let what = Message {
            component: COMPONENT,
            warning: error.is_some(),
            reason: &format!("{result}{verb}"),
        };
        events::record(self.handle, self.set, what, &text);
    }
}
