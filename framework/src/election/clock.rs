use std::time::Duration;

/// Time since some moment of the past, on a clock that also counts while the machine is suspended.
///
/// A lease goes on ageing on the server while its holder's machine sleeps; a clock that stands still
/// then (as [`Instant`](std::time::Instant) may) would let a holder that wakes up believe in it.
pub(super) trait Clock: Send + Sync + 'static {
    /// Never runs backwards.
    fn now(&self) -> Duration;
}

/// The system's clock: `CLOCK_BOOTTIME` on Linux; elsewhere `CLOCK_MONOTONIC`, which counts
/// suspension on macOS.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let id = rustix::time::ClockId::Boottime;
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let id = rustix::time::ClockId::Monotonic;
        let time = rustix::time::clock_gettime(id);
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
    }
}

/// tokio's clock, which a test can hold.
#[cfg(test)]
pub(super) struct TokioClock(tokio::time::Instant);

#[cfg(test)]
impl TokioClock {
    pub(super) fn new() -> Self {
        // Not zero: a system's clock is not either.
        Self(tokio::time::Instant::now() - Duration::from_secs(1000))
    }
}

#[cfg(test)]
impl Clock for TokioClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}
