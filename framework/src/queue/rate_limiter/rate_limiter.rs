use std::time::Duration;

/// Decides how long a key that failed waits before its next run.
///
/// The queue counts the failures of each key, and calls the limiter once for each failure.
pub trait RateLimiter: Send + 'static {
    /// Returns the delay of a key that failed.
    fn delay(&mut self, failed: FailedKey) -> Duration;

    /// Takes back the delay of a key of `group`: something else made the key ready before the delay ended. A limiter
    /// over all keys does not charge for it. The default does nothing.
    fn unused(&mut self, group: u64) {
        let _ = group;
    }
}

/// A key that failed, as a [`RateLimiter`] sees it. The default is a key without failures, at the start of the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailedKey {
    /// How often the key failed in a row; 1 is the first failure.
    pub failures: u32,
    /// The [group](crate::queue::Builder::group_by) of the key: a hash of its name, other in each queue. All keys of a
    /// queue without groups have the same.
    pub group: u64,
    /// The time since the queue was created.
    pub now: Duration,
}

impl FailedKey {
    /// A key that failed so often in a row, in a queue without groups.
    pub fn after(failures: u32, now: Duration) -> Self {
        Self {
            failures,
            now,
            ..Self::default()
        }
    }
}

impl<L: RateLimiter + ?Sized> RateLimiter for Box<L> {
    fn delay(&mut self, failed: FailedKey) -> Duration {
        (**self).delay(failed)
    }

    fn unused(&mut self, group: u64) {
        (**self).unused(group);
    }
}
