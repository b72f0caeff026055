//! Many times, in little memory.

/// The first so many nanoseconds have a place each; from there each power of two has half as many.
const FINE: u64 = 128;

/// Times in nanoseconds, known to 1.6 %; the longest exactly.
pub struct Histogram {
    counts: Vec<u64>,
    all: u64,
    longest: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: vec![0; place(u64::MAX) + 1],
            all: 0,
            longest: 0,
        }
    }
}

impl Histogram {
    pub fn add(&mut self, nanoseconds: u64) {
        self.counts[place(nanoseconds)] += 1;
        self.all += 1;
        self.longest = self.longest.max(nanoseconds);
    }

    pub fn count(&self) -> u64 {
        self.all
    }

    /// What so large a share of the times does not exceed; 1 is the longest.
    pub fn microseconds(&self, share: f64) -> f64 {
        let wanted = (self.all as f64 * share).ceil() as u64;
        let mut passed = 0;
        let found = self.counts.iter().position(|count| {
            passed += count;
            passed >= wanted.max(1)
        });
        let upper = found.map_or(0, |place| begin(place + 1) - 1);
        upper.min(self.longest) as f64 / 1e3
    }
}

/// Where a time is counted.
fn place(time: u64) -> usize {
    let shift = FINE.leading_zeros().saturating_sub(time.leading_zeros());
    let shift = if time < FINE { 0 } else { shift + 1 };
    (u64::from(shift) * FINE / 2 + (time >> shift)) as usize
}

/// The first time that is counted there.
fn begin(place: usize) -> u64 {
    let place = place as u64;
    if place < FINE {
        return place;
    }
    let shift = place / (FINE / 2) - 1;
    let times = u128::from(place - shift * FINE / 2) << shift;
    u64::try_from(times).unwrap_or(u64::MAX)
}
