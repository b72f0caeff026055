use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_core::future::BoxFuture;
use futures_util::future::{Shared, WeakShared};
use tokio::time::Instant;

use super::{ApiGroup, Discovery};
use crate::client::Error;

/// What was read less than this ago is not read again for a name that is missing in it.
const QUIET: Duration = Duration::from_secs(3);
/// What was read longer ago is read again before it is used.
const LIFETIME: Duration = Duration::from_secs(600);

/// What is read in one go.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Extent {
    Everything,
    Group(String),
}

/// What was read.
pub(super) enum Reading {
    Everything(Discovery),
    /// The group of that name; `None` when it is not served.
    Group(String, Option<ApiGroup>),
}

pub(super) type Outcome = Result<(), Arc<Error>>;
/// A reading under way, which all who want it wait for.
pub(super) type Flight = Shared<BoxFuture<'static, Outcome>>;

/// What to do about a name that is missing.
pub(super) enum Step {
    /// It was looked for just now, with this outcome.
    Told(Outcome),
    Wait(Flight),
}

/// What a mapper knows, and what it is asking for. Knows no client and never waits.
#[derive(Default)]
pub(super) struct Memory {
    known: Option<Arc<Discovery>>,
    everything_read: Option<Instant>,
    /// Groups that were read after everything was.
    groups_read: HashMap<String, Instant>,
    /// Readings that ended less than [`QUIET`] ago.
    ended: HashMap<Extent, (Instant, Outcome)>,
    /// Weak, so that a reading that nobody waits for any more ends and is begun anew.
    flights: HashMap<Extent, (u64, WeakShared<BoxFuture<'static, Outcome>>)>,
    /// Readings are numbered as they begin.
    next: u64,
    /// The newest reading of everything that ended well.
    newest: Option<u64>,
}

impl Memory {
    pub(super) fn known(&self) -> Option<Arc<Discovery>> {
        self.known.clone()
    }

    /// The number of the next reading.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Whether what is known of a group should be read again.
    pub(super) fn is_old(&self, group: &str, now: Instant) -> bool {
        let read = self.groups_read.get(group).copied();
        read.or(self.everything_read)
            .is_none_or(|read| now.duration_since(read) > LIFETIME)
    }

    /// How to look again, unless that was done just now.
    pub(super) fn look_again(
        &mut self,
        extent: &Extent,
        now: Instant,
        begin: impl FnOnce(u64) -> Flight,
    ) -> Step {
        if let Some((_, flight)) = self.under_way(extent) {
            return Step::Wait(flight);
        }
        let ended = [extent, &Extent::Everything]
            .into_iter()
            .filter_map(|extent| self.ended.get(extent))
            .filter(|(at, _)| now.duration_since(*at) < QUIET)
            .max_by_key(|(at, _)| *at);
        match ended {
            Some((_, outcome)) => Step::Told(outcome.clone()),
            None => Step::Wait(self.begin(extent, begin).1),
        }
    }

    /// A reading under way or a new one, with its number.
    pub(super) fn join(
        &mut self,
        extent: &Extent,
        begin: impl FnOnce(u64) -> Flight,
    ) -> (u64, Flight) {
        match self.under_way(extent) {
            Some(flight) => flight,
            None => self.begin(extent, begin),
        }
    }

    fn under_way(&self, extent: &Extent) -> Option<(u64, Flight)> {
        [&Extent::Everything, extent]
            .into_iter()
            .filter_map(|extent| self.flights.get(extent))
            .find_map(|(number, flight)| Some((*number, flight.upgrade()?)))
    }

    fn begin(&mut self, extent: &Extent, begin: impl FnOnce(u64) -> Flight) -> (u64, Flight) {
        self.flights
            .retain(|_, (_, flight)| flight.upgrade().is_some());
        let number = self.next;
        self.next += 1;
        let flight = begin(number);
        if let Some(weak) = flight.downgrade() {
            self.flights.insert(extent.clone(), (number, weak));
        }
        (number, flight)
    }

    /// Takes what the reading of that number found.
    pub(super) fn end(
        &mut self,
        number: u64,
        extent: Extent,
        found: Result<Reading, Error>,
        now: Instant,
    ) -> Outcome {
        if self
            .flights
            .get(&extent)
            .is_some_and(|(of, _)| *of == number)
        {
            self.flights.remove(&extent);
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
        // Another reading began later and ended before: it knows better.
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

/// A version that could not be read keeps the kinds it had.
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
