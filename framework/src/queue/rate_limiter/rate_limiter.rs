use std::time::Duration;

/// Decides how long a key that failed waits before it is tried again.
///
/// The queue counts the failures of a key; a limiter is asked once for each failure.
pub trait RateLimiter: Send + 'static {
    /// The delay after the `failures`-th failure in a row (1 is the first), at `now` since the
    /// queue was made.
    fn delay(&mut self, failures: u32, now: Duration) -> Duration;

    /// Takes back `delays` delays: something else made their keys ready before they ended. A limiter that counts
    /// over all keys does not charge for them. Does nothing by default.
    fn unused(&mut self, delays: u32) {
        let _ = delays;
    }
}

impl<L: RateLimiter + ?Sized> RateLimiter for Box<L> {
    fn delay(&mut self, failures: u32, now: Duration) -> Duration {
        (**self).delay(failures, now)
    }

    fn unused(&mut self, delays: u32) {
        (**self).unused(delays);
    }
}
