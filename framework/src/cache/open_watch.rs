use std::{pin::Pin, time::Duration};

use futures_core::Stream;
use futures_util::StreamExt;
use tokio::{
    task::coop::unconstrained,
    time::{Instant, Sleep, sleep_until},
};

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
                // Not subject to the task's budget, which a stream that is always busy and brings nothing uses up.
                () = unconstrained(self.alarm.as_mut()) => {
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

    /// Whether it has to be replaced, whatever comes.
    pub(super) fn is_overdue(&self, now: Instant) -> bool {
        now >= self.latest
    }

    /// Since when it is open.
    pub(super) fn opened(&self) -> Instant {
        self.opened
    }

    /// For how long it has been open.
    pub(super) fn age(&self) -> Duration {
        self.opened.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Poll, ready};

    use futures_util::stream;
    use k8s_openapi::api::core::v1::ConfigMap;
    use tokio::task::coop::poll_proceed;

    use super::*;
    use crate::metrics::Metrics;

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_is_always_busy_and_brings_nothing_is_silent() {
        // As a connection on which blank lines come and come.
        let busy = stream::poll_fn(|cx| -> Poll<Option<Result<WatchEvent<ConfigMap>, Error>>> {
            loop {
                ready!(poll_proceed(cx)).made_progress();
            }
        });
        let now = Instant::now();
        let minute = Duration::from_secs(60);
        let open = Share::of(&Metrics::new().informer("", "v1", "configmaps").open_watches);
        let mut watch = OpenWatch::new(busy, now, 10 * minute, open);
        let waits = tokio::spawn(async move { watch.next(now + minute).await });
        tokio::time::advance(minute + Duration::from_secs(1)).await;
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert!(waits.is_finished());
        assert!(matches!(waits.await.unwrap(), Heard::Silent));
    }
}
