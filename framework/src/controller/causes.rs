use std::fmt;

use tokio::time::Instant;

use crate::queue::Note;

/// Why a reconcile was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Cause {
    /// The object was there when the controller began.
    Initial,
    /// The object was created, or its name was taken by another one.
    Created,
    Updated,
    /// The object is gone.
    Deleted,
    /// The object does not decode, or does again.
    Undecodable,
    /// An object that it owns changed.
    Owned,
    /// A watched object changed that concerns it.
    Watched,
    /// An object that it wrote is gone, and no cache ever had it.
    Missing,
    /// A source of the user.
    Source,
    /// It is told again at intervals.
    Resync,
    /// The last reconcile wished for it.
    Requeue,
    /// The last reconcile failed.
    Retry,
    /// The annotation `pilothouse.dev/reconcile-now`.
    ReconcileNow,
    /// The annotation `pilothouse.dev/paused` came.
    Paused,
    /// The annotation `pilothouse.dev/paused` went.
    Resumed,
}

impl Cause {
    const ALL: [(Self, &str); 15] = [
        (Self::Initial, "initial"),
        (Self::Created, "created"),
        (Self::Updated, "updated"),
        (Self::Deleted, "deleted"),
        (Self::Undecodable, "undecodable"),
        (Self::Owned, "owned"),
        (Self::Watched, "watched"),
        (Self::Missing, "missing"),
        (Self::Source, "source"),
        (Self::Resync, "resync"),
        (Self::Requeue, "requeue"),
        (Self::Retry, "retry"),
        (Self::ReconcileNow, "reconcile-now"),
        (Self::Paused, "paused"),
        (Self::Resumed, "resumed"),
    ];

    /// Whether it is a change that somebody made, whose way to the reconcile is worth measuring.
    fn is_event(self) -> bool {
        !matches!(
            self,
            Self::Initial | Self::Resync | Self::Requeue | Self::Retry | Self::Source
        )
    }
}

/// All that a reconcile was asked for, and since when: the note of a key in the queue.
///
/// Displayed it is `created,owned`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Causes {
    set: u16,
    /// When the first change among them was seen.
    since: Option<Instant>,
}

impl Causes {
    /// When the first change was seen that this is about; `None` if it is about none.
    pub(super) fn since(&self) -> Option<Instant> {
        self.since
    }
}

impl From<Cause> for Causes {
    fn from(cause: Cause) -> Self {
        Self {
            set: 1 << cause as u8,
            since: cause.is_event().then(Instant::now),
        }
    }
}

impl Note for Causes {
    fn merge(&mut self, later: Self) {
        self.set |= later.set;
        self.since = match (self.since, later.since) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
}

impl fmt::Display for Causes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = Cause::ALL
            .iter()
            .filter(|(cause, _)| self.set & 1 << *cause as u8 != 0);
        for (number, (_, name)) in held.enumerate() {
            f.write_str(if number == 0 { "" } else { "," })?;
            f.write_str(name)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn causes_add_up_and_the_first_change_counts() {
        let mut causes = Causes::from(Cause::Initial);
        assert_eq!(causes.since(), None);
        let start = Instant::now();
        causes.merge(Cause::Owned.into());
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
        causes.merge(Cause::Updated.into());
        causes.merge(Causes::default());
        assert_eq!(causes.since(), Some(start));
        assert_eq!(causes.to_string(), "initial,updated,owned");
        assert_eq!(Causes::default().to_string(), "");
    }
}
