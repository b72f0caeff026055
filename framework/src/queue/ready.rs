use std::time::Duration;

use super::{
    Priority,
    chain::{Chain, Link},
};

/// The keys that are ready, by place: who has the next turn.
///
/// Per priority there is a ring of groups, and in each group its keys in the order in which they
/// became ready: the first key of the first group has the next turn, and its group goes to the
/// end of the ring. Beside that, per priority, all keys by age: once the eldest of a lower priority
/// has waited for [`PATIENCE`], every second turn is that priority's. The turn is the ring's, not
/// the eldest's, so that groups stay even however old their keys are.
///
/// Every operation takes the same short time.
#[derive(Debug)]
pub(super) struct Ready {
    lanes: [Lane; 3],
    keys: Vec<Key>,
    /// Neighbours in their group.
    order: Vec<Link>,
    /// Neighbours by age.
    age: Vec<Link>,
    /// The last turn went to a lower priority because of its age.
    deferred: bool,
}

/// How long a key waits before those of a higher priority have to share their turns.
pub(super) const PATIENCE: Duration = Duration::from_secs(25);

/// The ready keys of one priority.
#[derive(Debug)]
struct Lane {
    len: usize,
    ring: Chain,
    /// Neighbours in the ring, by group.
    neighbours: Vec<Link>,
    /// The keys of each group.
    groups: Vec<Chain>,
    /// The eldest first.
    by_age: Chain,
}

#[derive(Clone, Copy, Debug)]
struct Key {
    since: Duration,
    group: u32,
    priority: Priority,
}

impl Ready {
    pub(super) fn new() -> Self {
        Self {
            lanes: [const { Lane::EMPTY }; 3],
            keys: Vec::new(),
            order: Vec::new(),
            age: Vec::new(),
            deferred: false,
        }
    }

    /// How many keys of all priorities are ready.
    pub(super) fn len(&self) -> usize {
        self.lanes.iter().map(|lane| lane.len).sum()
    }

    /// How many of each priority are ready, the lowest first.
    pub(super) fn depth(&self) -> [usize; 3] {
        self.lanes.each_ref().map(|lane| lane.len)
    }

    /// `place` is ready, and has waited since `since`.
    pub(super) fn push(&mut self, place: u32, group: u32, priority: Priority, since: Duration) {
        let (lane, order) = self.enter(place, group, priority, since);
        lane.group(group).push_back(order, place);
    }

    /// As [`push`](Self::push), but it is the first of its group, whose turn it had already.
    pub(super) fn push_front(
        &mut self,
        place: u32,
        group: u32,
        priority: Priority,
        since: Duration,
    ) {
        let (lane, order) = self.enter(place, group, priority, since);
        lane.group(group).push_front(order, place);
    }

    /// All but its place in its group.
    fn enter(
        &mut self,
        place: u32,
        group: u32,
        priority: Priority,
        since: Duration,
    ) -> (&mut Lane, &mut [Link]) {
        let key = Key {
            since,
            group,
            priority,
        };
        let at = place as usize;
        if self.keys.len() <= at {
            self.keys.resize(at + 1, key);
            self.order.resize(at + 1, Link::NONE);
            self.age.resize(at + 1, Link::NONE);
        }
        self.keys[at] = key;
        let lane = &mut self.lanes[priority as usize];
        lane.len += 1;
        // Of this order only the first counts. A key that waited before it came here, in a lower
        // priority or while it was worked on, is the first or, so that this stays quick, the last.
        match lane.by_age.first() {
            Some(first) if since < self.keys[first as usize].since => {
                lane.by_age.push_front(&mut self.age, place);
            }
            _ => lane.by_age.push_back(&mut self.age, place),
        }
        (lane, &mut self.order)
    }

    /// A ready key has this priority from now on, if it is higher than its own.
    pub(super) fn raise(&mut self, place: u32, priority: Priority) {
        let key = self.keys[place as usize];
        if priority > key.priority {
            self.remove(place);
            self.push(place, key.group, priority, key.since);
        }
    }

    /// The key whose turn it is, its priority, and since when it has waited.
    pub(super) fn pop(&mut self, now: Duration) -> Option<(u32, Priority, Duration)> {
        let highest = self.lanes.iter().rposition(|lane| lane.len > 0)?;
        let overdue = match self.deferred {
            true => None,
            false => self.overdue(highest, now),
        };
        self.deferred = overdue.is_some();
        let place = self.lanes[overdue.unwrap_or(highest)].first()?;
        let Key {
            since,
            group,
            priority,
        } = self.keys[place as usize];
        self.remove(place);
        self.lanes[priority as usize].had_its_turn(group);
        Some((place, priority, since))
    }

    /// What was at `from` is at `to`, where nothing was.
    pub(super) fn renumber(&mut self, from: u32, to: u32) {
        let key = self.keys[from as usize];
        self.keys[to as usize] = key;
        let lane = &mut self.lanes[key.priority as usize];
        lane.group(key.group).renumber(&mut self.order, from, to);
        lane.by_age.renumber(&mut self.age, from, to);
    }

    /// Keeps room for `places` only: there is nothing further on.
    pub(super) fn shrink(&mut self, places: usize) {
        self.keys.truncate(places);
        self.keys.shrink_to_fit();
        self.order.truncate(places);
        self.order.shrink_to_fit();
        self.age.truncate(places);
        self.age.shrink_to_fit();
        for lane in &mut self.lanes {
            if lane.len == 0 {
                *lane = Lane::EMPTY;
            }
        }
    }

    /// For how many keys there is room.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        let links = self.order.capacity().max(self.age.capacity());
        self.keys.capacity().max(links)
    }

    /// Which priority below `highest` has waited for too long.
    fn overdue(&self, highest: usize, now: Duration) -> Option<usize> {
        let eldest = |lane: usize| {
            let first = self.lanes[lane].by_age.first()?;
            let since = self.keys[first as usize].since;
            (now.saturating_sub(since) >= PATIENCE).then_some((since, lane))
        };
        let (_, lane) = (0..highest).filter_map(eldest).min()?;
        Some(lane)
    }

    fn remove(&mut self, place: u32) {
        let key = self.keys[place as usize];
        let lane = &mut self.lanes[key.priority as usize];
        lane.len -= 1;
        lane.by_age.remove(&mut self.age, place);
        let group = key.group as usize;
        lane.groups[group].remove(&mut self.order, place);
        if lane.groups[group].first().is_none() {
            lane.ring.remove(&mut lane.neighbours, key.group);
        }
    }
}

impl Lane {
    const EMPTY: Self = Self {
        len: 0,
        ring: Chain::EMPTY,
        neighbours: Vec::new(),
        groups: Vec::new(),
        by_age: Chain::EMPTY,
    };

    /// The key whose turn it is.
    fn first(&self) -> Option<u32> {
        let group = self.ring.first()?;
        self.groups[group as usize].first()
    }

    /// The first group of the ring is the last from now on, if it has more keys.
    fn had_its_turn(&mut self, group: u32) {
        if self.ring.first() == Some(group) {
            self.ring.remove(&mut self.neighbours, group);
            self.ring.push_back(&mut self.neighbours, group);
        }
    }

    /// The keys of `group`, which is in the ring.
    fn group(&mut self, group: u32) -> &mut Chain {
        let at = group as usize;
        if self.groups.len() <= at {
            self.groups.resize(at + 1, Chain::EMPTY);
            self.neighbours.resize(at + 1, Link::NONE);
        }
        let keys = &mut self.groups[at];
        if keys.first().is_none() {
            self.ring.push_back(&mut self.neighbours, group);
        }
        keys
    }
}
