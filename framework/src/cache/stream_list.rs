//! How a [`Reflector`] reads a collection by a watch that begins with the present state (KEP-3157).

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{
    Delta, DeltaQueue, ListerWatcher, Reflector,
    backoff::Failure,
    open_watch::{Heard, OpenWatch},
    reflector::{Pause, delta, is_unavailable},
};
use crate::{
    client::{Error, ListProgress, WatchEvent},
    resource::Object,
};

/// Why a stream did not bring the collection.
enum Cut {
    /// It may well do so when it is asked for again.
    Again,
    /// The same after a pause.
    Pause(Pause),
    /// The collection is to be read in pages.
    Pages(&'static str),
    /// The same, and the next lists too for a while: it would not go otherwise then.
    PagesForNow(&'static str),
}

impl<L> Reflector<L> {
    /// The server marks the end of the state when so long no more new objects of it came, or it does not know
    /// how to.
    const MARK: Duration = Duration::from_secs(15);
    /// Where it did not work it is tried again after this.
    const PROBE: Duration = Duration::from_secs(30 * 60);

    pub(super) fn may_stream<K>(&self) -> bool
    where
        L: ListerWatcher<K>,
    {
        let now = Instant::now();
        self.source.streams_lists() && self.streams_from.is_none_or(|from| from <= now)
    }

    /// Reads the collection from a stream, which then goes on as a watch; `None` if it has to be read in
    /// pages.
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
            let cut = match self.stream_once(queue).await {
                Ok(watch) => {
                    self.streams_from = None;
                    self.progress.recovered("list");
                    return Ok(Some(watch));
                }
                Err(cut) => cut,
            };
            let why = match cut {
                Cut::Again if is_first => {
                    is_first = false;
                    continue;
                }
                Cut::Again => "interrupted",
                Cut::Pause(pause) => return Err(pause),
                Cut::Pages(why) => why,
                Cut::PagesForNow(why) => {
                    self.streams_from = Some(Instant::now() + Self::PROBE);
                    why
                }
            };
            self.progress.fell_back(why);
            return Ok(None);
        }
    }

    async fn stream_once<K>(&mut self, queue: &DeltaQueue<K>) -> Result<OpenWatch<L::Watch>, Cut>
    where
        K: Object,
        L: ListerWatcher<K>,
    {
        let is_newest = self.position.stream_version().is_none();
        let newest = is_newest.then(Instant::now);
        let mut watch = match self.open(true, Self::MARK).await {
            Ok(watch) => watch,
            Err(Some(error)) => return Err(self.not_streamed(&error)),
            Err(None) => return Err(Cut::PagesForNow("late")),
        };
        self.begin_list(queue).await;
        let mut progress = ListProgress::default();
        let mut due = Instant::now() + Self::MARK;
        loop {
            let event = match watch.next(due).await {
                Heard::Event(event) => event,
                Heard::Error(error) => return Err(self.cut(&error)),
                Heard::Closed if watch.was_short() => return Err(Cut::Pages("short")),
                Heard::Closed => return Err(Cut::Again),
                Heard::Silent => return Err(Cut::PagesForNow("late")),
            };
            self.progress.heard();
            let event: WatchEvent<Arc<K>> = event.map(Into::into);
            let is_new = match &event {
                WatchEvent::Added(object) => {
                    let metadata = object.metadata();
                    let name = metadata.name.as_deref().unwrap_or_default();
                    progress.object(metadata.namespace.as_deref(), name)
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
                        // What was known of equal versions was trusted.
                        return Err(Cut::Again);
                    }
                    self.position.listed(&resource_version);
                    self.push(Delta::ListEnded { resource_version }, queue)
                        .await;
                    self.progress.listed(newest);
                    return Ok(watch);
                }
                WatchEvent::Bookmark { .. } => {}
                event => match delta(event) {
                    Some(delta) => {
                        self.position.streaming();
                        self.push(delta, queue).await;
                    }
                    None => self.progress.misfits(1),
                },
            }
            // Changes go on for ever, and so may objects that came already; the state does not. Back-pressure is not
            // silence.
            let now = Instant::now();
            if is_new && !watch.is_overdue(now) {
                due = now + Self::MARK;
            } else if due <= now || watch.is_overdue(now) {
                return Err(Cut::PagesForNow("late"));
            }
        }
    }

    /// What follows when the stream is not opened.
    fn not_streamed(&mut self, error: &Error) -> Cut {
        if is_unavailable(error) && self.position.unavailable() {
            return Cut::Again;
        }
        let pause = Pause::after(error);
        match pause.failure() {
            Failure::Connection | Failure::Throttled | Failure::Expired => {
                self.progress.failed("list", error);
                Cut::Pause(pause)
            }
            // To list may be allowed.
            Failure::Refused => Cut::PagesForNow("forbidden"),
            Failure::Server if error.status().is_some_and(|status| status.code < 500) => {
                Cut::PagesForNow("unsupported")
            }
            Failure::Server => Cut::Pages("failed"),
        }
    }

    /// What follows from an error within the stream.
    fn cut(&mut self, error: &Error) -> Cut {
        match error {
            // The pages wait for those who take them in.
            Error::Lagged { .. } => Cut::PagesForNow("lagged"),
            _ if error.is_connection_failure() => Cut::Again,
            _ => self.not_streamed(error),
        }
    }
}
