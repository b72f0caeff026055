//! The faults of a server for tests.

use crate::client::Error;

/// How a server makes every list endless.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ListHabit {
    /// The continue token is always the same.
    SameToken,
    /// There is always a next page, with the same object.
    SameObject,
    /// The first page arrives, and the second one has expired.
    ForgetsLaterPages,
}

/// How a server makes every watch useless.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WatchHabit {
    /// It ends each watch after a bookmark.
    Bookmark,
    /// It ends each watch after a change.
    Change,
    /// It no longer has the resource version.
    Expired,
    /// It repeats the last event without end.
    Repeats,
}

/// How the server answers a watch that begins with the present state.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Streaming {
    /// The source does not request such a watch.
    #[default]
    Unasked,
    Served,
    /// It answers with an error.
    Refused(fn() -> Error),
    /// It ignores the parameter, so that nothing marks the end of the state.
    Ignored,
}

/// How a watch that begins with the present state fails, after this many objects.
#[derive(Clone, Debug)]
pub(crate) enum StreamFault {
    /// The server ends it in order.
    Closes(usize),
    /// It ends with an error.
    Fails(usize, fn() -> Error),
    /// Nothing arrives any more.
    Mute(usize),
    /// The server does not mark the end of the state, but changes arrive.
    Unmarked,
    /// The first object repeats without end.
    Repeats,
}

/// How the server answers a list.
pub(crate) enum Answer {
    Pass,
    Fail(Error),
    /// The answer never arrives.
    Hang,
    /// Decoding the answer panics.
    Panic,
}
