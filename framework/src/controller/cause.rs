use std::fmt;

use tokio::time::Instant;

use crate::queue::Note;

/// Why a key is in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Cause {
    /// The object existed when the controller started.
    Initial,
    /// The object was created, or another object took its name.
    Created,
    Updated,
    /// The object is gone.
    Deleted,
    /// The object does not decode, or decodes again.
    Undecodable,
    /// A child of the object changed.
    Owned,
    /// A watched object changed, and its mapping returned the key.
    Watched,
    /// A child that the last call wrote is gone, and no cache ever had it.
    Missing,
    /// A stream of the user requested it.
    Source,
    /// The resync period has passed.
    Resync,
    /// The action of the last reconcile asked for it.
    Requeue,
    /// The last reconcile failed.
    Retry,
    /// The annotation `pilothouse.dev/reconcile-now` changed.
    ReconcileNow,
    /// The annotation `pilothouse.dev/paused` was added.
    PausedObjects,
    /// The annotation `pilothouse.dev/paused` was removed.
    Resumed,
    /// Finalizers have to be added or removed, after a change that the predicate drops.
    Finalizers,
}

impl Cause {
    const ALL: [(Self, &str); 16] = [
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
        (Self::PausedObjects, "paused"),
        (Self::Resumed, "resumed"),
        (Self::Finalizers, "finalizers"),
    ];

    /// As the logs and the reports name it.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Whether the cause is a change of an object. Only for these is the time until the reconcile measured.
    fn is_event(self) -> bool {
        !matches!(
            self,
            Self::Initial | Self::Resync | Self::Requeue | Self::Retry | Self::Source
        )
    }
}

/// All causes of a key in the queue, and the time of the first change among them.
///
/// The text is like `created,owned`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Causes {
    set: u32,
    /// When the first change was seen.
    since: Option<Instant>,
}

impl Causes {
    /// When the first change was seen. Returns `None` if no cause is a change.
    pub(crate) fn since(&self) -> Option<Instant> {
        self.since
    }

    /// All of them.
    pub(crate) fn iter(self) -> impl Iterator<Item = Cause> {
        let all = Cause::ALL.into_iter().map(|(cause, _)| cause);
        all.filter(move |cause| self.set & 1 << *cause as u8 != 0)
    }

    /// Whether `cause` is the only one.
    pub(crate) fn are_only(&self, cause: Cause) -> bool {
        self.set == Self::from(cause).set
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
        for (number, cause) in self.iter().enumerate() {
            f.write_str(if number == 0 { "" } else { "," })?;
            f.write_str(cause.name())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_its_own_name() {
        for (cause, name) in Cause::ALL {
            assert_eq!(cause.name(), name, "{cause:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn merged_causes_keep_the_time_of_the_first_change() {
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
