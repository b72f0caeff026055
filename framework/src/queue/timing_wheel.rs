use super::slab_list::{Link, SlabList};

/// At most one deadline for each place, in ticks since the queue was created: a hierarchical timing wheel (Varghese
/// and Lauck 1987). Setting, clearing and removing a deadline take constant time, however many there are.
///
/// A deadline lies on the lowest level on which it shares all higher digits with the present tick, in the bucket of
/// its digit there. So all deadlines of a level come before those of the next level, none lies in the past, and the
/// first bucket of a level is the one with the lowest digit. When time reaches a bucket of a higher level, its
/// deadlines move down.
///
/// Deadlines of the same tick come out in the order in which they were set.
#[derive(Debug)]
pub(super) struct TimingWheel {
    /// Every deadline that is set lies at or after it.
    present: u64,
    /// Which buckets of a level are not empty, as a bit set.
    occupied: [u64; LEVELS],
    buckets: Box<[[SlabList; BUCKETS]; LEVELS]>,
    /// The deadline of each place.
    ticks: Vec<u64>,
    links: Vec<Link>,
}

const DIGIT: u32 = 6;
const BUCKETS: usize = 1 << DIGIT;
/// 139 years, with ticks of 1 ms.
const LEVELS: usize = 7;
/// Later deadlines are moved to this tick.
const LAST: u64 = (1 << (DIGIT * LEVELS as u32)) - 1;
/// The mark for a place without deadline.
const NEVER: u64 = u64::MAX;

impl TimingWheel {
    pub(super) fn new() -> Self {
        Self {
            present: 0,
            occupied: [0; LEVELS],
            buckets: Box::new([[SlabList::EMPTY; BUCKETS]; LEVELS]),
            ticks: Vec::new(),
            links: Vec::new(),
        }
    }

    /// The deadline of `place`.
    pub(super) fn get(&self, place: u32) -> Option<u64> {
        let tick = self.ticks.get(place as usize).copied();
        tick.filter(|tick| *tick != NEVER)
    }

    /// Sets the deadline of `place`, which must have none.
    pub(super) fn set(&mut self, place: u32, tick: u64) {
        let room = place as usize + 1;
        if self.ticks.len() < room {
            self.ticks.resize(room, NEVER);
            self.links.resize(room, Link::NONE);
        }
        self.ticks[place as usize] = tick.clamp(self.present, LAST);
        self.link(place);
    }

    /// Clears the deadline of `place`. Returns whether it had one.
    pub(super) fn clear(&mut self, place: u32) -> bool {
        let Some(tick) = self.get(place) else {
            return false;
        };
        let (level, digit) = self.bucket(tick);
        let bucket = &mut self.buckets[level][digit];
        bucket.remove(&mut self.links, place);
        if bucket.first().is_none() {
            self.occupied[level] &= !(1 << digit);
        }
        self.ticks[place as usize] = NEVER;
        true
    }

    /// Removes the earliest deadline that is not after `now`, and returns its place.
    pub(super) fn pop(&mut self, now: u64) -> Option<u32> {
        while let Some((level, digit, start)) = self.earliest()
            && start <= now
        {
            self.present = start;
            if level == 0 {
                let place = self.buckets[0][digit].first()?;
                self.clear(place);
                return Some(place);
            }
            let mut down = std::mem::replace(&mut self.buckets[level][digit], SlabList::EMPTY);
            self.occupied[level] &= !(1 << digit);
            while let Some(place) = down.pop_front(&mut self.links) {
                self.link(place);
            }
        }
        self.present = self.present.max(now.min(LAST));
        None
    }

    /// No deadline comes before this tick. The first deadline may come later, if its bucket must still move down.
    pub(super) fn next(&self) -> Option<u64> {
        self.earliest().map(|(_, _, start)| start)
    }

    /// Clears all deadlines, and returns the places that had one.
    pub(super) fn take_all(&mut self) -> Vec<u32> {
        let mut all: Vec<_> = (0..self.ticks.len() as u32).collect();
        all.retain(|place| self.clear(*place));
        all
    }

    /// Moves the deadline at `from` to `to`, which is free.
    pub(super) fn renumber(&mut self, from: u32, to: u32) {
        if let Some(tick) = self.get(from) {
            let (level, digit) = self.bucket(tick);
            self.buckets[level][digit].renumber(&mut self.links, from, to);
            self.ticks.swap(from as usize, to as usize);
        }
    }

    /// Frees the memory of all places from `places` on; the caller has moved their deadlines.
    pub(super) fn shrink(&mut self, places: usize) {
        self.ticks.truncate(places);
        self.ticks.shrink_to_fit();
        self.links.truncate(places);
        self.links.shrink_to_fit();
    }

    /// For how many places there is memory.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.ticks.capacity().max(self.links.capacity())
    }

    /// Puts `place` into the bucket of its deadline.
    fn link(&mut self, place: u32) {
        let (level, digit) = self.bucket(self.ticks[place as usize]);
        self.buckets[level][digit].push_back(&mut self.links, place);
        self.occupied[level] |= 1 << digit;
    }

    /// Level and digit of the bucket that `tick` belongs to.
    fn bucket(&self, tick: u64) -> (usize, usize) {
        let differs = (tick ^ self.present).checked_ilog2().unwrap_or(0);
        let level = differs / DIGIT;
        let digit = (tick >> (level * DIGIT)) as usize % BUCKETS;
        (level as usize, digit)
    }

    /// Level, digit and first tick of the bucket that comes first.
    fn earliest(&self) -> Option<(usize, usize, u64)> {
        let level = self.occupied.iter().position(|buckets| *buckets != 0)?;
        let digit = self.occupied[level].trailing_zeros();
        let shift = level as u32 * DIGIT;
        let above = shift + DIGIT;
        let start = (self.present >> above << above) | (u64::from(digit) << shift);
        Some((level, digit as usize, start))
    }
}
