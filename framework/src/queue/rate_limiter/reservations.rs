use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    time::Duration,
};

/// The retries that a [`TokenBucket`](super::TokenBucket) has promised and that are still to come, by group.
///
/// A group without such retries takes no memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Reservations {
    /// When the retries of each group come, the first of them in front.
    groups: HashMap<u64, VecDeque<Duration>>,
    /// When the first retry of each group comes.
    first: BTreeSet<(Duration, u64)>,
    /// How many groups have more than `i` retries, by `i`. The last one is not 0.
    turns: Vec<u32>,
    total: u64,
}

impl Reservations {
    /// Drops the retries that have come by `now`. Returns how many there were.
    pub(super) fn expire(&mut self, now: Duration) -> u64 {
        let before = self.total;
        while let Some(&(due, group)) = self.first.first()
            && due <= now
        {
            self.remove(group, VecDeque::pop_front);
        }
        before - self.total
    }

    /// The place of the next retry of `group`, if the groups take turns: its (n + 1)th retry comes after the first
    /// n + 1 retries of every other group. The first place is 1.
    pub(super) fn next_place(&self, group: u64) -> u64 {
        let earlier = self.groups.get(&group).map_or(0, VecDeque::len);
        let sum = |turns: &[u32]| turns.iter().map(|groups| u64::from(*groups)).sum::<u64>();
        let (before, after) = self.turns.split_at(self.turns.len().min(earlier + 1));
        // The shorter part is summed. The group with the most retries, which comes here most often, has none after it.
        1 + match before.len() <= after.len() {
            true => sum(before),
            false => self.total - sum(after),
        }
    }

    /// Adds a retry of `group` at `due`.
    pub(super) fn add(&mut self, group: u64, due: Duration) {
        let all = self.groups.entry(group).or_default();
        let place = all.partition_point(|earlier| *earlier <= due);
        if place == 0 {
            if let Some(first) = all.front() {
                self.first.remove(&(*first, group));
            }
            self.first.insert((due, group));
        }
        match self.turns.get_mut(all.len()) {
            Some(groups) => *groups += 1,
            None => self.turns.push(1),
        }
        all.insert(place, due);
        self.total += 1;
    }

    /// Drops the last retry of `group`. Returns whether it had one.
    pub(super) fn give_back(&mut self, group: u64) -> bool {
        self.remove(group, VecDeque::pop_back)
    }

    fn remove(
        &mut self,
        group: u64,
        take: impl FnOnce(&mut VecDeque<Duration>) -> Option<Duration>,
    ) -> bool {
        let Some(all) = self.groups.get_mut(&group) else {
            return false;
        };
        if let Some(first) = all.front() {
            self.first.remove(&(*first, group));
        }
        take(all);
        self.total -= 1;
        if let Some(groups) = self.turns.get_mut(all.len()) {
            *groups -= 1;
        }
        self.turns.pop_if(|groups| *groups == 0);
        match all.front() {
            Some(first) => drop(self.first.insert((*first, group))),
            None => drop(self.groups.remove(&group)),
        }
        if self.total == 0 {
            // Frees the memory of a burst.
            *self = Self::default();
        }
        true
    }
}
