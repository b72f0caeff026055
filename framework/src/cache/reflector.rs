use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::{FutureExt, StreamExt};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{
    Delta, DeltaQueue, InformerMode, InformerScope, ListerWatcher, backoff::Backoff,
    position::Position, progress::Progress, random::Random,
};
use crate::{
    client::{Change, Error, ListParams, WatchEvent, WatchParams},
    metrics::InformerMetrics,
    resource::Object,
};

/// Lists a collection, then watches it, and hands on what happens as [`Delta`]s; for ever.
///
/// * The first list takes what the server has at hand (version `"0"`), in pages of 500. Each page is
///   handed on as it comes; what a list did not name is gone only after its last page. When the
///   server does not have the version asked for (410, "too large resource version"), the newest
///   state is listed at once.
/// * A watch goes on from the last version seen, with bookmarks, for five to ten minutes. When it
///   ends it is opened again at once, without a list. The same goes for a connection that broke,
///   and for a stream that was silent for 150 s or for 15 s past its own end.
/// * 410, when the watch is opened or within the stream, leads to a list; refused connections, 429
///   and other failures to open only to a pause. `Retry-After` is honoured.
/// * Pauses begin at 800 ms, double up to 30 s, with jitter, and start over after success that held.
/// * An object that does not decode is handed on as such and spoils nothing else. A panic while
///   decoding counts as a failure of the list or the watch.
///
/// It follows client-go's reflector, except: a list that broke off is tried again at no older
/// version than it had; the newest state is listed in pages; a broken connection, a server error or
/// a missing permission does not lead to a list, since watching on from the last version misses
/// nothing.
pub struct Reflector<L> {
    source: L,
    scope: InformerScope,
    progress: Arc<Progress>,
    position: Position,
    backoff: Backoff,
    random: Random,
}

/// Why a watch ended.
enum Ended {
    /// Go on from the last version at once.
    Reopen(&'static str),
    /// Go on from the last version after a pause.
    Pause(&'static str, Option<Duration>),
    /// List after a pause.
    List(&'static str, Option<Duration>),
}

impl<L> Reflector<L> {
    /// The server ends a watch after a time in this range, so that not all end together.
    const WATCH: std::ops::Range<Duration> =
        Duration::from_secs(5 * 60)..Duration::from_secs(10 * 60);
    /// A stream silent for so long is replaced; a server sends bookmarks about every minute.
    const SILENCE: Duration = Duration::from_secs(150);
    /// A stream that outlives its own time by so much is replaced.
    const OVERTIME: Duration = Duration::from_secs(15);
    /// A watch that ended sooner than this and brought nothing counts as failed.
    const SHORT: Duration = Duration::from_secs(1);

    /// A reflector that has not listed yet. The selectors are those of `scope`; kind and namespace
    /// those of `source`.
    pub fn new<K>(source: L, scope: InformerScope, metrics: InformerMetrics) -> Self
    where
        L: ListerWatcher<K>,
    {
        let progress = Progress::new(
            source.resource().clone(),
            source.namespace().map(str::to_owned),
            metrics,
        );
        Self::with_progress(source, scope, Arc::new(progress))
    }

    pub(super) fn with_progress(source: L, scope: InformerScope, progress: Arc<Progress>) -> Self {
        Self {
            source,
            scope,
            progress,
            position: Position::default(),
            backoff: Backoff::new(),
            random: Random::new(),
        }
    }

    /// Fills `queue` until the future is dropped, which ends whatever is under way.
    pub async fn run<K>(mut self, queue: &DeltaQueue<K>)
    where
        K: Object,
        L: ListerWatcher<K>,
    {
        let mut reason = "initial";
        loop {
            // A panic is one of decoding: the position is whole, and the next list begins anew.
            let cycle = AssertUnwindSafe(self.cycle(reason, queue)).catch_unwind();
            let (why, pause) = cycle.await.unwrap_or_else(|_| {
                self.progress
                    .troubled("read", "decoding what came panicked");
                ("panicked", None)
            });
            reason = why;
            self.pause(pause).await;
        }
    }

    /// One list and what follows from it, up to the need for another; gives the reason and what the
    /// server asked to wait.
    async fn cycle<K>(
        &mut self,
        reason: &'static str,
        queue: &DeltaQueue<K>,
    ) -> (&'static str, Option<Duration>)
    where
        K: Object,
        L: ListerWatcher<K>,
    {
        self.progress.listing(reason);
        match self.list(queue).await {
            Ok(()) => self.watch_until_list(queue).await,
            Err(error) => {
                self.progress.failed("list", &error);
                let is_first = reason == "initial";
                let reason = if is_first { reason } else { "failed" };
                (reason, error.retry_after())
            }
        }
    }

    async fn list<K>(&mut self, queue: &DeltaQueue<K>) -> Result<(), Error>
    where
        L: ListerWatcher<K>,
    {
        let mut paged = true;
        loop {
            let page_size = self.position.page_size().filter(|_| paged);
            let error = match self.list_once(queue, page_size).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            match error {
                // Between two pages the server forgot the state they are of.
                (Place::LaterPage, error) if error.is_expired() && paged => paged = false,
                (_, error) if is_unavailable(&error) && self.position.unavailable() => paged = true,
                (_, error) => return Err(error),
            }
        }
    }

    async fn list_once<K>(
        &mut self,
        queue: &DeltaQueue<K>,
        page_size: Option<u32>,
    ) -> Result<(), (Place, Error)>
    where
        L: ListerWatcher<K>,
    {
        let version = self.position.list_version().to_owned();
        let mut params = ListParams {
            label_selector: self.scope.label_selector.clone(),
            field_selector: self.scope.field_selector.clone(),
            limit: page_size,
            resource_version: Some(version.clone()).filter(|version| !version.is_empty()),
            ..ListParams::default()
        };
        let first = self.source.list(&params).await;
        let mut page = first.map_err(|error| (Place::FirstPage, error))?;
        let listed = page.resource_version().unwrap_or_default().to_owned();
        let has_more = page.continue_token().is_some();
        self.position.page_taken(&listed, &version, has_more);
        queue.push(Delta::ListStarted).await;
        params.resource_version = None;
        loop {
            self.progress.heard();
            let token = page.continue_token().map(str::to_owned);
            queue.push_page(page).await;
            if token.is_none() {
                break;
            }
            params.continue_token = token;
            let next = self.source.list(&params).await;
            page = next.map_err(|error| (Place::LaterPage, error))?;
        }
        // The pages are one state: that of the first.
        self.position.listed(&listed);
        let resource_version = listed;
        queue.push(Delta::ListEnded { resource_version }).await;
        self.progress.recovered();
        Ok(())
    }

    /// Watches, again and again, until only a list can help; gives the reason and what the server
    /// asked to wait.
    async fn watch_until_list<K>(
        &mut self,
        queue: &DeltaQueue<K>,
    ) -> (&'static str, Option<Duration>)
    where
        K: Object,
        L: ListerWatcher<K>,
    {
        let mut reason = "listed";
        loop {
            self.progress.connecting(reason);
            match self.watch(queue).await {
                Ended::Reopen(why) => reason = why,
                Ended::Pause(why, pause) => {
                    reason = why;
                    self.pause(pause).await;
                }
                Ended::List(why, pause) => return (why, pause),
            }
        }
    }

    async fn watch<K>(&mut self, queue: &DeltaQueue<K>) -> Ended
    where
        K: Object,
        L: ListerWatcher<K>,
    {
        let time = self.random.duration(Self::WATCH);
        let params = WatchParams {
            label_selector: self.scope.label_selector.clone(),
            field_selector: self.scope.field_selector.clone(),
            resource_version: self.position.watch_version().map(str::to_owned),
            timeout: Some(time),
            ..WatchParams::default()
        };
        let asked = Instant::now();
        let mut stream = match timeout(Self::SILENCE, self.source.watch(&params)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return self.not_opened(&error),
            Err(_) => {
                self.progress.troubled("watch", "no answer from the server");
                return Ended::Pause("silent", None);
            }
        };
        let opened = Instant::now();
        self.progress.recovered();
        self.progress.enter(InformerMode::Watching);
        let latest = asked + time + Self::OVERTIME;
        let alarm = sleep_until(latest.min(opened + Self::SILENCE));
        tokio::pin!(alarm);
        let mut quiet = true;
        let ended = loop {
            // Back-pressure is not silence: the time counts from when the stream is asked again.
            let heard = Instant::now();
            let next = loop {
                // Losing the branch of `next` loses nothing: the stream keeps what it has.
                tokio::select! {
                    biased;
                    next = stream.next() => break Some(next),
                    () = &mut alarm => {
                        let due = latest.min(heard + Self::SILENCE);
                        if due <= Instant::now() {
                            break None;
                        }
                        // Moved only now, so that an event costs no timer.
                        alarm.as_mut().reset(due);
                    }
                }
            };
            match next {
                Some(Some(Ok(event))) => {
                    quiet = false;
                    self.progress.heard();
                    self.take(event, queue).await;
                }
                Some(Some(Err(error))) => break self.broken(&error, quiet, asked),
                Some(None) if quiet && asked.elapsed() < Self::SHORT => {
                    self.progress
                        .troubled("watch", "the server ended the watch at once");
                    break Ended::List("short", None);
                }
                Some(None) => break Ended::Reopen("closed"),
                None => break Ended::Reopen("silent"),
            }
        };
        self.backoff.held(opened.elapsed());
        ended
    }

    fn not_opened(&self, error: &Error) -> Ended {
        let pause = error.retry_after();
        if error.is_expired() {
            return Ended::List("expired", pause);
        }
        self.progress.failed("watch", error);
        match error {
            Error::Connect { .. } => Ended::Pause("refused", pause),
            Error::Transport { .. } | Error::Timeout { .. } => Ended::Pause("broken", pause),
            _ if error.is_too_many_requests() => Ended::Pause("throttled", pause),
            _ if error.is_forbidden() || error.is_unauthorized() => {
                Ended::Pause("forbidden", pause)
            }
            _ if error.status().is_some_and(|status| status.code >= 500) => {
                Ended::Pause("failed", pause)
            }
            // Not served any more, or the version makes no sense to the server.
            _ => Ended::List("failed", pause),
        }
    }

    fn broken(&self, error: &Error, quiet: bool, asked: Instant) -> Ended {
        let pause = error.retry_after();
        if error.is_expired() {
            return Ended::List("expired", pause);
        }
        if error.is_too_many_requests() {
            self.progress.failed("watch", error);
            return Ended::Pause("throttled", pause);
        }
        if matches!(error, Error::Lagged { .. }) {
            return Ended::Reopen("lagged");
        }
        if matches!(
            error,
            Error::Transport { .. } | Error::Connect { .. } | Error::Timeout { .. }
        ) {
            if quiet && asked.elapsed() < Self::SHORT {
                self.progress.failed("watch", error);
                return Ended::Pause("broken", pause);
            }
            return Ended::Reopen("broken");
        }
        self.progress.failed("watch", error);
        Ended::List("failed", pause)
    }

    async fn take<K: Object>(&mut self, event: WatchEvent<K>, queue: &DeltaQueue<K>) {
        let is_added = matches!(event, WatchEvent::Added(_));
        self.position.followed(event.resource_version(), is_added);
        let delta = match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                Delta::Set(Arc::new(object))
            }
            WatchEvent::Deleted(object) => Delta::Deleted(Arc::new(object)),
            WatchEvent::Undecodable {
                change: Change::Deleted,
                object,
            } => Delta::DeletedUndecodable(Box::new(object)),
            WatchEvent::Undecodable { object, .. } => Delta::SetUndecodable(Box::new(object)),
            WatchEvent::Bookmark {
                resource_version, ..
            } => Delta::Bookmark { resource_version },
        };
        queue.push(delta).await;
    }

    async fn pause(&mut self, retry_after: Option<Duration>) {
        self.progress.enter(InformerMode::BackingOff);
        sleep(self.backoff.next(retry_after)).await;
    }
}

/// Where in a list an error came.
enum Place {
    FirstPage,
    LaterPage,
}

fn is_unavailable(error: &Error) -> bool {
    error.is_expired() || error.is_too_large_resource_version()
}
