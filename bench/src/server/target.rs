//! What every watch is to send.

/// How far watches are to go.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Target {
    /// How many events each has when it has caught up.
    pub(super) events: u64,
    /// Whether each bears the time at which it is written.
    pub(super) stamped: bool,
    /// Whether objects are deleted and created again, in place of being modified.
    pub(super) churned: bool,
    /// The stock that is told of; watches of another one are over.
    pub(super) epoch: u64,
    /// The command that asked for it; a pace ends with the next one.
    pub(super) command: u64,
}

/// The monotonic clock, in nanoseconds: the same for all processes of the machine.
pub(crate) fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
