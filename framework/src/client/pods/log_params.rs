use std::time::Duration;

use jiff::Timestamp;

use crate::client::request::url::Query;

/// Which part of a container's log to read (PodLogOptions).
///
/// The default is the whole stored log of the Pod's only container, with standard output and standard error together,
/// up to now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogParams {
    pub(crate) container: Option<String>,
    pub(crate) follow: bool,
    pub(crate) previous: bool,
    pub(crate) timestamps: bool,
    since: Option<LogSince>,
    pub(crate) tail: Option<u64>,
    pub(crate) limit_bytes: Option<u64>,
    pub(crate) source: Option<LogSource>,
}

/// The time from which a log is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogSince {
    /// This long ago, rounded up to seconds.
    Ago(Duration),
    /// This time, without fractions of a second.
    Time(Timestamp),
}

/// One of the two streams of a log (KEP-3288). Servers refuse this unless their feature gate `PodLogsQuerySplitStreams`
/// is on. Up to Kubernetes 1.36 it is off by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogSource {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl LogParams {
    /// Reads the log of this container. Required if the Pod has several.
    #[must_use]
    pub fn container(mut self, name: impl Into<String>) -> Self {
        self.container = Some(name.into());
        self
    }

    /// Continues with new lines until the container ends.
    #[must_use]
    pub fn follow(mut self) -> Self {
        self.follow = true;
        self
    }

    /// Reads the log of the container's last run instead of the present one.
    #[must_use]
    pub fn previous(mut self) -> Self {
        self.previous = true;
        self
    }

    /// Puts the time (RFC 3339) and a space in front of each line.
    #[must_use]
    pub fn timestamps(mut self) -> Self {
        self.timestamps = true;
        self
    }

    /// Reads only the lines of this last time, rounded up to seconds.
    #[must_use]
    pub fn since(mut self, ago: Duration) -> Self {
        self.since = Some(LogSince::Ago(ago));
        self
    }

    /// Reads only the lines since `time`.
    #[must_use]
    pub fn since_time(mut self, time: Timestamp) -> Self {
        self.since = Some(LogSince::Time(time));
        self
    }

    /// Reads only the last `lines` lines.
    #[must_use]
    pub fn tail(mut self, lines: u64) -> Self {
        self.tail = Some(lines);
        self
    }

    /// Reads at most this many bytes. The last line may be cut.
    #[must_use]
    pub fn limit_bytes(mut self, bytes: u64) -> Self {
        self.limit_bytes = Some(bytes);
        self
    }

    /// Reads only standard output, or only standard error. The server refuses this together with [`tail`](Self::tail).
    #[must_use]
    pub fn source(mut self, source: LogSource) -> Self {
        self.source = Some(source);
        self
    }

    pub(super) fn write(&self, query: &mut Query) {
        query.text("container", self.container.as_deref());
        for (name, is) in [
            ("follow", self.follow),
            ("previous", self.previous),
            ("timestamps", self.timestamps),
        ] {
            if is {
                query.flag(name, true);
            }
        }
        match self.since {
            Some(LogSince::Ago(ago)) => {
                let seconds = ago.as_secs() + u64::from(ago.subsec_nanos() > 0);
                query.number("sinceSeconds", Some(seconds.max(1)));
            }
            Some(LogSince::Time(time)) => {
                query.text("sinceTime", Some(&format!("{time:.0}")));
            }
            None => {}
        }
        query.number("tailLines", self.tail);
        query.number("limitBytes", self.limit_bytes);
        let source = self.source.map(|source| match source {
            LogSource::Stdout => "Stdout",
            LogSource::Stderr => "Stderr",
        });
        query.text("stream", source);
    }
}
