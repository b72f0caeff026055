use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_core::future::BoxFuture;
use futures_util::future::{Shared, WeakShared};
use tokio::time::Instant;

use super::{ApiGroup, Discovery};
use crate::client::Error;

/// If a document was read less than this ago, a missing name does not cause another read.
const QUIET: Duration = Duration::from_secs(3);
/// A document that was read longer ago is read again before it is used, unless a mapper has another lifetime.
const LIFETIME: Duration = Duration::from_secs(600);

/// What one reading covers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ReadScope {
    Everything,
    Group(String),
}

/// The result of a reading.
pub(super) enum Reading {
    Everything(Discovery),
    /// The group of that name. `None` if it is not served.
    Group(String, Option<ApiGroup>),
}

pub(super) type Outcome = Result<(), Arc<Error>>;
/// A reading in progress, shared by all callers that wait for it.
pub(super) type SharedReading = Shared<BoxFuture<'static, Outcome>>;

/// What to do about a missing name.
pub(super) enum Step {
    /// It was read just now, with this result.
    Known(Outcome),
    Wait(SharedReading),
}

/// What a mapper knows, and its readings in progress. A state machine without client and without waiting.
pub(super) struct Memory {
    lifetime: Duration,
    known: Option<Arc<Discovery>>,
    everything_read: Option<Instant>,
    /// Groups that were read after the last reading of everything.
    groups_read: HashMap<String, Instant>,
    /// Readings that ended less than [`QUIET`] ago.
    ended: HashMap<ReadScope, (Instant, Outcome)>,
    /// Weak, so that a reading ends if no caller waits for it.
    shared_readings: HashMap<ReadScope, (u64, WeakShared<BoxFuture<'static, Outcome>>)>,
    /// The number of the next reading.
    next: u64,
    /// The number of the newest reading of everything that succeeded.
    newest: Option<u64>,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            lifetime: LIFETIME,
            known: None,
            everything_read: None,
            groups_read: HashMap::new(),
            ended: HashMap::new(),
            shared_readings: HashMap::new(),
            next: 0,
            newest: None,
        }
    }
}

impl Memory {
    /// A memory with another lifetime of what it knows.
    pub(super) fn lasting(lifetime: Duration) -> Self {
        Self {
            lifetime,
            ..Self::default()
        }
    }

    /// Takes what a file told, which was read at `read`. Does nothing if something is known already.
    pub(super) fn remember(&mut self, discovery: Discovery, read: Instant) {
        if self.known.is_none() {
            self.known = Some(Arc::new(discovery));
            self.everything_read = Some(read);
        }
    }

    /// What is known, and when all of it was read.
    pub(super) fn everything(&self) -> Option<(Arc<Discovery>, Instant)> {
        self.known.clone().zip(self.everything_read)
    }

    pub(super) fn known(&self) -> Option<Arc<Discovery>> {
        self.known.clone()
    }

    /// The number of the next reading.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Whether a group must be read again.
    pub(super) fn is_old(&self, group: &str, now: Instant) -> bool {
        let read = self.groups_read.get(group).copied();
        read.or(self.everything_read)
            .is_none_or(|read| now.duration_since(read) > self.lifetime)
    }

    /// How to read again. No reading if there was one just now.
    pub(super) fn look_again(
        &mut self,
        extent: &ReadScope,
        now: Instant,
        begin: impl FnOnce(u64) -> SharedReading,
    ) -> Step {
        if let Some((_, shared_reading)) = self.under_way(extent) {
            return Step::Wait(shared_reading);
        }
        let ended = [extent, &ReadScope::Everything]
            .into_iter()
            .filter_map(|extent| self.ended.get(extent))
            .filter(|(at, _)| now.duration_since(*at) < QUIET)
            .max_by_key(|(at, _)| *at);
        match ended {
            Some((_, outcome)) => Step::Known(outcome.clone()),
            None => Step::Wait(self.begin(extent, begin).1),
        }
    }

    /// A reading in progress or a new one, with its number.
    pub(super) fn join(
        &mut self,
        extent: &ReadScope,
        begin: impl FnOnce(u64) -> SharedReading,
    ) -> (u64, SharedReading) {
        match self.under_way(extent) {
            Some(shared_reading) => shared_reading,
            None => self.begin(extent, begin),
        }
    }

    fn under_way(&self, extent: &ReadScope) -> Option<(u64, SharedReading)> {
        [&ReadScope::Everything, extent]
            .into_iter()
            .filter_map(|extent| self.shared_readings.get(extent))
            .find_map(|(number, shared_reading)| Some((*number, shared_reading.upgrade()?)))
    }

    fn begin(
        &mut self,
        extent: &ReadScope,
        begin: impl FnOnce(u64) -> SharedReading,
    ) -> (u64, SharedReading) {
        self.shared_readings
            .retain(|_, (_, shared_reading)| shared_reading.upgrade().is_some());
        let number = self.next;
        self.next += 1;
        let shared_reading = begin(number);
        if let Some(weak) = shared_reading.downgrade() {
            self.shared_readings.insert(extent.clone(), (number, weak));
        }
        (number, shared_reading)
    }

    /// Stores the result of the reading with that number.
    pub(super) fn end(
        &mut self,
        number: u64,
        extent: ReadScope,
        found: Result<Reading, Error>,
        now: Instant,
    ) -> Outcome {
        if self
            .shared_readings
            .get(&extent)
            .is_some_and(|(of, _)| *of == number)
        {
            self.shared_readings.remove(&extent);
        }
        self.ended
            .retain(|_, (at, _)| now.duration_since(*at) < QUIET);
        let outcome = found
            .map(|found| self.take(number, found, now))
            .map_err(Arc::new);
        self.ended.insert(extent, (now, outcome.clone()));
        outcome
    }

    fn take(&mut self, number: u64, found: Reading, now: Instant) {
        // Another reading began later and ended earlier, so its result is newer.
        if self.newest.is_some_and(|newest| newest > number) {
            return;
        }
        let old = self.known.clone().unwrap_or_default();
        let new = match found {
            Reading::Everything(mut discovery) => {
                for group in &mut discovery.groups {
                    keep_last_known(&old, group);
                }
                self.newest = Some(number);
                self.everything_read = Some(now);
                self.groups_read.clear();
                discovery
            }
            Reading::Group(name, found) => {
                let mut groups = old.groups.clone();
                let place = groups.iter().position(|group| group.name == name);
                match (place, found) {
                    (place, Some(mut group)) => {
                        keep_last_known(&old, &mut group);
                        self.groups_read.insert(name, now);
                        match place.and_then(|at| groups.get_mut(at)) {
                            Some(place) => *place = group,
                            None => groups.push(group),
                        }
                    }
                    (Some(at), None) => {
                        groups.remove(at);
                        self.groups_read.remove(&name);
                    }
                    (None, None) => {}
                }
                Discovery { groups }
            }
        };
        self.known = Some(Arc::new(new));
    }
}

/// A version that could not be read keeps its last known kinds.
fn keep_last_known(old: &Discovery, group: &mut ApiGroup) {
    let Some(old) = old.group(&group.name) else {
        return;
    };
    for version in &mut group.versions {
        if version.problem.is_some() && version.kinds.is_empty() {
            let known = old.version(&version.name);
            version.kinds = known.map(|old| old.kinds.clone()).unwrap_or_default();
        }
    }
}
