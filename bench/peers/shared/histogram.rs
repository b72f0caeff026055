//! A histogram of many times in little memory.

/// Each of the first 128 nanoseconds has its own bucket. Above, each power of two has half as many buckets.
const FINE: u64 = 128;

/// Counts times in nanoseconds to 1.6 %, and keeps the longest exactly.
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

    /// Returns the time that this share of the times does not exceed; 1 gives the longest.
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

/// Returns the bucket of a time.
fn place(time: u64) -> usize {
    let shift = FINE.leading_zeros().saturating_sub(time.leading_zeros());
    let shift = if time < FINE { 0 } else { shift + 1 };
    (u64::from(shift) * FINE / 2 + (time >> shift)) as usize
}

/// Returns the first time of a bucket.
fn begin(place: usize) -> u64 {
    let place = place as u64;
    if place < FINE {
        return place;
    }
    let shift = place / (FINE / 2) - 1;
    let times = u128::from(place - shift * FINE / 2) << shift;
    u64::try_from(times).unwrap_or(u64::MAX)
}
