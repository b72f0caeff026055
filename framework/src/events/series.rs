use std::{borrow::Cow, sync::Arc, time::Duration};

use jiff::Timestamp;

use super::{EventType, reporter::Reporter, target::Target, write::Told};
use crate::client::Backoff;

/// What events have in common that are one series. The note is no part of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) reporter: Arc<Reporter>,
    pub(super) kind: EventType,
    pub(super) reason: Cow<'static, str>,
    pub(super) action: Cow<'static, str>,
    pub(super) regarding: Target,
    pub(super) related: Option<Target>,
}

/// What happened so far, and what of it the server knows.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) key: Arc<Key>,
    /// The Event's name.
    pub(super) name: String,
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
    /// When the newest one was recorded, by the clock that never goes back.
    pub(super) seen: Duration,
    pub(super) now: Told,
    /// What the server's Event says; `None` while there is none.
    pub(super) sent: Option<Told>,
    /// What the request under way will make it say.
    pub(super) sending: Option<Told>,
    /// The next request is not sent before this time.
    pub(super) not_before: Duration,
    /// Patches that were done.
    pub(super) patches: u32,
    /// Failures in a row.
    pub(super) failures: u32,
}

/// What a series waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The answer to a request.
    Sending,
    /// The time for its next request.
    Write(Duration),
    /// To be repeated, or forgotten this long after this time.
    Quiet(Duration),
}

impl Series {
    /// How long a series may pause; one more of the same after that begins another one.
    pub(super) const IDLE: Duration = Duration::from_secs(6 * 60);
    /// The longest time between two patches: the server forgets Events after an hour in which nobody wrote them.
    const REFRESH: Duration = Duration::from_secs(30 * 60);
    /// The time between the first two patches. It doubles from patch to patch: what goes on for long is told ever
    /// more seldom.
    const PACE: Duration = Duration::from_secs(10);
    /// A request that fails is sent 12 times at most, within some 7 minutes.
    pub(super) const RETRIES: Backoff = Backoff {
        steps: 12,
        pause: Duration::from_secs(1),
        factor: 2,
        longest: Duration::from_secs(60),
        jitter: 0.25,
    };

    pub(super) fn place(&self) -> Place {
        if self.sending.is_some() {
            Place::Sending
        } else if self.sent.as_ref() == Some(&self.now) {
            Place::Quiet(self.seen)
        } else if self.failures > 0 {
            Place::Write(self.not_before)
        } else {
            // When it has gone quiet the end is told, whatever the pace.
            Place::Write(self.not_before.min(self.seen + Self::IDLE))
        }
    }

    pub(super) fn is_unsent(&self) -> bool {
        self.sent.as_ref() != Some(&self.now)
    }

    /// One more, like those before in all but the note.
    pub(super) fn repeat(&mut self, seen: Duration, at: Timestamp, note: &str) {
        self.seen = seen;
        self.last = self.last.max(at);
        self.now.count = self.now.count.saturating_add(1);
        if *self.now.note != *note {
            self.now.note = note.into();
        }
    }

    /// The server has what was sent.
    pub(super) fn done(&mut self, now: Duration) {
        if self.sent.is_some() {
            let times = 2_u32.saturating_pow(self.patches);
            self.not_before = now + Self::PACE.saturating_mul(times).min(Self::REFRESH);
            self.patches += 1;
        }
        self.failures = 0;
        self.sent = self.sending.take();
    }

    /// The request has to be sent again, or another one: the server's Event says `sent` now.
    pub(super) fn failed(&mut self, now: Duration, sent: Option<Told>, pause: Duration) {
        self.failures += 1;
        self.sent = sent;
        // What is known to be missing is mended at once, unless that goes on.
        let pause = match self.failures {
            0..3 => pause,
            failures => pause.max(Self::RETRIES.after(failures)),
        };
        self.not_before = now + pause;
    }
}
