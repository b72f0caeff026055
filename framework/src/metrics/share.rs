use std::sync::atomic::{AtomicI64, Ordering};

use prometheus::IntGauge;

/// What one of several adds to a gauge that they share; dropping it takes that back.
#[derive(Debug)]
pub struct Share {
    gauge: IntGauge,
    value: AtomicI64,
}

impl Share {
    /// Adds nothing yet.
    pub fn of(gauge: &IntGauge) -> Self {
        Self {
            gauge: gauge.clone(),
            value: AtomicI64::new(0),
        }
    }

    /// From now on this one adds `value`.
    pub fn set(&self, value: usize) {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        let before = self.value.swap(value, Ordering::Relaxed);
        self.gauge.add(value - before);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gauge_is_the_sum_of_its_shares_and_forgets_those_that_are_dropped() {
        let gauge = IntGauge::new("objects", "Objects").unwrap();
        let (one, other) = (Share::of(&gauge), Share::of(&gauge));
        one.set(3);
        other.set(4);
        one.set(2);
        assert_eq!(gauge.get(), 6);
        drop(one);
        assert_eq!(gauge.get(), 4);
    }
}
