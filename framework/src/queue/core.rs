use std::{
    hash::{BuildHasher, Hash},
    time::Duration,
};

use hashbrown::{DefaultHashBuilder, HashTable, hash_table::Entry};

use super::{
    KeyState, Note, Priority, QueuedKey, Retry,
    groups::Groups,
    ready_keys::ReadyKeys,
    run::{End, Next, Request, Run, RunToken},
    timing_wheel::TimingWheel,
};

/// The state machine of a workqueue: no clock, no lock, no task.
///
/// A key is idle, waiting, running, or running and dirty (it must run once more). It may also have one deadline and a
/// number of failures. Only a key that is not idle, or that has a deadline or failures, takes memory. `now` is the
/// time since the queue was created; it never goes backwards.
///
/// Each key has a slot, found by one look-up. Everything else refers to slots by their index, called `place`. A
/// worker that has a key holds its [`RunToken`] and needs no look-up to end the run.
///
/// Invariants, checked by the property test:
/// - a key is in `ready` exactly if it waits, and in `running` exactly if it runs, once each;
/// - a key that waits has no deadline: its next run covers whatever the deadline was for;
/// - no slot exists for an idle key without deadline and failures.
pub(super) struct Core<K, N> {
    slots: Vec<Option<Slot<K, N>>>,
    free: Vec<u32>,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
    group_of: Option<GroupOf<K>>,
    groups: Groups,
    ready: ReadyKeys,
    /// In ticks of 1 ms.
    deadlines: TimingWheel,
    /// The place of the running key, by run token.
    running: Vec<Option<u32>>,
    free_tokens: Vec<usize>,
    open: bool,
    added: u64,
    /// The groups of the delays that were not used, one entry for each delay.
    unused: Vec<u64>,
}

/// Returns a hash of the name of the group that a key belongs to.
pub(super) type GroupOf<K> = Box<dyn Fn(&K) -> u64 + Send>;

struct Slot<K, N> {
    key: K,
    hash: u64,
    group: u32,
    phase: Phase,
    /// The priority of the next run, and its note.
    priority: Priority,
    note: N,
    failures: u32,
    /// Whether the deadline is the end of a delay after a failure.
    retries: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Waiting,
    Running {
        token: usize,
        since: Duration,
        dirty: Option<Duration>,
    },
}

/// A slab with fewer slots is never shrunk.
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
            ready: ReadyKeys::new(),
            deadlines: TimingWheel::new(),
            running: Vec::new(),
            free_tokens: Vec::new(),
            open: true,
            added: 0,
            unused: Vec::new(),
        }
    }

    /// Requests a run of `key` that begins after now.
    pub(super) fn add(&mut self, key: K, request: Request<N>, now: Duration) {
        self.add_at(key, now, request, now);
    }

    /// Requests a run of `key` at `when`. The earliest time requested since its last run counts.
    pub(super) fn add_at(&mut self, key: K, when: Duration, request: Request<N>, now: Duration) {
        if self.open {
            let place = self.place(key);
            self.request(place, when, request, now);
        }
    }

    /// Counts one more failure of `key`, and requests a run after the `delay` for that many failures of a key of its
    /// group.
    pub(super) fn fail(
        &mut self,
        key: K,
        request: Request<N>,
        now: Duration,
        delay: impl FnOnce(u32, u64) -> Duration,
    ) -> Retry {
        let place = self.place(key);
        self.fail_slot(place, request, now, delay)
    }

    /// Like [`add_at`](Self::add_at), for the running key of `token`.
    pub(super) fn add_running(
        &mut self,
        token: &RunToken,
        when: Duration,
        request: Request<N>,
        now: Duration,
    ) {
        if self.open
            && let Some(place) = self.running[token.0]
        {
            self.request(place, when, request, now);
        }
    }

    /// Like [`fail`](Self::fail), for the running key of `token`.
    pub(super) fn fail_running(
        &mut self,
        token: &RunToken,
        request: Request<N>,
        now: Duration,
        delay: Duration,
    ) -> Retry {
        match self.running[token.0] {
            Some(place) => self.fail_slot(place, request, now, |_, _| delay),
            None => Retry { attempt: 1, delay },
        }
    }

    /// Forgets the failures of `key`. Its run and its deadline stay.
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

    /// Begins to run the ready key that comes next.
    pub(super) fn next(&mut self, now: Duration) -> Next<K, N> {
        self.expire(now);
        match self.start(now) {
            Some(run) => Next::Work(run),
            None if self.open || self.running() > 0 => Next::Wait(self.next_deadline()),
            None => Next::Closed,
        }
    }

    /// Ends the run of `token` and returns how long it took.
    pub(super) fn end(&mut self, token: RunToken, end: End, now: Duration) -> Duration {
        let Some(place) = self.running[token.0].take() else {
            return Duration::ZERO;
        };
        self.free_tokens.push(token.0);
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
            // The key has waited since the run was requested; client-go counts in the same way.
            Some(since) => self.make_ready(place, since),
            None => {
                self.release(place);
                self.tidy();
            }
        }
        now.saturating_sub(since)
    }

    /// Ignores further adds and drops the deadlines. Ready keys can still be taken.
    pub(super) fn shut_down(&mut self) {
        self.open = false;
        for place in self.deadlines.take_all() {
            self.release(place);
        }
        self.tidy();
    }

    /// Whether the queue accepts adds.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// How many keys are ready and do not run.
    pub(super) fn len(&self) -> usize {
        self.ready.len()
    }

    /// How many keys of each priority are ready, the lowest priority first.
    pub(super) fn depth(&self) -> [usize; 3] {
        self.ready.depth()
    }

    /// Whether no key is ready and no key runs.
    pub(super) fn is_drained(&self) -> bool {
        self.ready.len() == 0 && self.running() == 0
    }

    /// How many keys take memory.
    pub(super) fn remembered(&self) -> usize {
        self.index.len()
    }

    /// For how many keys there is memory.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        let slots = self.slots.capacity().max(self.index.capacity());
        slots.max(self.ready.room()).max(self.deadlines.room())
    }

    /// No deadline comes before this time.
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

    /// All keys that take memory, as they are at `now`.
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

    /// How many keys became ready since the last call.
    pub(super) fn take_added(&mut self) -> u64 {
        std::mem::take(&mut self.added)
    }

    /// The group of each delay after a failure that was not used since the last call: something else brought the key
    /// earlier.
    pub(super) fn take_unused(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.unused)
    }

    fn note_unused(&mut self, group: u32) {
        // A bound, because only a failure takes them: each remembered key has one delay.
        if self.unused.len() < self.slots.len() {
            self.unused.push(self.groups.hash(group));
        }
    }

    fn running(&self) -> usize {
        self.running.len() - self.free_tokens.len()
    }

    fn request(&mut self, place: u32, when: Duration, request: Request<N>, now: Duration) {
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
        // A run that follows the present one covers the request, and so does an earlier deadline.
        let dirty = matches!(phase, Phase::Running { dirty: Some(_), .. });
        let tick = tick(when);
        if dirty || self.deadlines.get(place).is_some_and(|set| set <= tick) {
            return;
        }
        self.deadlines.clear(place);
        self.deadlines.set(place, tick);
    }

    fn fail_slot(
        &mut self,
        place: u32,
        request: Request<N>,
        now: Duration,
        delay: impl FnOnce(u32, u64) -> Duration,
    ) -> Retry {
        let (failures, group) = self.slot(place).map_or((1, 0), |slot| {
            slot.failures = slot.failures.saturating_add(1);
            (slot.failures, slot.group)
        });
        let delay = delay(failures, self.groups.hash(group));
        if self.open {
            let when = now.saturating_add(delay);
            self.request(place, when, request, now);
            let is_used = when <= now || self.deadlines.get(place) == Some(tick(when));
            if !is_used {
                // Something else brings the key earlier.
                self.note_unused(group);
            } else if let Some(slot) = self.slot(place) {
                slot.retries = when > now;
            }
        }
        Retry {
            attempt: failures,
            delay,
        }
    }

    /// Begins to run the key that comes next, without looking at the deadlines.
    pub(super) fn start(&mut self, now: Duration) -> Option<Run<K, N>> {
        let (place, priority, since) = self.ready.pop(now)?;
        let token = self.free_tokens.pop().unwrap_or(self.running.len());
        match self.running.get_mut(token) {
            Some(empty) => *empty = Some(place),
            None => self.running.push(Some(place)),
        }
        let slot = self.slot(place)?;
        slot.phase = Phase::Running {
            token,
            since: now,
            dirty: None,
        };
        slot.priority = Priority::Low;
        let group = slot.group;
        Some(Run {
            token: RunToken(token),
            key: slot.key.clone(),
            note: std::mem::take(&mut slot.note),
            priority,
            waited: now.saturating_sub(since),
            failures: slot.failures,
            group: self.groups.hash(group),
        })
    }

    /// Takes back a run that a worker did not begin. Its key waits again, as the first of its group.
    pub(super) fn put_back(&mut self, run: Run<K, N>) {
        let Some(place) = self.running[run.token.0].take() else {
            return;
        };
        self.free_tokens.push(run.token.0);
        // The run that it waits for again covers whatever was requested meanwhile.
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

    /// Makes the keys ready whose deadline has passed, in the order of their deadlines.
    fn expire(&mut self, now: Duration) {
        // Rounded down here and up in `tick`, so that no deadline comes too early.
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
        let was_unused = std::mem::take(&mut slot.retries) && was_delayed;
        let group = slot.group;
        match &mut slot.phase {
            Phase::Waiting => {}
            Phase::Running { dirty, .. } => {
                dirty.get_or_insert(now);
            }
            Phase::Idle => {
                slot.phase = Phase::Waiting;
                let priority = slot.priority;
                self.ready.push(place, group, priority, now);
                self.added += 1;
            }
        }
        if was_unused {
            self.note_unused(group);
        }
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

    /// The place of `key`; creates a slot if it has none.
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
                    retries: false,
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

    /// Frees the slot if its key is idle, without deadline and without failures.
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

    /// Frees the memory of a burst: moves the slots together when three of four are free. Leaves as much free room as
    /// there are slots in use, so that this happens seldom.
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
            self.free_tokens = Vec::new();
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
            Phase::Running { token, .. } => self.running[token] = Some(to),
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
