use std::time::Duration;

/// A clock that also counts while the machine is suspended. It returns the time since a fixed moment
/// in the past.
///
/// A lease ages on the server while the holder's machine sleeps. With a clock that stops then, as
/// [`Instant`](std::time::Instant) may, a holder that wakes up would still believe that it leads.
pub(super) trait Clock: Send + Sync + 'static {
    /// The current time. It never goes backwards.
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
