//! How a [`Reflector`] reads a collection from a watch that begins with the present state (KEP-3157).

use std::time::Duration;

use tokio::time::Instant;

use super::{
    ListerWatcher, Reflector,
    backoff::FailureKind,
    convert::delta,
    open_watch::{NextEvent, OpenWatch},
    pause::{Pause, is_unavailable},
};
use crate::{
    cache::{Delta, DeltaQueue, Entry},
    client::{Error, ErrorKind, ListProgress, WatchEvent},
    resource::Object,
};

/// Why a stream did not bring the collection.
enum StreamEnd {
    /// A second attempt may succeed.
    Retry,
    /// A second attempt may succeed after a pause.
    Pause(Pause),
    /// The collection must be read in pages.
    Pages(&'static str),
    /// The collection must be read in pages, and so must the next ones for a while: streaming would fail again.
    PagesForAWhile(&'static str),
}

impl<L> Reflector<L> {
    /// The server must mark the end of the state within this time after the last new object; otherwise it does not
    /// know how to.
    const MARK_TIMEOUT: Duration = Duration::from_secs(15);
    /// If streaming failed, it is tried again after this time.
    const STREAMING_RETRY: Duration = Duration::from_secs(30 * 60);

    pub(super) fn may_stream<K>(&self) -> bool
    where
        L: ListerWatcher<K>,
    {
        let now = Instant::now();
        self.source.streams_lists() && self.no_streaming_until.is_none_or(|from| from <= now)
    }

    /// Reads the collection from a stream, which then goes on as a watch. Returns `None` if the collection must be
    /// read in pages.
    ///
    /// # Errors
    /// The pause after which the caller should try again.
    pub(super) async fn stream_list<K>(
        &mut self,
        queue: &DeltaQueue<K>,
    ) -> Result<Option<OpenWatch<L::Watch>>, Pause>
    where
        K: Object,
        L: ListerWatcher<K>,
    {
        let mut is_first = true;
        loop {
            let cut = match self.try_stream(queue).await {
                Ok(watch) => {
                    self.no_streaming_until = None;
                    self.progress.recovered("list");
                    return Ok(Some(watch));
                }
                Err(cut) => cut,
            };
            let why = match cut {
                StreamEnd::Retry if is_first => {
                    is_first = false;
                    continue;
                }
                StreamEnd::Retry => "interrupted",
                StreamEnd::Pause(pause) => return Err(pause),
                StreamEnd::Pages(why) => why,
                StreamEnd::PagesForAWhile(why) => {
                    self.no_streaming_until = Some(Instant::now() + Self::STREAMING_RETRY);
                    why
                }
            };
            self.progress.fell_back_to_pages(why);
            return Ok(None);
        }
    }

    async fn try_stream<K>(
        &mut self,
        queue: &DeltaQueue<K>,
    ) -> Result<OpenWatch<L::Watch>, StreamEnd>
    where
        K: Object,
        L: ListerWatcher<K>,
    {
        let is_newest = self.position.stream_version().is_none();
        let newest = is_newest.then(Instant::now);
        let mut watch = match self.open(true, Self::MARK_TIMEOUT).await {
            Ok(watch) => watch,
            Err(Some(error)) => return Err(self.stream_not_opened(&error)),
            Err(None) => return Err(StreamEnd::PagesForAWhile("late")),
        };
        self.begin_list(queue).await;
        let mut progress = ListProgress::default();
        let mut due = Instant::now() + Self::MARK_TIMEOUT;
        loop {
            let event = match watch.next(due).await {
                NextEvent::Event(event) => event,
                NextEvent::Error(error) => return Err(self.cut(&error)),
                NextEvent::Closed if watch.was_short() => return Err(StreamEnd::Pages("short")),
                NextEvent::Closed => return Err(StreamEnd::Retry),
                NextEvent::Silent => return Err(StreamEnd::PagesForAWhile("late")),
            };
            self.progress.received();
            let event: WatchEvent<Entry<K>> = event.map(Into::into);
            let is_new = match &event {
                WatchEvent::Added(object) => {
                    object.with_name(|namespace, name| progress.object(namespace, name))
                }
                WatchEvent::Undecodable { object, .. } => {
                    progress.object(object.key.namespace(), object.key.name())
                }
                _ => false,
            };
            match event {
                WatchEvent::Bookmark {
                    resource_version,
                    initial_events_end: true,
                } => {
                    let is_older = self.position.is_before(Some(&resource_version));
                    if is_older && self.position.went_back() {
                        // What was known about equal versions was wrong.
                        return Err(StreamEnd::Retry);
                    }
                    self.position.listed(&resource_version);
                    self.push(Delta::ListEnded { resource_version }, queue)
                        .await;
                    self.progress.list_completed(newest);
                    return Ok(watch);
                }
                WatchEvent::Bookmark { .. } => {}
                event => match delta(event) {
                    Some(delta) => {
                        self.position.streaming();
                        self.push(delta, queue).await;
                    }
                    None => self.progress.unnamed_objects(1),
                },
            }
            // Changes may go on without end, and so may objects that came before; new objects may not. While this
            // reflector waits for room in the queue, the server is not silent.
            let now = Instant::now();
            if is_new && !watch.is_overdue(now) {
                due = now + Self::MARK_TIMEOUT;
            } else if due <= now || watch.is_overdue(now) {
                return Err(StreamEnd::PagesForAWhile("late"));
            }
        }
    }

    /// What follows if the server does not open the stream.
    fn stream_not_opened(&mut self, error: &Error) -> StreamEnd {
        if is_unavailable(error) && self.position.unavailable() {
            return StreamEnd::Retry;
        }
        let pause = Pause::after(error);
        match pause.failure {
            FailureKind::Connection | FailureKind::Throttled | FailureKind::Expired => {
                self.progress.failed("list", error);
                StreamEnd::Pause(pause)
            }
            // The user may be allowed to list.
            FailureKind::Refused => StreamEnd::PagesForAWhile("forbidden"),
            FailureKind::Server if error.status().is_some_and(|status| status.code < 500) => {
                StreamEnd::PagesForAWhile("unsupported")
            }
            FailureKind::Server => StreamEnd::Pages("failed"),
        }
    }

    /// What follows from an error within the stream.
    fn cut(&mut self, error: &Error) -> StreamEnd {
        match error.kind() {
            // A list in pages waits until its consumer is ready.
            ErrorKind::Lagged { .. } => StreamEnd::PagesForAWhile("lagged"),
            _ if error.is_connection_failure() => StreamEnd::Retry,
            _ => self.stream_not_opened(error),
        }
    }
}
