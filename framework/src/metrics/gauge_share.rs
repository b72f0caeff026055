use std::sync::atomic::{AtomicI64, Ordering};

use prometheus::IntGauge;

/// One owner's part of a gauge that several owners share. Dropping it subtracts the part.
#[derive(Debug)]
pub(crate) struct GaugeShare {
    gauge: IntGauge,
    value: AtomicI64,
}

impl GaugeShare {
    /// Creates a share of zero.
    pub(crate) fn of(gauge: &IntGauge) -> Self {
        Self {
            gauge: gauge.clone(),
            value: AtomicI64::new(0),
        }
    }

    /// Sets the share to `value`.
    pub(crate) fn set(&self, value: usize) {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        let before = self.value.swap(value, Ordering::Relaxed);
        self.gauge.add(value - before);
    }
}

impl Drop for GaugeShare {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gauge_is_the_sum_of_its_shares_without_the_dropped_ones() {
        let gauge = IntGauge::new("objects", "Objects").unwrap();
        let (one, other) = (GaugeShare::of(&gauge), GaugeShare::of(&gauge));
        one.set(3);
        other.set(4);
        one.set(2);
        assert_eq!(gauge.get(), 6);
        drop(one);
        assert_eq!(gauge.get(), 4);
    }
}
