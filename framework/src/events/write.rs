use std::{sync::Arc, time::Duration};

use jiff::Timestamp;

use super::series::Key;

/// One request that the server is to be sent.
#[derive(Clone, Debug)]
pub(super) struct Write {
    /// Which series it is of.
    pub(super) id: u64,
    pub(super) key: Arc<Key>,
    /// The Event's name.
    pub(super) name: String,
    pub(super) verb: Verb,
    /// What the Event says afterwards.
    pub(super) told: Told,
    /// When the first one happened.
    pub(super) first: Timestamp,
    /// When the newest one happened.
    pub(super) last: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Create,
    /// Tell the Event that is there what has happened since.
    Patch {
        /// Its note is not the newest one.
        note: bool,
    },
}

/// What changes in an Event as it repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) count: i32,
    pub(super) note: Arc<str>,
}

impl Told {
    /// There is an Event, and nobody knows what it says: all of it is told once more.
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

/// What a [`Write`] came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    /// There is an Event of that name: an attempt of which nothing was known had been done.
    Exists,
    /// The Event to be patched is gone.
    Lost,
    /// Its note may not be changed; the rest may.
    NoteRefused,
    /// The namespace takes nothing more.
    NamespaceGone,
    /// The server will not take it, however often it is sent.
    Refused,
    /// Something that may pass; not to be tried again before so much time.
    Later(Duration),
}

/// Why an event did not come to the server, or not completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dropped {
    Spam,
    Full,
    Refused,
    Failed,
    Namespace,
    Stopped,
}
