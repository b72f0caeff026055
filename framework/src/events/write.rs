use std::{sync::Arc, time::Duration};

use jiff::Timestamp;

use super::series::{Content, SeriesKey};

/// One request to the API server.
#[derive(Clone, Debug)]
pub(super) struct Write {
    /// The number of its series.
    pub(super) id: u64,
    pub(super) key: Arc<SeriesKey>,
    /// The name of the Event.
    pub(super) name: String,
    pub(super) verb: Verb,
    /// What the Event says after the request.
    pub(super) content: Content,
    /// When the first event happened.
    pub(super) first: Timestamp,
    /// When the newest event happened.
    pub(super) last: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Create,
    /// Write the new count, and perhaps the note, to the existing Event.
    Patch {
        /// Whether the note has changed.
        note: bool,
    },
}

/// The result of a [`Write`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    /// The Event exists already: an earlier attempt with unknown outcome had created it.
    Exists,
    /// The Event to patch does not exist any more.
    Lost,
    /// The server refuses a change of the note, but may accept the count.
    NoteRefused,
    /// The namespace accepts no new objects.
    NamespaceGone,
    /// The server refuses the request. A retry would not help.
    Refused,
    /// A temporary failure. Retry after at least this time.
    Later(Duration),
}

/// The reason why an event did not reach the server, or not with its last count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DropReason {
    Spam,
    Full,
    Refused,
    Failed,
    Namespace,
    Stopped,
}
