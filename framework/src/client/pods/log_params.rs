use std::time::Duration;

use jiff::Timestamp;

use crate::client::url::Query;

/// Which part of a container's log to read (PodLogOptions).
///
/// The default is everything that is kept of the Pod's only container, standard output and error
/// together, up to now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogParams {
    /// The container; needed when the Pod has more than one.
    pub container: Option<String>,
    /// Whether to go on with what is written from now on, until the container ends.
    pub follow: bool,
    /// Whether to read the log of the container's last run instead of this one's.
    pub previous: bool,
    /// Whether each line begins with its time (RFC 3339) and a space.
    pub timestamps: bool,
    /// Only what is not older.
    pub since: Option<LogSince>,
    /// Only so many of the last lines.
    pub tail: Option<u64>,
    /// At most so many bytes; the last line may be cut.
    pub limit_bytes: Option<u64>,
    /// Only standard output, or only standard error; both when not given.
    pub source: Option<LogSource>,
}

/// From when on a log is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogSince {
    /// This long ago, rounded up to seconds.
    Ago(Duration),
    /// This time; fractions of a second do not count.
    Time(Timestamp),
}

/// One of the streams that make up a log (KEP-3288). Servers refuse it unless their feature gate
/// `PodLogsQuerySplitStreams` is on, which it is not by default up to Kubernetes 1.36.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogSource {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl LogParams {
    /// The log of this container.
    #[must_use]
    pub fn container(mut self, name: impl Into<String>) -> Self {
        self.container = Some(name.into());
        self
    }

    /// Go on with what is written from now on.
    #[must_use]
    pub fn follow(mut self) -> Self {
        self.follow = true;
        self
    }

    /// The log of the container's last run.
    #[must_use]
    pub fn previous(mut self) -> Self {
        self.previous = true;
        self
    }

    /// Each line begins with its time.
    #[must_use]
    pub fn timestamps(mut self) -> Self {
        self.timestamps = true;
        self
    }

    /// Only what was written in this time, rounded up to seconds.
    #[must_use]
    pub fn since(mut self, ago: Duration) -> Self {
        self.since = Some(LogSince::Ago(ago));
        self
    }

    /// Only what was written from `time` on.
    #[must_use]
    pub fn since_time(mut self, time: Timestamp) -> Self {
        self.since = Some(LogSince::Time(time));
        self
    }

    /// Only the last `lines`.
    #[must_use]
    pub fn tail(mut self, lines: u64) -> Self {
        self.tail = Some(lines);
        self
    }

    /// At most so many bytes.
    #[must_use]
    pub fn limit_bytes(mut self, bytes: u64) -> Self {
        self.limit_bytes = Some(bytes);
        self
    }

    /// Only standard output, or only standard error. The server refuses it together with
    /// [`tail`](Self::tail).
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
