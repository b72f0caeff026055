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
#[derive(Debug)]
pub(crate) struct FenceClosed(pub(crate) BoxError);

impl fmt::Display for FenceClosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not sent: {}", self.0)
    }
}

impl std::error::Error for FenceClosed {}

/// The caller did not read a stream for this long, so the client ended the stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReaderLagged(pub(crate) Duration);

impl ReaderLagged {
    /// A stream may hold this many unread bytes for any length of time.
    pub(crate) const UNREAD_LIMIT: usize = 256 * 1024;
}

impl fmt::Display for ReaderLagged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (size, seconds) = (Self::UNREAD_LIMIT / 1024, self.0.as_secs());
        write!(
            f,
            "{size} KiB were not read for {seconds} s, so the stream was ended: read faster, or ask for less"
        )
    }
}

impl std::error::Error for ReaderLagged {}

/// The header of an answer says gzip, but its body is not gzip.
#[derive(Debug)]
pub(crate) struct InvalidGzip;

impl fmt::Display for InvalidGzip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "its `Content-Encoding` is gzip, but its body is not gzip: check proxies on the way, or turn compression off (`disable-compression: true` of the cluster, `Config::with_compression`)",
        )
    }
}

impl std::error::Error for InvalidGzip {}
