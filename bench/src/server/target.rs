//! The events that every watch is to send.

/// How far watches are to send events.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Target {
    /// The number of events of a watch that has caught up.
    pub(super) events: u64,
    /// Whether each event carries the time at which it is written.
    pub(super) stamped: bool,
    /// Whether objects are deleted and created again instead of modified.
    pub(super) churned: bool,
    /// The number of the stock that watches send; watches of another stock end.
    pub(super) epoch: u64,
    /// The number of the command that set it. A pace ends with the next command.
    pub(super) command: u64,
}

/// Returns the monotonic clock in nanoseconds, which is the same for all processes of the machine.
pub(crate) fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
