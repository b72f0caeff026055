use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

use super::{
    Delta, DeltaQueue, InformerMode, InformerScope, ListBudget, ListerWatcher,
    backoff::{Backoff, Failure},
    open_watch::{Heard, OpenWatch},
    position::Position,
    progress::Progress,
    random::Random,
    reopening::Reopening,
};
use crate::{
    client::{
        Change, Error, ListParams, ListProgress, ObjectList, Reconnections, WatchEvent, WatchParams,
    },
    metrics::InformerMetrics,
    resource::Object,
};

/// Lists a collection, then watches it, and hands on what happens as [`Delta`]s; for ever.
///
/// * A list is streamed where the [source](ListerWatcher::streams_lists) and the server can do it: a
///   watch that begins with the present state and goes on as the watch. What comes is handed on as it
///   comes; what did not come is gone only when the server marks the end of the state. When the
///   server does not know how, fails at it, or sends nothing new for 15 s without the mark, the
///   collection is read in pages in the same breath, and for half an hour streaming is not tried
///   again. A stream that ends before the mark is asked for once more, then read in pages. Every API server that does not
///   stream lists refuses to (400 or 422), which is noticed at once. Something else that ignores the question gives the same
///   events as one that is about to set its mark, so that only waiting tells: the 15 s, once in half an hour.
/// * The first list in pages takes what the server has at hand (version `"0"`), 500 objects at a time.
///   Each page is handed on as it comes; what a list did not name is gone only after its last page.
///   When the server does not have the version asked for (410, "too large resource version"), or does not
///   take it (400, 422), the newest state is listed at once.
/// * A watch goes on from the last version seen, with bookmarks, for five to ten minutes. When it
///   ends it is opened again at once, without a list. The same goes for a connection that broke,
///   and for a stream that was silent for 150 s or for 15 s past its own end.
/// * A version older than what had come leads to a list of the newest state: the server's state was
///   put back, and nothing of before can be relied on, equal versions included ([`Delta::Restored`]).
/// * 410, when the watch is opened or within the stream, leads to a list; refused connections, 429
///   and other failures to open only to a pause. `Retry-After` is honoured.
/// * Where only the watch is not allowed, lists keep the collection fresh, ever more slowly, down to
///   one in 30 to 60 s; [`InformerStatus`](super::InformerStatus) says so.
/// * Pauses begin at 800 ms, double up to 30 s for each kind of failure by itself, with jitter, and
///   start over after success that held. A pause after a failed connection ends within a second after the
///   [source](ListerWatcher::reconnections) answers others again.
/// * A watch that ends within 5 s is opened again at once for the first time, then after pauses that double from 100 ms:
///   up to 1 s if it brought a new version, up to 30 s if not. Three in a row count as a failure until one lasts.
/// * A list whose continue token comes twice, or of which a hundred pages in a row bring no new object, is a failure.
///   So is a watch that sends one version a thousand times.
/// * Lists stand in line for the [`ListBudget`] of their [`Informers`](super::Informers).
/// * An object that does not decode is handed on as such and spoils nothing else; one without a name
///   is left out and counted. A panic while decoding counts as a failure of the list or the watch.
///
/// A watch cannot tell that the server left out an event: the object's next change or the next list
/// mends that.
///
/// It follows client-go's reflector, except: a streamed list is handed on as it comes, has a deadline,
/// and is not tried at each list where it does not work; a list that broke off is tried again at no
/// older version than it had; the newest state is listed in pages; a broken connection or a server
/// error does not lead to a list, since watching on from the last version misses nothing.
pub struct Reflector<L> {
    pub(super) source: L,
    scope: InformerScope,
    pub(super) progress: Arc<Progress>,
    pub(super) position: Position,
    backoff: Backoff,
    reopening: Reopening,
    reconnections: Option<Reconnections>,
    random: Random,
    budget: ListBudget,
    /// Tells when a new list is asked for.
    relist: Option<watch::Receiver<u64>>,
    /// Streaming did not work; it is tried again from then on.
    pub(super) streams_from: Option<Instant>,
}

/// What a pause is for, and what the server asked for.
pub(super) struct Pause {
    why: &'static str,
    failure: Failure,
    retry_after: Option<Duration>,
}

/// Why a watch ended.
enum Ended {
    /// Go on from the last version, as soon as that is not too often.
    Reopen(&'static str, Duration),
    /// Go on from the last version after a pause.
    Again(Pause),
    /// List after a pause.
    List(Pause),
}

impl<L> Reflector<L> {
    /// The server ends a watch after a time in this range, so that not all end together.
    const WATCH: std::ops::Range<Duration> =
        Duration::from_secs(5 * 60)..Duration::from_secs(10 * 60);
    /// A stream silent for so long is replaced; a server sends bookmarks about every minute.
    const SILENCE: Duration = Duration::from_secs(150);
    /// A watch that sends so many events in a row without a new version sends them without end.
    const MOST_REPEATED: u32 = 1000;

    /// A reflector that has not listed yet. The selectors are those of `scope`; kind and namespace
    /// those of `source`. Its lists wait for nobody.
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

    pub(super) fn with_progress<K>(
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
            reopening: Reopening::new(),
            random: Random::new(),
            budget,
            relist: None,
            streams_from: None,
        }
    }

    /// It lists anew whenever `asked` changes.
    pub(super) fn relisting(self, asked: watch::Receiver<u64>) -> Self {
        Self {
            relist: Some(asked),
            ..self
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
            let pause = cycle.await.unwrap_or_else(|_| {
                self.progress
                    .troubled("read", "decoding what came panicked");
                Pause::new("panicked", Failure::Server)
            });
            reason = pause.why;
            self.pause(pause).await;
        }
    }

    /// One list and what follows from it, up to the need for another.
    async fn cycle<K>(&mut self, reason: &'static str, queue: &DeltaQueue<K>) -> Pause
    where
        K: Object,
        L: ListerWatcher<K>,
    {
        self.progress.listing(reason);
        match self.list(queue).await {
            Ok(watch) => {
                let asked = changed(self.relist.clone());
                // To lose a half-done step is safe: the list brings all there is.
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
                    Pause::new("asked", Failure::Server)
                })
            }
            Err(pause) => {
                let is_first = reason == "initial";
                let why = if is_first { reason } else { "failed" };
                Pause { why, ..pause }
            }
        }
    }

    /// Reads the whole collection; a stream that brought it goes on as a watch.
    async fn list<K>(&mut self, queue: &DeltaQueue<K>) -> Result<Option<OpenWatch<L::Watch>>, Pause>
    where
        K: Object,
        L: ListerWatcher<K>,
    {
        let _place = self.budget.enter(self.progress.waiting_list()).await;
        self.begin_request();
        let began = Instant::now();
        if self.may_stream()
            && let Some(watch) = self.stream_list(queue).await?
        {
            self.progress.list_took(began);
            return Ok(Some(watch));
        }
        self.list_pages(queue).await.map_err(|error| {
            self.progress.failed("list", &error);
            Pause::after(&error)
        })?;
        self.progress.list_took(began);
        Ok(None)
    }

    async fn list_pages<K>(&mut self, queue: &DeltaQueue<K>) -> Result<(), Error>
    where
        K: Object,
        L: ListerWatcher<K>,
    {
        let mut paged = true;
        loop {
            let page_size = self.position.page_size().filter(|_| paged);
            let has_version = !matches!(self.position.list_version(), "" | "0");
            let error = match self.list_once(queue, page_size).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            match error {
                // Between two pages the server forgot the state they are of.
                (Place::LaterPage, error) if error.is_expired() && paged => paged = false,
                (_, error) if is_unavailable(&error) && self.position.unavailable() => paged = true,
                // A version that the server itself gave out may be one that it does not take, or that no URL can hold.
                (Place::FirstPage, error)
                    if has_version && is_refused_version(&error) && self.position.unavailable() =>
                {
                    paged = true;
                }
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
        K: Object,
        L: ListerWatcher<K>,
    {
        let version = self.position.list_version().to_owned();
        let newest = version.is_empty().then(Instant::now);
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
        if self.position.is_before(Some(&listed)) {
            self.position.went_back();
        }
        self.position.page_taken(&listed, &version, has_more);
        self.begin_list(queue).await;
        params.resource_version = None;
        let mut progress = ListProgress::default();
        loop {
            self.progress.heard();
            let token = page.continue_token().map(str::to_owned);
            let shared = self.shared(page);
            let endless = progress.page::<K, _>(&shared);
            endless.map_err(|reason| (Place::LaterPage, self.endless(reason)))?;
            queue.push_page(shared).await;
            self.progress.queued(queue.len());
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
        self.push(Delta::ListEnded { resource_version }, queue)
            .await;
        self.progress.listed(newest);
        self.progress.recovered("list");
        Ok(())
    }

    /// A list begins. What is known of equal versions counts only while versions did not go backwards.
    pub(super) async fn begin_list<K>(&self, queue: &DeltaQueue<K>) {
        if self.position.is_restored() {
            self.push(Delta::Restored, queue).await;
        }
        self.push(Delta::ListStarted, queue).await;
    }

    fn endless<K>(&self, reason: String) -> Error
    where
        L: ListerWatcher<K>,
    {
        Error::NoProgress {
            verb: "list",
            target: self.source.resource().qualified_plural(),
            reason,
        }
    }

    /// The page as caches share it, without objects that have no name.
    fn shared<K: Object>(&self, page: ObjectList<impl Into<Arc<K>>>) -> ObjectList<Arc<K>> {
        let all = page.items.len();
        let objects = page.items.into_iter().map(Into::into);
        let items: Vec<_> = objects.filter(has_name).collect();
        if items.len() < all {
            self.progress.misfits(all - items.len());
        }
        ObjectList {
            metadata: page.metadata,
            items,
            undecodable: page.undecodable,
        }
    }

    /// Watches, again and again, until only a list can help. `watch` is what a streamed list left.
    async fn watch_until_list<K>(
        &mut self,
        mut watch: Option<OpenWatch<L::Watch>>,
        queue: &DeltaQueue<K>,
    ) -> Pause
    where
        K: Object,
        L: ListerWatcher<K>,
    {
        let mut reason = "listed";
        loop {
            let ended = match watch.take() {
                Some(watch) => self.follow(watch, queue).await,
                None => {
                    self.progress.connecting(reason);
                    self.begin_request();
                    match self.open(false, Self::SILENCE).await {
                        Ok(watch) => self.follow(watch, queue).await,
                        Err(error) => self.not_opened(error.as_ref()),
                    }
                }
            };
            match ended {
                Ended::Reopen(why, pause) => {
                    reason = why;
                    if !pause.is_zero() {
                        self.progress.enter(InformerMode::BackingOff);
                        sleep(pause).await;
                    }
                }
                Ended::Again(pause) => {
                    reason = pause.why;
                    self.pause(pause).await;
                }
                Ended::List(pause) => return pause,
            }
        }
    }

    /// Opens a watch from where the position is, or one that begins with the present state; `None` is no
    /// answer within `patience`.
    pub(super) async fn open<K>(
        &mut self,
        with_state: bool,
        patience: Duration,
    ) -> Result<OpenWatch<L::Watch>, Option<Error>>
    where
        L: ListerWatcher<K>,
    {
        let time = self.random.duration(Self::WATCH);
        let version = if with_state {
            self.position.stream_version()
        } else {
            self.position.watch_version()
        };
        let params = WatchParams {
            label_selector: self.scope.label_selector.clone(),
            field_selector: self.scope.field_selector.clone(),
            resource_version: version.map(str::to_owned),
            timeout: Some(time),
            send_initial_events: with_state,
            ..WatchParams::default()
        };
        let asked = Instant::now();
        match timeout(patience, self.source.watch(&params)).await {
            Ok(Ok(stream)) => {
                let open = self.progress.open_watch();
                Ok(OpenWatch::new(stream, asked, time, open))
            }
            Ok(Err(error)) => Err(Some(error)),
            Err(_) => Err(None),
        }
    }

    async fn follow<K>(&mut self, mut watch: OpenWatch<L::Watch>, queue: &DeltaQueue<K>) -> Ended
    where
        K: Object,
        L: ListerWatcher<K>,
    {
        self.progress.heard();
        self.progress.enter(InformerMode::Watching);
        // After one that ended soon a watch has to last before all is well again.
        let mut is_proven = self.reopening.is_well();
        if is_proven {
            self.progress.recovered("watch");
        }
        let (mut has_progressed, mut repeated) = (false, 0);
        let ended = loop {
            let now = Instant::now();
            let lasts_at = watch.opened() + Reopening::LASTED;
            if !is_proven && lasts_at <= now {
                is_proven = true;
                self.reopening.lasted();
                self.progress.recovered("watch");
            }
            if watch.is_overdue(now) {
                break Ended::reopen("late");
            }
            if repeated >= Self::MOST_REPEATED {
                self.progress
                    .troubled("watch", "the server sends one version again and again");
                break Ended::reopen("repeated");
            }
            // Back-pressure is not silence: the time counts from when the stream is asked again.
            let due = match is_proven {
                true => now + Self::SILENCE,
                false => lasts_at,
            };
            match watch.next(due).await {
                Heard::Event(event) => {
                    self.progress.watched(&event);
                    let is_added = matches!(event, WatchEvent::Added(_));
                    let Some(delta) = delta(event) else {
                        self.progress.misfits(1);
                        repeated += 1;
                        continue;
                    };
                    if self.position.is_before(delta.resource_version()) {
                        self.progress
                            .troubled("watch", "the server's versions went backwards");
                        self.position.went_back();
                        break Ended::List(Pause::new("backwards", Failure::Server));
                    }
                    if self.position.followed(delta.resource_version(), is_added) {
                        (has_progressed, repeated) = (true, 0);
                    } else if !self.position.is_unknown() {
                        repeated += 1;
                    }
                    self.push(delta, queue).await;
                }
                Heard::Error(error) => break self.broken(&error, watch.was_short()),
                Heard::Closed if watch.was_short() => {
                    self.progress
                        .troubled("watch", "the server ended the watch at once");
                    break Ended::List(Pause::new("short", Failure::Server));
                }
                Heard::Closed => break Ended::reopen("closed"),
                Heard::Silent if !is_proven => {}
                Heard::Silent => break Ended::reopen("silent"),
            }
        };
        self.held(watch.age());
        let pause = self.reopening.ended(watch.age(), has_progressed);
        match ended {
            Ended::Reopen(why, _) => {
                self.tell_if_failing(why != "repeated");
                Ended::Reopen(why, pause)
            }
            Ended::List(pause) => {
                self.tell_if_failing(pause.failure == Failure::Expired);
                Ended::List(pause)
            }
            again => again,
        }
    }

    /// Tells that watches do not last, unless something else was told.
    fn tell_if_failing(&self, is_untold: bool) {
        if is_untold && self.reopening.is_failing() {
            self.progress
                .troubled("watch", "the server ends each watch after less than 5 s");
        }
    }

    /// What was asked for worked for `time`.
    fn held(&mut self, time: Duration) {
        if self.backoff.held(time)
            && let Some(reconnections) = &mut self.reconnections
        {
            reconnections.held();
        }
    }

    fn not_opened(&mut self, error: Option<&Error>) -> Ended {
        let Some(error) = error else {
            self.progress.troubled("watch", "no answer from the server");
            return Ended::Again(Pause::new("silent", Failure::Connection));
        };
        let pause = Pause::after(error);
        if pause.failure == Failure::Expired {
            // Once in a while this is the way of things.
            self.reopening.expired();
            if self.reopening.is_failing() {
                self.progress.failed("watch", error);
            }
            return Ended::List(pause);
        }
        self.progress.failed("watch", error);
        match pause.failure {
            // Lists keep the collection fresh meanwhile; or the kind is not served any more.
            Failure::Refused => Ended::List(pause),
            Failure::Server if error.status().is_none_or(|status| status.code < 500) => {
                // The version makes no sense to the server.
                Ended::List(pause)
            }
            _ => Ended::Again(pause),
        }
    }

    fn broken(&self, error: &Error, short: bool) -> Ended {
        let pause = Pause::after(error);
        match pause.failure {
            Failure::Expired => Ended::List(pause),
            Failure::Throttled => {
                self.progress.failed("watch", error);
                Ended::Again(pause)
            }
            Failure::Connection if short => {
                self.progress.failed("watch", error);
                Ended::Again(pause)
            }
            Failure::Connection => Ended::reopen("broken"),
            _ if matches!(error, Error::Lagged { .. }) => Ended::reopen("lagged"),
            _ => {
                self.progress.failed("watch", error);
                Ended::List(pause)
            }
        }
    }

    pub(super) async fn push<K>(&self, delta: Delta<K>, queue: &DeltaQueue<K>) {
        queue.push(delta).await;
        self.progress.queued(queue.len());
    }

    async fn pause(&mut self, pause: Pause) {
        self.progress.enter(InformerMode::BackingOff);
        let time = self.backoff.next(pause.failure, pause.retry_after);
        match &mut self.reconnections {
            Some(reconnections) if pause.failure == Failure::Connection => {
                reconnections.pause(time).await;
            }
            _ => sleep(time).await,
        }
    }

    /// An answer to others from now on ends the pause that may follow.
    fn begin_request(&mut self) {
        if let Some(reconnections) = &mut self.reconnections {
            reconnections.begin();
        }
    }
}

impl Ended {
    fn reopen(why: &'static str) -> Self {
        Self::Reopen(why, Duration::ZERO)
    }
}

impl Pause {
    pub(super) fn new(why: &'static str, failure: Failure) -> Self {
        Self {
            why,
            failure,
            retry_after: None,
        }
    }

    /// The one that follows from `error`.
    pub(super) fn after(error: &Error) -> Self {
        let failure = match error {
            _ if error.is_connection_failure() => Failure::Connection,
            _ if error.is_too_many_requests() => Failure::Throttled,
            _ if is_unavailable(error) => Failure::Expired,
            _ if error.is_forbidden()
                || error.is_unauthorized()
                || error.is_not_found()
                || error.is_method_not_allowed() =>
            {
                Failure::Refused
            }
            _ => Failure::Server,
        };
        let why = match failure {
            Failure::Connection if matches!(error, Error::Connect { .. }) => "refused",
            Failure::Connection => "broken",
            Failure::Throttled => "throttled",
            Failure::Expired => "expired",
            Failure::Refused if error.is_not_found() => "failed",
            Failure::Refused => "forbidden",
            Failure::Server => "failed",
        };
        Self {
            why,
            failure,
            retry_after: error.retry_after(),
        }
    }

    pub(super) fn failure(&self) -> Failure {
        self.failure
    }
}

/// The step that an event means; `None` if its object has no name, which no object of the API has.
pub(super) fn delta<K: Object>(event: WatchEvent<impl Into<Arc<K>>>) -> Option<Delta<K>> {
    Some(match event.map(Into::into) {
        WatchEvent::Added(object) | WatchEvent::Modified(object) => {
            Delta::Set(has_name(&object).then_some(object)?)
        }
        WatchEvent::Deleted(object) => Delta::Deleted(has_name(&object).then_some(object)?),
        WatchEvent::Undecodable {
            change: Change::Deleted,
            object,
        } => Delta::DeletedUndecodable(Box::new(object)),
        WatchEvent::Undecodable { object, .. } => Delta::SetUndecodable(Box::new(object)),
        WatchEvent::Bookmark {
            resource_version, ..
        } => Delta::Bookmark { resource_version },
    })
}

fn has_name<K: Object>(object: &Arc<K>) -> bool {
    let name = object.metadata().name.as_deref();
    name.is_some_and(|name| !name.is_empty())
}

/// Waits until a new list is asked for; for ever if nobody can.
async fn changed(asked: Option<watch::Receiver<u64>>) {
    if let Some(mut asked) = asked
        && asked.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}

/// Where in a list an error came.
enum Place {
    FirstPage,
    LaterPage,
}

pub(super) fn is_unavailable(error: &Error) -> bool {
    error.is_expired() || error.is_too_large_resource_version()
}

/// Whether the version in the request may be why it failed.
fn is_refused_version(error: &Error) -> bool {
    error.is_bad_request() || error.is_invalid() || matches!(error, Error::Invalid { .. })
}
