use std::{pin::Pin, time::Duration};

use futures_core::Stream;
use futures_util::StreamExt;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::{
    client::{Error, WatchEvent},
    metrics::Share,
};

/// A watch that is open, and the times that count for it.
pub(super) struct OpenWatch<W> {
    stream: W,
    asked: Instant,
    opened: Instant,
    /// When it is replaced, whatever comes.
    latest: Instant,
    quiet: bool,
    alarm: Pin<Box<Sleep>>,
    _open: Share,
}

/// What came of waiting for an event.
pub(super) enum Heard<K> {
    Event(WatchEvent<K>),
    Error(Error),
    /// The server ended the stream in order.
    Closed,
    /// Nothing came for too long, or the stream outlived its time.
    Silent,
}

impl<W> OpenWatch<W> {
    /// A stream that outlives its own time by so much is replaced.
    const OVERTIME: Duration = Duration::from_secs(15);
    /// A watch that ended sooner than this and brought nothing counts as failed.
    const SHORT: Duration = Duration::from_secs(1);

    /// `stream` was asked for at `asked`, to be ended by the server after `time`.
    pub(super) fn new(stream: W, asked: Instant, time: Duration, open: Share) -> Self {
        open.set(1);
        let latest = asked + time + Self::OVERTIME;
        Self {
            stream,
            asked,
            opened: Instant::now(),
            latest,
            quiet: true,
            alarm: Box::pin(sleep_until(latest)),
            _open: open,
        }
    }

    /// The next event, unless none comes until `due`. Events that are there already come even then.
    pub(super) async fn next<K>(&mut self, due: Instant) -> Heard<K>
    where
        W: Stream<Item = Result<WatchEvent<K>, Error>> + Unpin,
    {
        let due = due.min(self.latest);
        if self.alarm.deadline() > due {
            self.alarm.as_mut().reset(due);
        }
        loop {
            // Losing the branch of `next` loses nothing: the stream keeps what it has.
            tokio::select! {
                biased;
                next = self.stream.next() => {
                    return match next {
                        Some(Ok(event)) => {
                            self.quiet = false;
                            Heard::Event(event)
                        }
                        Some(Err(error)) => Heard::Error(error),
                        None => Heard::Closed,
                    };
                }
                () = &mut self.alarm => {
                    if due <= Instant::now() {
                        return Heard::Silent;
                    }
                    // Moved only now, so that an event costs no timer.
                    self.alarm.as_mut().reset(due);
                }
            }
        }
    }

    /// Whether it ended at once and brought nothing.
    pub(super) fn was_short(&self) -> bool {
        self.quiet && self.asked.elapsed() < Self::SHORT
    }

    /// For how long it has been open.
    pub(super) fn age(&self) -> Duration {
        self.opened.elapsed()
    }
}
