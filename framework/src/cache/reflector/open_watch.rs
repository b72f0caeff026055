use std::{pin::Pin, time::Duration};

use futures_core::Stream;
use futures_util::StreamExt;
use tokio::{
    task::coop::unconstrained,
    time::{Instant, Sleep, sleep_until},
};

use crate::{
    client::{Error, WatchEvent},
    metrics::GaugeShare,
};

/// An open watch, with the times that matter for it.
pub(super) struct OpenWatch<W> {
    stream: W,
    requested_at: Instant,
    opened: Instant,
    /// When the watch is replaced, whatever arrives.
    latest: Instant,
    quiet: bool,
    alarm: Pin<Box<Sleep>>,
    _open: GaugeShare,
}

/// The result of waiting for an event.
pub(in crate::cache) enum NextEvent<K> {
    Event(WatchEvent<K>),
    Error(Error),
    /// The server ended the stream in order.
    Closed,
    /// Nothing arrived for too long, or the stream should have ended long ago.
    Silent,
}

impl<W> OpenWatch<W> {
    /// A stream that lasts this much longer than its own timeout is replaced.
    const OVERTIME: Duration = Duration::from_secs(15);
    /// A watch that ended sooner than this and brought nothing counts as failed.
    const SHORT: Duration = Duration::from_secs(1);

    /// `stream` was requested at `requested_at`; the server should end it after `time`.
    pub(super) fn new(stream: W, requested_at: Instant, time: Duration, open: GaugeShare) -> Self {
        open.set(1);
        let latest = requested_at + time + Self::OVERTIME;
        Self {
            stream,
            requested_at,
            opened: Instant::now(),
            latest,
            quiet: true,
            alarm: Box::pin(sleep_until(latest)),
            _open: open,
        }
    }

    /// Waits for the next event until `due`. Events that have already arrived are returned even after `due`.
    pub(super) async fn next<K>(&mut self, due: Instant) -> NextEvent<K>
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
                            NextEvent::Event(event)
                        }
                        Some(Err(error)) => NextEvent::Error(error),
                        None => NextEvent::Closed,
                    };
                }
                // Not subject to the task's budget: a stream that is always busy and brings nothing would use it up.
                () = unconstrained(self.alarm.as_mut()) => {
                    if due <= Instant::now() {
                        return NextEvent::Silent;
                    }
                    // Reset only now, so that an event costs no timer.
                    self.alarm.as_mut().reset(due);
                }
            }
        }
    }

    /// Whether the stream ended at once and brought nothing.
    pub(super) fn was_short(&self) -> bool {
        self.quiet && self.requested_at.elapsed() < Self::SHORT
    }

    /// Whether the watch must be replaced, whatever arrives.
    pub(super) fn is_overdue(&self, now: Instant) -> bool {
        now >= self.latest
    }

    /// When the watch was opened.
    pub(super) fn opened(&self) -> Instant {
        self.opened
    }

    /// For how long the watch has been open.
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
    async fn a_busy_stream_without_events_is_silent() {
        // Like a connection that sends blank lines without end.
        let busy = stream::poll_fn(|cx| -> Poll<Option<Result<WatchEvent<ConfigMap>, Error>>> {
            loop {
                ready!(poll_proceed(cx)).made_progress();
            }
        });
        let now = Instant::now();
        let minute = Duration::from_secs(60);
        let open = GaugeShare::of(&Metrics::new().informer("", "v1", "configmaps").open_watches);
        let mut watch = OpenWatch::new(busy, now, 10 * minute, open);
        let waits = tokio::spawn(async move { watch.next(now + minute).await });
        tokio::time::advance(minute + Duration::from_secs(1)).await;
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert!(waits.is_finished());
        assert!(matches!(waits.await.unwrap(), NextEvent::Silent));
    }
}
