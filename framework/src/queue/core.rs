use std::{
    collections::{BTreeMap, VecDeque},
    hash::{BuildHasher, Hash},
    time::Duration,
};

use hashbrown::{DefaultHashBuilder, HashTable, hash_table::Entry};

/// The state machine of a workqueue: no clock, no lock, no task.
///
/// A key is idle, waiting, running, or running and dirty (it has to run once more); beside that it
/// may have one deadline and a number of failures. Only keys for which one of these is not at
/// rest take up memory. `now` is the time since the queue was made and never runs backwards.
///
/// Invariants, checked by the property test:
/// - a key is in `ready` exactly if it waits, in `running` exactly if it runs, each once;
/// - a key that waits has no deadline: its next run covers whatever the deadline was for;
/// - no slot is kept for a key at rest.
#[derive(Debug)]
pub(super) struct Core<K> {
    slots: Vec<Option<Slot<K>>>,
    free: Vec<usize>,
    index: HashTable<usize>,
    hasher: DefaultHashBuilder,
    ready: VecDeque<usize>,
    running: Vec<usize>,
    /// By time and then by order of asking, so that equal deadlines keep their order.
    deadlines: BTreeMap<(Duration, u64), usize>,
    next_order: u64,
    open: bool,
    added: u64,
}

#[derive(Debug)]
struct Slot<K> {
    key: K,
    phase: Phase,
    deadline: Option<(Duration, u64)>,
    failures: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Waiting {
        since: Duration,
    },
    Running {
        since: Duration,
        /// Place in `running`.
        place: usize,
        dirty: Option<Duration>,
    },
}

/// What a worker that asks for work is told.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<K> {
    /// Work on this key; it had been ready for `waited`.
    Work {
        /// The key, which nobody else is given until [`Core::done`].
        key: K,
        /// How long it had been ready.
        waited: Duration,
    },
    /// Nothing is ready. At the deadline, if there is one, something may be.
    Wait(Option<Duration>),
    /// The queue was shut down and nothing is left.
    Closed,
}

impl<K: Clone + Eq + Hash> Core<K> {
    /// An empty, open queue.
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            index: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            ready: VecDeque::new(),
            running: Vec::new(),
            deadlines: BTreeMap::new(),
            next_order: 0,
            open: true,
            added: 0,
        }
    }

    /// Asks for a run of `key` that begins after now.
    pub(super) fn add(&mut self, key: K, now: Duration) {
        if self.open {
            let slot = self.slot(key);
            self.make_ready(slot, now);
        }
    }

    /// Asks for a run of `key` at `when`; the earliest time asked for since its last run counts.
    pub(super) fn add_at(&mut self, key: K, when: Duration, now: Duration) {
        if when <= now {
            return self.add(key, now);
        }
        if !self.open {
            return;
        }
        let place = self.slot(key);
        let order = self.next_order;
        let Some(slot) = self.slots[place].as_mut() else {
            return;
        };
        let covered = match slot.phase {
            Phase::Waiting { .. } => true,
            Phase::Running { dirty, .. } => dirty.is_some(),
            Phase::Idle => false,
        };
        if covered || slot.deadline.is_some_and(|(present, _)| present <= when) {
            return;
        }
        if let Some(present) = slot.deadline.replace((when, order)) {
            self.deadlines.remove(&present);
        }
        self.next_order += 1;
        self.deadlines.insert((when, order), place);
    }

    /// Counts one more failure of `key` and returns how many there are in a row.
    pub(super) fn fail(&mut self, key: &K) -> u32 {
        let place = self.slot(key.clone());
        let Some(slot) = self.slots[place].as_mut() else {
            return 1;
        };
        slot.failures = slot.failures.saturating_add(1);
        slot.failures
    }

    /// Forgets the failures of `key`. What it waits for is kept.
    pub(super) fn forget(&mut self, key: &K) {
        if let Some(place) = self.find(key)
            && let Some(slot) = self.slots[place].as_mut()
        {
            slot.failures = 0;
            self.release(place);
        }
    }

    /// How often `key` failed in a row.
    pub(super) fn failures(&self, key: &K) -> u32 {
        self.find(key)
            .and_then(|place| self.slots[place].as_ref())
            .map_or(0, |slot| slot.failures)
    }

    /// The key that has been ready for longest, which runs from now on.
    pub(super) fn next(&mut self, now: Duration) -> Next<K> {
        self.expire(now);
        let Some(place) = self.ready.pop_front() else {
            return if self.open || !self.running.is_empty() {
                Next::Wait(self.next_deadline())
            } else {
                Next::Closed
            };
        };
        let Some(slot) = self.slots[place].as_mut() else {
            return Next::Wait(self.next_deadline());
        };
        let waited = match slot.phase {
            Phase::Waiting { since } => now.saturating_sub(since),
            _ => Duration::ZERO,
        };
        slot.phase = Phase::Running {
            since: now,
            place: self.running.len(),
            dirty: None,
        };
        self.running.push(place);
        Next::Work {
            key: slot.key.clone(),
            waited,
        }
    }

    /// Ends the run of `key` and returns how long it took; `None` if it did not run.
    pub(super) fn done(&mut self, key: &K, now: Duration) -> Option<Duration> {
        let place = self.find(key)?;
        let slot = self.slots[place].as_mut()?;
        let Phase::Running {
            since,
            place: seat,
            dirty,
        } = slot.phase
        else {
            return None;
        };
        slot.phase = Phase::Idle;
        self.running.swap_remove(seat);
        if let Some(moved) = self.running.get(seat)
            && let Some(Slot {
                phase: Phase::Running { place, .. },
                ..
            }) = self.slots[*moved].as_mut()
        {
            *place = seat;
        }
        match dirty {
            // It has been waiting since it was asked for, as client-go counts.
            Some(since) => self.make_ready(place, since),
            None => self.release(place),
        }
        Some(now.saturating_sub(since))
    }

    /// No more adds; deadlines are dropped, what is ready is still handed out.
    pub(super) fn shut_down(&mut self) {
        self.open = false;
        for place in std::mem::take(&mut self.deadlines).into_values() {
            if let Some(slot) = self.slots[place].as_mut() {
                slot.deadline = None;
            }
            self.release(place);
        }
    }

    /// Whether adds are taken.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// How many keys are ready and not running.
    pub(super) fn len(&self) -> usize {
        self.ready.len()
    }

    /// Whether nothing is ready and nothing runs.
    pub(super) fn is_drained(&self) -> bool {
        self.ready.is_empty() && self.running.is_empty()
    }

    /// For how many keys anything is remembered.
    pub(super) fn remembered(&self) -> usize {
        self.index.len()
    }

    /// The earliest deadline.
    pub(super) fn next_deadline(&self) -> Option<Duration> {
        self.deadlines.keys().next().map(|(when, _)| *when)
    }

    /// When each present run began.
    pub(super) fn running_since(&self) -> impl Iterator<Item = Duration> + '_ {
        self.running
            .iter()
            .filter_map(|place| match self.slots[*place].as_ref()?.phase {
                Phase::Running { since, .. } => Some(since),
                _ => None,
            })
    }

    /// How many keys became ready since this was last asked.
    pub(super) fn take_added(&mut self) -> u64 {
        std::mem::take(&mut self.added)
    }

    /// Makes the keys ready whose deadline has come, in the order of their deadlines.
    fn expire(&mut self, now: Duration) {
        while let Some(entry) = self.deadlines.first_entry()
            && entry.key().0 <= now
        {
            let place = entry.remove();
            if let Some(slot) = self.slots[place].as_mut() {
                slot.deadline = None;
                self.make_ready(place, now);
            }
        }
    }

    fn make_ready(&mut self, place: usize, now: Duration) {
        let Some(slot) = self.slots[place].as_mut() else {
            return;
        };
        match &mut slot.phase {
            Phase::Waiting { .. } => return,
            Phase::Running { dirty, .. } => {
                if dirty.is_none() {
                    *dirty = Some(now);
                }
            }
            Phase::Idle => {
                slot.phase = Phase::Waiting { since: now };
                self.ready.push_back(place);
                self.added += 1;
            }
        }
        if let Some(deadline) = slot.deadline.take() {
            self.deadlines.remove(&deadline);
        }
    }

    fn find(&self, key: &K) -> Option<usize> {
        let hash = self.hasher.hash_one(key);
        let slots = &self.slots;
        self.index
            .find(hash, |place| holds(slots, *place, key))
            .copied()
    }

    /// The place of `key`, made if there is none.
    fn slot(&mut self, key: K) -> usize {
        let Self {
            slots,
            free,
            index,
            hasher,
            ..
        } = self;
        let entry = index.entry(
            hasher.hash_one(&key),
            |place| holds(slots, *place, &key),
            |place| {
                slots[*place]
                    .as_ref()
                    .map_or(0, |slot| hasher.hash_one(&slot.key))
            },
        );
        match entry {
            Entry::Occupied(place) => *place.get(),
            Entry::Vacant(vacant) => {
                let slot = Some(Slot {
                    key,
                    phase: Phase::Idle,
                    deadline: None,
                    failures: 0,
                });
                let place = free.pop().unwrap_or(slots.len());
                vacant.insert(place);
                match slots.get_mut(place) {
                    Some(empty) => *empty = slot,
                    None => slots.push(slot),
                }
                place
            }
        }
    }

    /// Frees the slot if its key is at rest.
    fn release(&mut self, place: usize) {
        let Some(slot) = &self.slots[place] else {
            return;
        };
        if slot.phase != Phase::Idle || slot.deadline.is_some() || slot.failures > 0 {
            return;
        }
        let hash = self.hasher.hash_one(&slot.key);
        if let Ok(entry) = self.index.find_entry(hash, |other| *other == place) {
            entry.remove();
        }
        self.slots[place] = None;
        self.free.push(place);
        if self.index.is_empty() {
            self.shrink();
        }
    }

    /// Gives back the memory of a burst once everything is at rest.
    fn shrink(&mut self) {
        if self.slots.len() > 4096 {
            self.slots = Vec::new();
            self.free = Vec::new();
            self.index = HashTable::new();
            self.ready = VecDeque::new();
        }
    }
}

fn holds<K: Eq>(slots: &[Option<Slot<K>>], place: usize, key: &K) -> bool {
    slots[place].as_ref().is_some_and(|slot| slot.key == *key)
}
