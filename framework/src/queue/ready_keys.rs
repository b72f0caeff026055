use std::time::Duration;

use super::{
    Priority,
    slab_list::{Link, SlabList},
};

/// The keys that are ready, by place, and which of them comes next.
///
/// Each priority has a ring of groups, and each group has its keys in the order in which they became ready. The first
/// key of the first group comes next, and then its group moves to the end of the ring. Each priority also has all its
/// keys by age: once the oldest key of a lower priority has waited for [`STARVATION_LIMIT`], every second turn
/// belongs to that priority. That turn goes to the first group of its ring and not to the oldest key, so that groups
/// stay even however old their keys are.
///
/// Every operation takes constant time.
#[derive(Debug)]
pub(super) struct ReadyKeys {
    levels: [PriorityLevel; 3],
    keys: Vec<Key>,
    /// Neighbours within a group.
    order: Vec<Link>,
    /// Neighbours by age.
    age: Vec<Link>,
    /// The last turn went to a lower priority because of its age.
    last_was_overdue: bool,
}

/// A key that waits for longer shares the turns of higher priorities.
pub(super) const STARVATION_LIMIT: Duration = Duration::from_secs(25);

/// The ready keys of one priority.
#[derive(Debug)]
struct PriorityLevel {
    len: usize,
    ring: SlabList,
    /// Neighbours in the ring, by group.
    ring_links: Vec<Link>,
    /// The keys of each group.
    groups: Vec<SlabList>,
    /// The oldest first.
    by_age: SlabList,
}

#[derive(Clone, Copy, Debug)]
struct Key {
    since: Duration,
    group: u32,
    priority: Priority,
}

impl ReadyKeys {
    pub(super) fn new() -> Self {
        Self {
            levels: [const { PriorityLevel::EMPTY }; 3],
            keys: Vec::new(),
            order: Vec::new(),
            age: Vec::new(),
            last_was_overdue: false,
        }
    }

    /// How many keys of all priorities are ready.
    pub(super) fn len(&self) -> usize {
        self.levels.iter().map(|level| level.len).sum()
    }

    /// How many keys of each priority are ready, the lowest priority first.
    pub(super) fn depth(&self) -> [usize; 3] {
        self.levels.each_ref().map(|level| level.len)
    }

    /// Adds `place`, which became ready at `since`.
    pub(super) fn push(&mut self, place: u32, group: u32, priority: Priority, since: Duration) {
        let (level, order) = self.enter(place, group, priority, since);
        level.group(group).push_back(order, place);
    }

    /// Like [`push`](Self::push), but as the first key of its group: it already had its turn.
    pub(super) fn push_front(
        &mut self,
        place: u32,
        group: u32,
        priority: Priority,
        since: Duration,
    ) {
        let (level, order) = self.enter(place, group, priority, since);
        level.group(group).push_front(order, place);
    }

    /// Adds the key everywhere except to the list of its group.
    fn enter(
        &mut self,
        place: u32,
        group: u32,
        priority: Priority,
        since: Duration,
    ) -> (&mut PriorityLevel, &mut [Link]) {
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
        let level = &mut self.levels[priority as usize];
        level.len += 1;
        // Only the first key of this order matters. A key that waited before it came here (in a lower priority, or
        // while a worker had it) becomes the first or the last, so that this takes constant time.
        match level.by_age.first() {
            Some(first) if since < self.keys[first as usize].since => {
                level.by_age.push_front(&mut self.age, place);
            }
            _ => level.by_age.push_back(&mut self.age, place),
        }
        (level, &mut self.order)
    }

    /// Raises the priority of a ready key to `priority`, if that is higher.
    pub(super) fn raise(&mut self, place: u32, priority: Priority) {
        let key = self.keys[place as usize];
        if priority > key.priority {
            self.remove(place);
            self.push(place, key.group, priority, key.since);
        }
    }

    /// Removes the key that comes next. Returns its place, its priority, and since when it has been ready.
    pub(super) fn pop(&mut self, now: Duration) -> Option<(u32, Priority, Duration)> {
        let highest = self.levels.iter().rposition(|level| level.len > 0)?;
        let overdue = match self.last_was_overdue {
            true => None,
            false => self.overdue(highest, now),
        };
        self.last_was_overdue = overdue.is_some();
        let place = self.levels[overdue.unwrap_or(highest)].first()?;
        let Key {
            since,
            group,
            priority,
        } = self.keys[place as usize];
        self.remove(place);
        self.levels[priority as usize].rotate(group);
        Some((place, priority, since))
    }

    /// Moves the key at `from` to `to`, which is free.
    pub(super) fn renumber(&mut self, from: u32, to: u32) {
        let key = self.keys[from as usize];
        self.keys[to as usize] = key;
        let level = &mut self.levels[key.priority as usize];
        level.group(key.group).renumber(&mut self.order, from, to);
        level.by_age.renumber(&mut self.age, from, to);
    }

    /// Frees the memory of all places from `places` on; the caller has moved their keys.
    pub(super) fn shrink(&mut self, places: usize) {
        self.keys.truncate(places);
        self.keys.shrink_to_fit();
        self.order.truncate(places);
        self.order.shrink_to_fit();
        self.age.truncate(places);
        self.age.shrink_to_fit();
        for level in &mut self.levels {
            if level.len == 0 {
                *level = PriorityLevel::EMPTY;
            }
        }
    }

    /// For how many keys there is memory.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        let links = self.order.capacity().max(self.age.capacity());
        self.keys.capacity().max(links)
    }

    /// The priority below `highest` whose oldest key has waited for too long.
    fn overdue(&self, highest: usize, now: Duration) -> Option<usize> {
        let oldest = |level: usize| {
            let first = self.levels[level].by_age.first()?;
            let since = self.keys[first as usize].since;
            (now.saturating_sub(since) >= STARVATION_LIMIT).then_some((since, level))
        };
        let (_, level) = (0..highest).filter_map(oldest).min()?;
        Some(level)
    }

    fn remove(&mut self, place: u32) {
        let key = self.keys[place as usize];
        let level = &mut self.levels[key.priority as usize];
        level.len -= 1;
        level.by_age.remove(&mut self.age, place);
        let group = key.group as usize;
        level.groups[group].remove(&mut self.order, place);
        if level.groups[group].first().is_none() {
            level.ring.remove(&mut level.ring_links, key.group);
        }
    }
}

impl PriorityLevel {
    const EMPTY: Self = Self {
        len: 0,
        ring: SlabList::EMPTY,
        ring_links: Vec::new(),
        groups: Vec::new(),
        by_age: SlabList::EMPTY,
    };

    /// The key that comes next.
    fn first(&self) -> Option<u32> {
        let group = self.ring.first()?;
        self.groups[group as usize].first()
    }

    /// Moves `group`, which is the first of the ring, to the end if it has more keys.
    fn rotate(&mut self, group: u32) {
        if self.ring.first() == Some(group) {
            self.ring.remove(&mut self.ring_links, group);
            self.ring.push_back(&mut self.ring_links, group);
        }
    }

    /// The keys of `group`. Adds the group to the ring if it has no keys yet.
    fn group(&mut self, group: u32) -> &mut SlabList {
        let at = group as usize;
        if self.groups.len() <= at {
            self.groups.resize(at + 1, SlabList::EMPTY);
            self.ring_links.resize(at + 1, Link::NONE);
        }
        let keys = &mut self.groups[at];
        if keys.first().is_none() {
            self.ring.push_back(&mut self.ring_links, group);
        }
        keys
    }
}
