//! Causes that the stack and the transport pass as [`BoxError`]. [`ErrorKind::from_stack`](super::ErrorKind::from_stack)
//! recognises them by their types.

use std::{fmt, time::Duration};

use crate::client::Deadline;

/// Any error, as tower's layers pass it.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// One of a request's deadlines expired.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeadlineExpired {
    pub(crate) deadline: Deadline,
    pub(crate) after: Duration,
}

impl fmt::Display for DeadlineExpired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.after.as_secs_f64();
        match self.deadline {
            Deadline::Response => write!(f, "no response from the API server within {seconds} s"),
            Deadline::Idle => write!(
                f,
                "the API server's response broke off: nothing more came for {seconds} s"
            ),
            Deadline::Total => write!(
                f,
                "not done within {seconds} s, repetitions and pauses included"
            ),
        }
    }
}

impl std::error::Error for DeadlineExpired {}

/// The fence was closed, so the client sent nothing.
#[derive(Debug, thiserror::Error)]
#[error("not sent: {0}")]
pub(crate) struct FenceClosed(pub(crate) BoxError);

/// The caller did not read a stream for this long, so the client ended the stream.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error(
    "{} KiB were not read for {} s, so the stream was ended: read faster, or ask for less",
    Self::UNREAD_LIMIT / 1024,
    .0.as_secs()
)]
pub(crate) struct ReaderLagged(pub(crate) Duration);

impl ReaderLagged {
    /// A stream may hold this many unread bytes for any length of time.
    pub(crate) const UNREAD_LIMIT: usize = 256 * 1024;
}

/// The header of an answer says gzip, but its body is not gzip.
#[derive(Debug, thiserror::Error)]
#[error(
    "its `Content-Encoding` is gzip, but its body is not gzip: check proxies on the way, or turn compression off (`disable-compression: true` of the cluster, `Config::with_compression`)"
)]
pub(crate) struct InvalidGzip;
