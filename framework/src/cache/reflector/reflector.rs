use std::sync::Arc;

use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use super::{
    ListBudget, ListerWatcher,
    backoff::{Backoff, FailureKind},
    open_watch::OpenWatch,
    pause::Pause,
    position::Position,
    reopen_backoff::ReopenBackoff,
};
use crate::{
    backoff::Jitter,
    cache::{Delta, DeltaQueue, InformerMode, InformerScope, status::Progress},
    client::Reconnections,
    health::catch_panic_of,
    metrics::InformerMetrics,
    resource::Object,
};

/// Lists a collection, then watches it, and hands on the changes as [`Delta`]s, without end.
///
/// * A list is streamed if the [source](ListerWatcher::streams_lists) and the server support it: one watch begins
///   with the present state and then goes on as the watch. Objects are handed on as they arrive; objects that did not
///   arrive count as gone only when the server marks the end of the state. If the server does not support streaming,
///   fails at it, or sends nothing new for 15 s without the mark, the reflector reads the collection in pages at
///   once, and does not try streaming again for half an hour. A stream that ends before the mark is tried once more,
///   and then the list is read in pages. An API server that does not stream lists refuses the request (400 or 422),
///   which the reflector notices at once. Another server that ignores the parameter sends the same events as one that
///   is about to send the mark, so that only waiting tells the difference: 15 s, once in half an hour.
/// * The first list in pages accepts any version that the server has (version `"0"`), 500 objects at a time. Each
///   page is handed on as it arrives; objects that the list did not contain count as gone only after its last page.
///   If the server does not have the requested version (410, "too large resource version"), or refuses it (400, 422),
///   the reflector lists the newest state at once.
/// * A watch continues from the last version, with bookmarks, for five to ten minutes. When it ends, it is opened
///   again at once, without a list. The same goes for a connection that broke, and for a stream that was silent for
///   150 s or lasted 15 s longer than its timeout.
/// * If a version arrives that is older than an earlier one, the reflector lists the newest state: the server's state
///   was restored, and nothing from before is reliable, not even equal versions ([`Delta::Restored`]).
/// * A 410, while the watch is opened or within the stream, leads to a list. Refused connections, 429 and other
///   failures to open the watch lead only to a pause. `Retry-After` is honoured.
/// * If only the watch is forbidden, lists keep the collection fresh, less and less often, down to one in 30 to 60 s;
///   [`InformerStatus`](crate::cache::InformerStatus) reports it.
/// * Pauses begin at 800 ms and double up to 30 s, separately for each kind of failure, with jitter. They start over
///   after requests have worked for 30 s. A pause after a failed connection ends within a second after the
///   [source](ListerWatcher::reconnections) answers other requests again. A list that another informer has needs no
///   pause, once in 5 s.
/// * The first watch that ends within 5 s is opened again at once. Further ones are opened again after pauses that
///   double from 100 ms: up to 1 s if the watch brought a new version, up to 30 s if not. Three in a row count as a
///   failure until one lasts.
/// * A list fails if its continue token repeats, or if a hundred pages in a row bring no new object. A watch fails if
///   it sends one version a thousand times.
/// * Lists wait for the [`ListBudget`] of their [`Informers`](crate::cache::Informers).
/// * An object that does not decode is handed on as such and affects no other object. An object without a name is
///   left out and counted. A panic while decoding counts as a failure of the list or the watch.
///
/// A watch cannot tell that the server left out an event: the object's next change or the next list corrects that.
///
/// The reflector follows client-go's, with these exceptions. A streamed list is handed on as it arrives, has a
/// deadline, and is not tried at each list where it does not work. A list that failed halfway is repeated at no older
/// version. The newest state is listed in pages. A broken connection or a server error leads to no list, because a
/// watch from the last version misses nothing.
pub struct Reflector<L> {
    pub(super) source: L,
    pub(super) scope: InformerScope,
    pub(in crate::cache) progress: Arc<Progress>,
    pub(super) position: Position,
    pub(super) backoff: Backoff,
    pub(super) reopen_backoff: ReopenBackoff,
    pub(super) reconnections: Option<Reconnections>,
    pub(super) jitter: Jitter,
    pub(super) budget: ListBudget,
    /// Changes when a new list is requested.
    pub(super) relist: Option<watch::Receiver<u64>>,
    /// Streaming failed; it is tried again from this time on.
    pub(super) no_streaming_until: Option<Instant>,
}

impl<L> Reflector<L> {
    /// A reflector that has not listed yet. The selectors are those of `scope`; kind and namespace are those of
    /// `source`. Its lists have a [`ListBudget`] of their own.
    pub fn new<K>(source: L, scope: InformerScope, metrics: InformerMetrics) -> Self
    where
        L: ListerWatcher<K>,
    {
        let progress = Progress::new(
            source.resource().clone(),
            source.namespace().map(str::to_owned),
            metrics,
        );
        Self::with_progress(source, scope, Arc::new(progress), ListBudget::default())
    }

    pub(in crate::cache) fn with_progress<K>(
        source: L,
        scope: InformerScope,
        progress: Arc<Progress>,
        budget: ListBudget,
    ) -> Self
    where
        L: ListerWatcher<K>,
    {
        Self {
            reconnections: source.reconnections(),
            source,
            scope,
            progress,
            position: Position::default(),
            backoff: Backoff::new(),
            reopen_backoff: ReopenBackoff::new(),
            jitter: Jitter::random(),
            budget,
            relist: None,
            no_streaming_until: None,
        }
    }

    /// Lists again whenever `asked` changes.
    pub(in crate::cache) fn relisting(self, asked: watch::Receiver<u64>) -> Self {
        Self {
            relist: Some(asked),
            ..self
        }
    }

    /// Fills `queue` until the future is dropped, which cancels whatever is in progress.
    pub async fn run<K>(mut self, queue: &DeltaQueue<K>)
    where
        K: Object,
        L: ListerWatcher<K>,
    {
        let mut reason = "initial";
        let mut skipped = None;
        loop {
            // A panic comes from decoding: the position is consistent, and the next list begins anew.
            let cycle = catch_panic_of(self.cycle(reason, queue));
            let pause = cycle.await.unwrap_or_else(|panic| {
                let failure = format!("decoding the answer panicked: {panic}");
                self.progress.failed_because("read", &failure);
                Pause::new("panicked", FailureKind::Server)
            });
            reason = pause.why;
            // Not again and again: a reader that is too slow gets one list after the other.
            let may_skip = skipped.is_none_or(|at: Instant| at.elapsed() >= ReopenBackoff::LASTED);
            if may_skip && self.source.has_list(self.position.list_version()) {
                skipped = Some(Instant::now());
            } else {
                self.pause(pause).await;
            }
        }
    }

    /// One list and the watches that follow it, until another list is needed. Returns the pause before that list.
    async fn cycle<K>(&mut self, reason: &'static str, queue: &DeltaQueue<K>) -> Pause
    where
        K: Object,
        L: ListerWatcher<K>,
    {
        self.progress.listing(reason);
        match self.list(queue).await {
            Ok(watch) => {
                let asked = changed(self.relist.clone());
                // Losing a half-done step is safe: the list brings everything.
                let pause = tokio::select! {
                    biased;
                    () = asked => None,
                    pause = self.watch_until_list(watch, queue) => Some(pause),
                };
                pause.unwrap_or_else(|| {
                    self.relist
                        .iter_mut()
                        .for_each(watch::Receiver::mark_unchanged);
                    self.position.restart();
                    Pause::new("asked", FailureKind::Server)
                })
            }
            Err(pause) => {
                let is_first = reason == "initial";
                let why = if is_first { reason } else { "failed" };
                Pause { why, ..pause }
            }
        }
    }

    /// Reads the whole collection. Returns the stream that brought it, which goes on as a watch.
    async fn list<K>(&mut self, queue: &DeltaQueue<K>) -> Result<Option<OpenWatch<L::Watch>>, Pause>
    where
        K: Object,
        L: ListerWatcher<K>,
    {
        let version = self.position.list_version();
        self.source.prepare_list(version).await;
        let _permit = self.budget.acquire(self.progress.waiting_list()).await;
        self.begin_request();
        let began = Instant::now();
        if self.may_stream()
            && let Some(watch) = self.stream_list(queue).await?
        {
            self.progress.observe_list(began);
            return Ok(Some(watch));
        }
        self.list_pages(queue).await.map_err(|error| {
            self.progress.failed("list", &error);
            Pause::after(&error)
        })?;
        self.progress.observe_list(began);
        Ok(None)
    }

    /// Announces a list to the store. Equal versions are trusted only as long as versions did not go backwards.
    pub(super) async fn begin_list<K>(&self, queue: &DeltaQueue<K>) {
        if self.position.is_restored() {
            self.push(Delta::Restored, queue).await;
        }
        self.push(Delta::ListStarted, queue).await;
    }

    pub(super) async fn push<K>(&self, delta: Delta<K>, queue: &DeltaQueue<K>) {
        queue.push(delta).await;
        self.progress.set_queued(queue.len());
    }

    pub(super) async fn pause(&mut self, pause: Pause) {
        self.progress.enter(InformerMode::BackingOff);
        let time = self.backoff.next(pause.failure, pause.retry_after);
        match &mut self.reconnections {
            Some(reconnections) if pause.failure == FailureKind::Connection => {
                reconnections.pause(time).await;
            }
            _ => sleep(time).await,
        }
    }

    /// From now on an answer to another request ends the pause that may follow.
    pub(super) fn begin_request(&mut self) {
        if let Some(reconnections) = &mut self.reconnections {
            reconnections.begin();
        }
    }
}

/// Waits until a new list is requested; forever if nobody can request one.
async fn changed(asked: Option<watch::Receiver<u64>>) {
    if let Some(mut asked) = asked
        && asked.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}
