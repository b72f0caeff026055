use std::{borrow::Cow, sync::Arc, time::Duration};

use jiff::Timestamp;

use super::{EventType, reporter::Reporter, spam_limit::Source, target::Target};
use crate::{backoff::Growth, client::Backoff};

/// What the events of one series have in common. The note is not part of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct SeriesKey {
    pub(super) reporter: Arc<Reporter>,
    pub(super) kind: EventType,
    pub(super) reason: Cow<'static, str>,
    pub(super) action: Cow<'static, str>,
    pub(super) regarding: Target,
    pub(super) related: Option<Target>,
}

impl SeriesKey {
    /// The source whose limits count for the series.
    pub(super) fn source(&self) -> Source {
        (self.reporter.clone(), self.regarding.clone())
    }
}

/// One series: what has happened so far, and what the server knows of it.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) key: Arc<SeriesKey>,
    /// The name of the Event.
    pub(super) name: String,
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
    /// When the newest event was recorded, on the clock that never goes back.
    pub(super) seen: Duration,
    pub(super) current: Content,
    /// What the server's Event says. `None` if the Event does not exist.
    pub(super) sent: Option<Content>,
    /// What the server's Event will say after the running request.
    pub(super) sending: Option<Content>,
    /// The next request is not sent before this time.
    pub(super) not_before: Duration,
    /// From this time on, another note is written without waiting for the pace of the series.
    pub(super) note_due: Option<Duration>,
    /// The number of successful patches.
    pub(super) patches: u32,
    /// The number of failures in a row.
    pub(super) failures: u32,
}

/// What a series waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SeriesState {
    /// The response to a request.
    Sending,
    /// The time of its next request.
    Write(Duration),
    /// A repetition. Without one it is forgotten [`IDLE`](Series::IDLE) after this time.
    Quiet(Duration),
}

impl Series {
    /// The longest pause in a series. An equal event after that starts another series.
    pub(super) const IDLE: Duration = Duration::from_secs(6 * 60);
    /// The times after the patches, so that a long series is written less and less often. The server deletes an Event
    /// that is not written for an hour.
    const PACE: Growth = Growth::doubling(Duration::from_secs(10), Duration::from_secs(30 * 60));
    /// A failing request is sent at most 12 times, in about 7 minutes.
    pub(super) const RETRIES: Backoff = Backoff {
        steps: 12,
        pause: Duration::from_secs(1),
        factor: 2,
        longest: Duration::from_secs(60),
        jitter: 0.25,
    };

    pub(super) fn state(&self) -> SeriesState {
        if self.sending.is_some() {
            SeriesState::Sending
        } else if self.sent.as_ref() == Some(&self.current) {
            SeriesState::Quiet(self.seen)
        } else if self.failures > 0 {
            SeriesState::Write(self.not_before)
        } else {
            // When the series has gone quiet, its last count is written without waiting for the pace.
            let due = self.not_before.min(self.seen + Self::IDLE);
            SeriesState::Write(self.note_due.map_or(due, |note| note.min(due)))
        }
    }

    pub(super) fn is_unsent(&self) -> bool {
        self.sent.as_ref() != Some(&self.current)
    }

    /// Whether people would read an old note until the next write of the pace: the server's Event has, or will have after
    /// the running request, another note than `note`.
    pub(super) fn shows_another_note(&self, note: &str) -> bool {
        let written = self.sending.as_ref().or(self.sent.as_ref());
        let written = written.filter(|content| !content.is_unknown());
        self.note_due.is_none() && written.is_some_and(|content| *content.note != *note)
    }

    /// Adds an event that equals the previous ones except for the note.
    pub(super) fn repeat(&mut self, seen: Duration, at: Timestamp, note: &str) {
        self.seen = seen;
        self.last = self.last.max(at);
        self.current.count = self.current.count.saturating_add(1);
        if *self.current.note != *note {
            self.current.note = note.into();
        }
    }

    /// Records that the server applied the request.
    pub(super) fn done(&mut self, now: Duration) {
        if self.sent.is_some() {
            self.not_before = now + Self::PACE.least(self.patches);
            self.patches += 1;
        }
        self.failures = 0;
        self.sent = self.sending.take();
    }

    /// Records a failed request. The server's Event now says `sent`.
    pub(super) fn failed(&mut self, now: Duration, sent: Option<Content>, pause: Duration) {
        self.failures += 1;
        self.sent = sent;
        // A missing or unknown Event is written again at once, but not if that keeps failing.
        let pause = match self.failures {
            0..3 => pause,
            failures => pause.max(Self::RETRIES.after(failures)),
        };
        self.not_before = now + pause;
    }
}

/// The part of an Event that changes as it repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) count: i32,
    pub(super) note: Arc<str>,
}

impl Content {
    /// The content of an Event that exists but whose content is not known, so that all of it is written
    /// again.
    pub(super) fn unknown() -> Self {
        Self {
            count: 0,
            note: "".into(),
        }
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.count == 0
    }
}
