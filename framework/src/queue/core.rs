use std::{
    hash::{BuildHasher, Hash},
    time::Duration,
};

use hashbrown::{DefaultHashBuilder, HashTable, hash_table::Entry};

use super::{
    KeyState, Note, Priority, QueuedKey, Retry, groups::Groups, ready::Ready, wheel::Wheel,
};

/// The state machine of a workqueue: no clock, no lock, no task.
///
/// A key is idle, waiting, running, or running and dirty (it has to run once more); beside that it
/// may have one deadline and a number of failures. Only keys for which one of these is not at
/// rest take up memory. `now` is the time since the queue was made and never runs backwards.
///
/// Each key has a slot, found by one look-up; everything else knows slots by their places. Whoever
/// works on a key has its [`Seat`], and needs no look-up to end the work.
///
/// Invariants, checked by the property test:
/// - a key is in `ready` exactly if it waits, in `running` exactly if it runs, each once;
/// - a key that waits has no deadline: its next run covers whatever the deadline was for;
/// - no slot is kept for a key at rest.
pub(super) struct Core<K, N> {
    slots: Vec<Option<Slot<K, N>>>,
    free: Vec<u32>,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
    group_of: Option<GroupOf<K>>,
    groups: Groups,
    ready: Ready,
    /// In ticks of a millisecond.
    deadlines: Wheel,
    /// The place of the key that runs in each seat.
    running: Vec<Option<u32>>,
    free_seats: Vec<usize>,
    open: bool,
    added: u64,
    unused: u32,
}

/// A hash of the group that a key belongs to.
pub(super) type GroupOf<K> = Box<dyn Fn(&K) -> u64 + Send>;

struct Slot<K, N> {
    key: K,
    hash: u64,
    group: u32,
    phase: Phase,
    /// Of the next run, as is the note.
    priority: Priority,
    note: N,
    failures: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Waiting,
    Running {
        seat: usize,
        since: Duration,
        dirty: Option<Duration>,
    },
}

/// A run that is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Request<N> {
    pub(super) priority: Priority,
    pub(super) note: N,
}

/// The right to end a run; there is one for each.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Seat(usize);

/// A run that begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Run<K, N> {
    /// What it is ended with.
    pub(super) seat: Seat,
    /// The key, which nobody else is given until [`Core::end`].
    pub(super) key: K,
    /// Everything noted since its last run began.
    pub(super) note: N,
    /// The highest asked for since its last run began.
    pub(super) priority: Priority,
    /// How long it had been ready.
    pub(super) waited: Duration,
    /// How often it failed in a row.
    pub(super) failures: u32,
}

/// What a worker that asks for work is told.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<K, N> {
    /// Work on this key.
    Work(Run<K, N>),
    /// Nothing is ready. At the deadline, if there is one, something may be.
    Wait(Option<Duration>),
    /// The queue was shut down and nothing is left.
    Closed,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Its failures are forgotten.
    Success,
    /// Its failures are what they are.
    Open,
}

/// Slabs of fewer slots are not worth the trouble of giving memory back.
const SMALL: usize = 1024;

impl<K: Clone + Eq + Hash, N: Note> Core<K, N> {
    /// An empty, open queue.
    pub(super) fn new(group_of: Option<GroupOf<K>>) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            index: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            group_of,
            groups: Groups::default(),
            ready: Ready::new(),
            deadlines: Wheel::new(),
            running: Vec::new(),
            free_seats: Vec::new(),
            open: true,
            added: 0,
            unused: 0,
        }
    }

    /// Asks for a run of `key` that begins after now.
    pub(super) fn add(&mut self, key: K, request: Request<N>, now: Duration) {
        self.add_at(key, now, request, now);
    }

    /// Asks for a run of `key` at `when`; the earliest time asked for since its last run counts.
    pub(super) fn add_at(&mut self, key: K, when: Duration, request: Request<N>, now: Duration) {
        if self.open {
            let place = self.place(key);
            self.ask(place, when, request, now);
        }
    }

    /// Counts one more failure of `key`, and asks for a run after the `delay` for so many.
    pub(super) fn fail(
        &mut self,
        key: K,
        request: Request<N>,
        now: Duration,
        delay: impl FnOnce(u32) -> Duration,
    ) -> Retry {
        let place = self.place(key);
        self.fail_at(place, request, now, delay)
    }

    /// As [`add_at`](Self::add_at), of the key that runs in `seat`.
    pub(super) fn add_again(
        &mut self,
        seat: &Seat,
        when: Duration,
        request: Request<N>,
        now: Duration,
    ) {
        if self.open
            && let Some(place) = self.running[seat.0]
        {
            self.ask(place, when, request, now);
        }
    }

    /// As [`fail`](Self::fail), of the key that runs in `seat`.
    pub(super) fn fail_again(
        &mut self,
        seat: &Seat,
        request: Request<N>,
        now: Duration,
        delay: Duration,
    ) -> Retry {
        match self.running[seat.0] {
            Some(place) => self.fail_at(place, request, now, |_| delay),
            None => Retry { attempt: 1, delay },
        }
    }

    /// Forgets the failures of `key`. What it waits for is kept.
    pub(super) fn forget(&mut self, key: &K) {
        if let Some(place) = self.find(key)
            && let Some(slot) = self.slot(place)
        {
            slot.failures = 0;
            self.release(place);
            self.tidy();
        }
    }

    /// How often `key` failed in a row.
    pub(super) fn failures(&self, key: &K) -> u32 {
        self.find(key)
            .and_then(|place| self.slots[place as usize].as_ref())
            .map_or(0, |slot| slot.failures)
    }

    /// The key whose turn it is, which runs from now on.
    pub(super) fn next(&mut self, now: Duration) -> Next<K, N> {
        self.expire(now);
        match self.start(now) {
            Some(run) => Next::Work(run),
            None if self.open || self.running() > 0 => Next::Wait(self.next_deadline()),
            None => Next::Closed,
        }
    }

    /// Ends the run in `seat` and returns how long it took.
    pub(super) fn end(&mut self, seat: Seat, end: End, now: Duration) -> Duration {
        let Some(place) = self.running[seat.0].take() else {
            return Duration::ZERO;
        };
        self.free_seats.push(seat.0);
        let Some(slot) = self.slot(place) else {
            return Duration::ZERO;
        };
        let Phase::Running { since, dirty, .. } = slot.phase else {
            return Duration::ZERO;
        };
        slot.phase = Phase::Idle;
        if end == End::Success {
            slot.failures = 0;
        }
        match dirty {
            // It has been waiting since it was asked for, as client-go counts.
            Some(since) => self.make_ready(place, since),
            None => {
                self.release(place);
                self.tidy();
            }
        }
        now.saturating_sub(since)
    }

    /// No more adds; deadlines are dropped, what is ready is still handed out.
    pub(super) fn shut_down(&mut self) {
        self.open = false;
        for place in self.deadlines.take_all() {
            self.release(place);
        }
        self.tidy();
    }

    /// Whether adds are taken.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// How many keys are ready and not running.
    pub(super) fn len(&self) -> usize {
        self.ready.len()
    }

    /// How many of each priority are ready, the lowest first.
    pub(super) fn depth(&self) -> [usize; 3] {
        self.ready.depth()
    }

    /// Whether nothing is ready and nothing runs.
    pub(super) fn is_drained(&self) -> bool {
        self.ready.len() == 0 && self.running() == 0
    }

    /// For how many keys anything is remembered.
    pub(super) fn remembered(&self) -> usize {
        self.index.len()
    }

    /// For how many keys there is room.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        let slots = self.slots.capacity().max(self.index.capacity());
        slots.max(self.ready.room()).max(self.deadlines.room())
    }

    /// Before this no deadline comes.
    pub(super) fn next_deadline(&self) -> Option<Duration> {
        self.deadlines.next().map(Duration::from_millis)
    }

    /// When each present run began.
    pub(super) fn running_since(&self) -> impl Iterator<Item = Duration> + '_ {
        let places = self.running.iter().flatten();
        places.filter_map(|place| match self.slots[*place as usize].as_ref()?.phase {
            Phase::Running { since, .. } => Some(since),
            _ => None,
        })
    }

    /// Everything that is remembered, at `now`.
    pub(super) fn keys(&self, now: Duration) -> impl Iterator<Item = QueuedKey<&K>> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(move |(place, slot)| {
            let slot = slot.as_ref()?;
            let deadline = self.deadlines.get(place as u32).map(Duration::from_millis);
            Some(QueuedKey {
                key: &slot.key,
                state: match slot.phase {
                    Phase::Idle => KeyState::Idle,
                    Phase::Waiting => KeyState::Waiting,
                    Phase::Running { since, dirty, .. } => KeyState::Running {
                        since: now.saturating_sub(since),
                        again: dirty.is_some(),
                    },
                },
                due_in: deadline.map(|deadline| deadline.saturating_sub(now)),
                failures: slot.failures,
                priority: slot.priority,
            })
        })
    }

    /// How many keys became ready since this was last asked.
    pub(super) fn take_added(&mut self) -> u64 {
        std::mem::take(&mut self.added)
    }

    /// How many delays after failures were not waited for since this was last asked.
    pub(super) fn take_unused(&mut self) -> u32 {
        std::mem::take(&mut self.unused)
    }

    fn running(&self) -> usize {
        self.running.len() - self.free_seats.len()
    }

    fn ask(&mut self, place: u32, when: Duration, request: Request<N>, now: Duration) {
        let Some(slot) = self.slot(place) else {
            return;
        };
        slot.note.merge(request.note);
        slot.priority = slot.priority.max(request.priority);
        let (phase, priority) = (slot.phase, slot.priority);
        if phase == Phase::Waiting {
            return self.ready.raise(place, priority);
        }
        if when <= now {
            return self.make_ready(place, now);
        }
        // A run that is to follow the present one covers it, and so does an earlier deadline.
        let dirty = matches!(phase, Phase::Running { dirty: Some(_), .. });
        let tick = tick(when);
        if dirty || self.deadlines.get(place).is_some_and(|set| set <= tick) {
            return;
        }
        self.deadlines.clear(place);
        self.deadlines.set(place, tick);
    }

    fn fail_at(
        &mut self,
        place: u32,
        request: Request<N>,
        now: Duration,
        delay: impl FnOnce(u32) -> Duration,
    ) -> Retry {
        let failures = self.slot(place).map_or(1, |slot| {
            slot.failures = slot.failures.saturating_add(1);
            slot.failures
        });
        let delay = delay(failures);
        if self.open {
            let when = now.saturating_add(delay);
            self.ask(place, when, request, now);
            if when > now && self.deadlines.get(place) != Some(tick(when)) {
                // Something else brings it earlier.
                self.unused = self.unused.saturating_add(1);
            }
        }
        Retry {
            attempt: failures,
            delay,
        }
    }

    /// The key whose turn it is among those that are ready already.
    pub(super) fn start(&mut self, now: Duration) -> Option<Run<K, N>> {
        let (place, priority, since) = self.ready.pop(now)?;
        let seat = self.free_seats.pop().unwrap_or(self.running.len());
        match self.running.get_mut(seat) {
            Some(empty) => *empty = Some(place),
            None => self.running.push(Some(place)),
        }
        let slot = self.slot(place)?;
        slot.phase = Phase::Running {
            seat,
            since: now,
            dirty: None,
        };
        slot.priority = Priority::Low;
        Some(Run {
            seat: Seat(seat),
            key: slot.key.clone(),
            note: std::mem::take(&mut slot.note),
            priority,
            waited: now.saturating_sub(since),
            failures: slot.failures,
        })
    }

    /// Takes back a run that has not begun: its key waits as before, the first of its group.
    pub(super) fn put_back(&mut self, run: Run<K, N>) {
        let Some(place) = self.running[run.seat.0].take() else {
            return;
        };
        self.free_seats.push(run.seat.0);
        // The run that it waits for covers whatever was asked for meanwhile.
        self.deadlines.clear(place);
        let Some(slot) = self.slot(place) else {
            return;
        };
        let Phase::Running { since, .. } = slot.phase else {
            return;
        };
        slot.phase = Phase::Waiting;
        let later = std::mem::replace(&mut slot.note, run.note);
        slot.note.merge(later);
        slot.priority = slot.priority.max(run.priority);
        let (group, priority) = (slot.group, slot.priority);
        let since = since.saturating_sub(run.waited);
        self.ready.push_front(place, group, priority, since);
    }

    /// Makes the keys ready whose deadline has come, in the order of their deadlines.
    fn expire(&mut self, now: Duration) {
        // Rounded down here and up there: never too early.
        let present = millis(now);
        while let Some(place) = self.deadlines.pop(present) {
            self.make_ready(place, now);
        }
    }

    fn make_ready(&mut self, place: u32, now: Duration) {
        let was_delayed = self.deadlines.get(place).is_some();
        self.deadlines.clear(place);
        let Some(slot) = self.slot(place) else {
            return;
        };
        let was_unused = was_delayed && slot.failures > 0;
        match &mut slot.phase {
            Phase::Waiting => {}
            Phase::Running { dirty, .. } => {
                dirty.get_or_insert(now);
            }
            Phase::Idle => {
                slot.phase = Phase::Waiting;
                let (group, priority) = (slot.group, slot.priority);
                self.ready.push(place, group, priority, now);
                self.added += 1;
            }
        }
        self.unused = self.unused.saturating_add(was_unused.into());
    }

    fn slot(&mut self, place: u32) -> Option<&mut Slot<K, N>> {
        self.slots[place as usize].as_mut()
    }

    fn find(&self, key: &K) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        let slots = &self.slots;
        self.index
            .find(hash, |place| holds(slots, *place, key))
            .copied()
    }

    /// The place of `key`, made if there is none.
    fn place(&mut self, key: K) -> u32 {
        let Self {
            slots,
            free,
            index,
            hasher,
            group_of,
            groups,
            ..
        } = self;
        let hash = hasher.hash_one(&key);
        let entry = index.entry(
            hash,
            |place| holds(slots, *place, &key),
            |place| slots[*place as usize].as_ref().map_or(0, |slot| slot.hash),
        );
        match entry {
            Entry::Occupied(place) => *place.get(),
            Entry::Vacant(vacant) => {
                let group = group_of.as_ref().map_or(0, |group_of| group_of(&key));
                let slot = Some(Slot {
                    key,
                    hash,
                    group: groups.join(group),
                    phase: Phase::Idle,
                    priority: Priority::Low,
                    note: N::default(),
                    failures: 0,
                });
                let place = free.pop().unwrap_or(slots.len() as u32);
                vacant.insert(place);
                match slots.get_mut(place as usize) {
                    Some(empty) => *empty = slot,
                    None => slots.push(slot),
                }
                place
            }
        }
    }

    /// Frees the slot if its key is at rest.
    fn release(&mut self, place: u32) {
        let Some(slot) = &self.slots[place as usize] else {
            return;
        };
        let at_rest = slot.phase == Phase::Idle && slot.failures == 0;
        if !at_rest || self.deadlines.get(place).is_some() {
            return;
        }
        let found = self.index.find_entry(slot.hash, |other| *other == place);
        if let Ok(entry) = found {
            entry.remove();
        }
        self.groups.leave(slot.group);
        self.slots[place as usize] = None;
        self.free.push(place);
    }

    /// Gives back the memory of a burst: moves the slots together when three of four are free.
    /// Half of what is left is room for more, so that this happens seldom.
    fn tidy(&mut self) {
        let kept = self.index.len();
        if self.slots.len() < SMALL || kept * 4 > self.slots.len() {
            return;
        }
        let mut to = 0;
        for from in 0..self.slots.len() {
            if self.slots[from].is_some() {
                if from > to {
                    self.renumber(from as u32, to as u32);
                }
                to += 1;
            }
        }
        self.free = Vec::new();
        if self.running() == 0 {
            self.running = Vec::new();
            self.free_seats = Vec::new();
        }
        self.slots.truncate(kept);
        self.slots.shrink_to(kept * 2);
        self.ready.shrink(kept);
        self.deadlines.shrink(kept);
        let slots = &self.slots;
        self.index.shrink_to(kept * 2, |place| {
            slots[*place as usize].as_ref().map_or(0, |slot| slot.hash)
        });
    }

    /// Moves the slot at `from` to `to`, which is free.
    fn renumber(&mut self, from: u32, to: u32) {
        self.slots.swap(from as usize, to as usize);
        let Some(slot) = &self.slots[to as usize] else {
            return;
        };
        if let Some(place) = self.index.find_mut(slot.hash, |place| *place == from) {
            *place = to;
        }
        match slot.phase {
            Phase::Waiting => self.ready.renumber(from, to),
            Phase::Running { seat, .. } => self.running[seat] = Some(to),
            Phase::Idle => {}
        }
        self.deadlines.renumber(from, to);
    }
}

fn holds<K: Eq, N>(slots: &[Option<Slot<K, N>>], place: u32, key: &K) -> bool {
    let slot = slots[place as usize].as_ref();
    slot.is_some_and(|slot| slot.key == *key)
}

/// Whole milliseconds, rounded down.
fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The first whole millisecond that is not before `time`.
fn tick(time: Duration) -> u64 {
    millis(time.saturating_add(Duration::from_nanos(999_999)))
}
