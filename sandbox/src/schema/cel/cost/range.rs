/// The smallest and the largest size or cost. [`u64::MAX`] is without limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Range {
    pub(super) const UNKNOWN: Self = Self {
        min: 0,
        max: u64::MAX,
    };

    pub(super) const ZERO: Self = Self::of(0);

    pub(super) const fn of(exactly: u64) -> Self {
        Self {
            min: exactly,
            max: exactly,
        }
    }

    pub(super) const fn to(max: u64) -> Self {
        Self { min: 0, max }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_add(other.min),
            max: self.max.saturating_add(other.max),
        }
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_mul(other.min),
            max: self.max.saturating_mul(other.max),
        }
    }

    /// Multiplies by a factor, and rounds up.
    pub(super) fn scaled(self, factor: f64) -> Self {
        Self {
            min: scale(self.min, factor),
            max: scale(self.max, factor),
        }
    }

    /// The range that holds both.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
}

/// A conversion to an integer saturates.
pub(super) fn scale(number: u64, factor: f64) -> u64 {
    (number as f64 * factor).ceil() as u64
}
