use std::{future::pending, sync::Arc};

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use parking_lot::Mutex;
use tokio::{
    sync::watch,
    task::yield_now,
    time::{Duration, Instant, sleep_until, timeout},
};

use super::metadata_feed::{FeedPoll, MetadataFeed, SharedEvent};
use crate::{
    cache::{Readiness, Subscription, entry::SharedObject},
    client::ObjectList,
};

/// How an informer of metadata finds the informer of the whole objects, and reads from it.
pub(in crate::cache) struct SharedWatch {
    find: Box<FindWhole>,
    /// Tells when there are other informers than before.
    registered: watch::Receiver<()>,
    state: Mutex<ShareState>,
}

/// Returns the informer of the whole objects with the same scope, if there is one that has not ended.
type FindWhole = dyn Fn() -> Option<Arc<dyn WholeObjects>> + Send + Sync;

/// An informer of whole objects.
pub(in crate::cache) trait WholeObjects: Send + Sync {
    /// Writes what it has and what changes, until the subscription is removed or the informer ends.
    fn feed(&self, feed: Arc<MetadataFeed>) -> Subscription;

    fn readiness(&self) -> Readiness;

    /// Whether its requests fail, or it has objects that do not decode.
    fn has_problems(&self) -> bool;

    fn has_ended(&self) -> bool;
}

#[derive(Default)]
struct ShareState {
    open: Option<OpenFeed>,
    /// Until then the informer of metadata reads the API server, because the other informer did not bring what it needs.
    paused_until: Option<Instant>,
}

/// A feed that an informer writes for as long as this exists.
#[derive(Clone)]
struct OpenFeed {
    feed: Arc<MetadataFeed>,
    whole: Arc<dyn WholeObjects>,
    _subscription: Arc<OwnSubscription>,
}

/// Removes the listener when it is dropped.
struct OwnSubscription(Subscription);

impl Drop for OwnSubscription {
    fn drop(&mut self) {
        // The call itself removes the listener. The future would wait for the end of it.
        drop(self.0.remove());
    }
}

/// What a watch of shared objects brings.
pub(super) enum SharedStep {
    Event(SharedEvent),
    /// Only a list helps.
    List,
}

/// How a watch begins.
pub(super) enum SharedStart {
    /// With the changes since the list, or since the watch before.
    Follow(BoxStream<'static, SharedStep>),
    /// Only a list helps.
    List,
    /// The API server has to be asked.
    Server,
}

impl SharedWatch {
    /// A list waits so long for an informer that has synced.
    const PATIENCE: Duration = Duration::from_secs(10);
    /// And so long for its first list.
    const FIRST_LIST_PATIENCE: Duration = Duration::from_secs(120);
    /// For how long an informer that did not bring what was needed is not asked again.
    const PAUSE: Duration = Duration::from_secs(300);
    /// An informer that brings nothing for so long may have lost its watch. As in the reflector.
    const SILENCE: Duration = Duration::from_secs(150);
    /// How often a list that waits looks whether the requests of the other informer fail.
    const STEP: Duration = Duration::from_secs(1);

    pub(in crate::cache) fn new(find: Box<FindWhole>, registered: watch::Receiver<()>) -> Self {
        Self {
            find,
            registered,
            state: Mutex::default(),
        }
    }

    /// Waits until a list that is not older than `version` can be read from the other informer, or must be read from the API server.
    /// `""` means the newest version, which only the API server knows.
    pub(super) async fn prepare_list(&self, version: &str) {
        if version.is_empty() {
            return self.close();
        }
        let began = Instant::now();
        while let Some(open) = self.open() {
            if open.is_unusable() {
                return self.leave(&open);
            }
            if open.feed.has_list(version) {
                return;
            }
            let patience = match open.whole.readiness().is_ready() {
                true => Self::PATIENCE,
                false => Self::FIRST_LIST_PATIENCE,
            };
            if began.elapsed() >= patience {
                return self.leave(&open);
            }
            _ = timeout(Self::STEP, open.feed.changed()).await;
        }
    }

    /// Whether the other informer has a list that is not older than `version`, with which the reader has not begun.
    pub(super) fn has_list(&self, version: &str) -> bool {
        let state = self.state.lock();
        let open = state.open.as_ref();
        open.is_some_and(|open| open.feed.has_list(version))
    }

    /// The list of the other informer, if it is not older than `version`.
    pub(super) fn list(&self, version: &str) -> Option<ObjectList<SharedObject>> {
        let open = self.state.lock().open.clone()?;
        let list = open.feed.take_list(version);
        if list.is_none() {
            self.leave(&open);
        }
        list
    }

    /// Begins a watch that goes on from `version`.
    pub(super) fn watch(&self, version: &str) -> SharedStart {
        let Some(open) = self.state.lock().open.clone() else {
            return SharedStart::Server;
        };
        if open.is_unusable() {
            self.leave(&open);
            return SharedStart::Server;
        }
        let Some(reached) = open.feed.reader_version() else {
            return match open.feed.has_list(version) {
                true => SharedStart::List,
                // The feed stays open: it is on offer while the API server is watched.
                false => SharedStart::Server,
            };
        };
        // The other informer may have lost its watch. Without changes, bookmarks come about every minute.
        if open.feed.silent_for() >= Self::SILENCE {
            self.leave(&open);
            return SharedStart::Server;
        }
        let changes = stream::unfold(open, |open| async {
            let step = open.next().await?;
            Some((step, open))
        });
        // A watch that brings something has not failed, even if it ends soon.
        let first = SharedStep::Event(SharedEvent::Reached(reached));
        SharedStart::Follow(stream::iter([first]).chain(changes).boxed())
    }

    /// While the API server is watched: waits until the other informer has a list that is not older than the version that the watch
    /// has reached. An empty version is reached by no list.
    pub(super) async fn offers_list(&self, mut reached: watch::Receiver<String>) {
        let mut registered = self.registered.clone();
        loop {
            let paused_until = self.state.lock().paused_until;
            if let Some(paused_until) = paused_until {
                sleep_until(paused_until).await;
            }
            registered.mark_unchanged();
            tokio::select! {
                open = self.opened() => loop {
                    if open.is_unusable() {
                        self.leave(&open);
                        // The informer may be on its way to its end.
                        yield_now().await;
                        break;
                    }
                    let version = reached.borrow_and_update().clone();
                    if open.feed.has_list(&version) {
                        return;
                    }
                    tokio::select! {
                        () = open.feed.changed() => {}
                        changed = reached.changed() => if changed.is_err() {
                            open.feed.changed().await;
                        },
                    }
                },
                changed = registered.changed() => if changed.is_err() {
                    pending::<()>().await;
                },
            }
        }
    }

    /// Waits until the other informer has synced, and returns its feed. If there is no other informer, this waits forever.
    async fn opened(&self) -> OpenFeed {
        let readiness = (self.find)().map(|whole| whole.readiness());
        let is_ready = match readiness {
            Some(readiness) => readiness.wait().await,
            None => false,
        };
        match self.open().filter(|_| is_ready) {
            Some(open) => open,
            None => pending().await,
        }
    }

    /// The open feed, or a new one. `None` if there is no informer to read from.
    fn open(&self) -> Option<OpenFeed> {
        let mut state = self.state.lock();
        if let Some(open) = &state.open {
            return Some(open.clone());
        }
        let is_paused = |until| Instant::now() < until;
        if state.paused_until.is_some_and(is_paused) {
            return None;
        }
        let whole = (self.find)()?;
        let feed = Arc::new(MetadataFeed::new());
        let subscription = OwnSubscription(whole.feed(feed.clone()));
        let open = OpenFeed {
            feed,
            whole,
            _subscription: Arc::new(subscription),
        };
        state.open = Some(open.clone());
        Some(open)
    }

    /// Reads the API server: for a while, unless the informer has ended and another one may come.
    fn leave(&self, open: &OpenFeed) {
        self.close();
        if !open.whole.has_ended() {
            self.state.lock().paused_until = Some(Instant::now() + Self::PAUSE);
        }
    }

    /// Reads the API server for now.
    pub(super) fn close(&self) {
        let open = self.state.lock().open.take();
        drop(open);
    }
}

impl OpenFeed {
    fn is_unusable(&self) -> bool {
        self.feed.has_ended() || self.whole.has_problems()
    }

    /// The next step. `None` if the feed has ended.
    async fn next(&self) -> Option<SharedStep> {
        loop {
            match self.feed.poll() {
                FeedPoll::Event(event) => return Some(SharedStep::Event(event)),
                FeedPoll::List => return Some(SharedStep::List),
                FeedPoll::Ended => return None,
                FeedPoll::Wait => self.feed.changed().await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use k8s_openapi::api::core::v1::ConfigMap;
    use tokio::time::sleep;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::cache::{
        SharedInformer,
        fake::{FakeServer, run_ready_tasks},
    };

    /// An informer of whole objects that has synced, and what reads from it.
    struct Shared {
        server: FakeServer,
        whole: SharedInformer<ConfigMap>,
        watch: Arc<SharedWatch>,
        cancel: CancellationToken,
        registered: watch::Sender<()>,
        found: Arc<Mutex<Option<SharedInformer<ConfigMap>>>>,
    }

    impl Shared {
        async fn new(server: FakeServer) -> Self {
            let whole = server.informer();
            let cancel = CancellationToken::new();
            tokio::spawn(whole.run(cancel.clone()));
            assert!(whole.synced().await);
            let (registered, changes) = watch::channel(());
            let found = Arc::new(Mutex::new(Some(whole.clone())));
            let registry = found.clone();
            let find = move || {
                let found = registry.lock().clone();
                let found = found.filter(|whole| !whole.has_ended())?;
                Some(Arc::new(found) as Arc<dyn WholeObjects>)
            };
            Self {
                server,
                whole,
                watch: Arc::new(SharedWatch::new(Box::new(find), changes)),
                cancel,
                registered,
                found,
            }
        }

        fn feed(&self) -> Arc<MetadataFeed> {
            self.watch.state.lock().open.as_ref().unwrap().feed.clone()
        }

        fn offers(&self, reached: &str) -> impl Future<Output = ()> + use<> {
            let (watch, (reached, seen)) = (self.watch.clone(), watch::channel(reached.to_owned()));
            async move {
                watch.offers_list(seen).await;
                drop(reached);
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_informer_that_does_not_get_far_enough_is_left_alone_for_a_while() {
        let server = FakeServer::new();
        server.put("a");
        let shared = Shared::new(server).await;
        let began = Instant::now();
        shared.watch.prepare_list("999").await;
        assert!((SharedWatch::PATIENCE..SharedWatch::PAUSE).contains(&began.elapsed()));
        assert!(shared.watch.list("999").is_none() && !shared.watch.has_list("0"));
        assert!(matches!(shared.watch.watch("1"), SharedStart::Server));
        shared.watch.prepare_list("1").await;
        assert!(!shared.watch.has_list("0"));
        assert!(shared.offers("1").now_or_never().is_none());
        shared.offers("1").await;
        assert!(began.elapsed() >= SharedWatch::PAUSE);
        assert!(matches!(shared.watch.watch("1"), SharedStart::List));
        assert!(shared.watch.list("1").is_some());
        assert!(matches!(shared.watch.watch("1"), SharedStart::Follow(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_of_the_server_ends_only_for_a_list_that_is_as_new() {
        let shared = Shared::new(FakeServer::new()).await;
        let offers = tokio::spawn(shared.offers("2"));
        run_ready_tasks().await;
        shared.server.put("a");
        run_ready_tasks().await;
        assert!(!offers.is_finished(), "version {}", shared.server.version());
        shared.server.put("b");
        run_ready_tasks().await;
        assert!(offers.is_finished(), "version {}", shared.server.version());
        // A list of the server that has begun is read to its end.
        assert!(shared.offers("").now_or_never().is_none());
        assert!(shared.offers("2").now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn an_informer_that_comes_later_is_found() {
        let shared = Shared::new(FakeServer::new()).await;
        shared.server.put("a");
        let late = shared.found.lock().take();
        let offers = tokio::spawn(shared.offers("1"));
        run_ready_tasks().await;
        assert!(!offers.is_finished());
        *shared.found.lock() = late;
        shared.registered.send_replace(());
        run_ready_tasks().await;
        assert!(offers.is_finished());
    }

    #[tokio::test(start_paused = true)]
    async fn an_informer_with_problems_is_not_read() {
        let server = FakeServer::new();
        server.put_undecodable("bad");
        let shared = Shared::new(server).await;
        assert_eq!(shared.whole.status().undecodable, 1);
        let began = Instant::now();
        shared.watch.prepare_list("0").await;
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(!shared.watch.has_list("0"));
        // It loses its good state while it is read.
        shared.server.delete("bad");
        sleep(SharedWatch::PAUSE).await;
        shared.watch.prepare_list("0").await;
        assert!(shared.watch.list("0").is_some());
        assert!(matches!(shared.watch.watch("2"), SharedStart::Follow(_)));
        shared.server.put_undecodable("bad");
        run_ready_tasks().await;
        assert!(matches!(shared.watch.watch("2"), SharedStart::Server));
    }

    #[tokio::test(start_paused = true)]
    async fn a_feed_that_is_behind_ends_no_watch_of_the_server() {
        let shared = Shared::new(FakeServer::new()).await;
        shared.watch.prepare_list("0").await;
        // The watch of the server has come further.
        assert!(matches!(shared.watch.watch("5"), SharedStart::Server));
        (0..5).for_each(|_| shared.server.put("a"));
        run_ready_tasks().await;
        assert!(matches!(shared.watch.watch("5"), SharedStart::List));
        assert!(shared.watch.state.lock().paused_until.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_first_list_that_took_long_is_taken() {
        let server = FakeServer::new();
        server.put("a");
        let shared = Shared::new(server).await;
        let late = shared.server.informer();
        *shared.found.lock() = Some(late.clone());
        let watch = shared.watch.clone();
        let waits = tokio::spawn(async move { watch.prepare_list("0").await });
        sleep(2 * SharedWatch::PATIENCE).await;
        assert!(!waits.is_finished());
        tokio::spawn(late.run(shared.cancel.clone()));
        waits.await.unwrap();
        assert!(shared.watch.has_list("0"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_feed_that_opens_in_the_middle_of_a_list_waits_for_its_end() {
        let server = FakeServer::new();
        (0..3000).for_each(|number| server.put(&format!("o{number}")));
        let shared = Shared::new(server).await;
        for number in 0..3000 {
            shared.server.put(&format!("o{number}"));
        }
        shared.server.mute_watches();
        shared.whole.relist();
        let (mut begun, mut waited) = (0, 0);
        for _ in 0..20 {
            tokio::time::advance(Duration::from_millis(200)).await;
            for _ in 0..20 {
                shared.watch.close();
                let open = shared.watch.open().unwrap();
                let mut list = None;
                // So many parts has the cache for a new listener.
                for _ in 0..10 {
                    yield_now().await;
                    list = list.or_else(|| open.feed.take_list("0"));
                }
                let Some(list) = list else {
                    waited += 1;
                    continue;
                };
                begun += 1;
                let number = |version: &str| version.parse::<u64>().unwrap();
                let version = number(list.resource_version().unwrap());
                let mut objects = list.items.iter();
                let newest =
                    objects.all(|object| number(object.resource_version().unwrap()) <= version);
                assert!(newest, "an object is newer than the list");
            }
        }
        assert!(begun > 0 && waited > 0, "{begun}, {waited}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_informer_that_brings_nothing_is_left() {
        let shared = Shared::new(FakeServer::new()).await;
        shared.watch.prepare_list("0").await;
        assert!(shared.watch.list("0").is_some());
        // Bookmarks keep it in use.
        for _ in 0..5 {
            sleep(SharedWatch::SILENCE / 2).await;
            shared.server.bookmark();
            run_ready_tasks().await;
            assert!(matches!(shared.watch.watch("0"), SharedStart::Follow(_)));
        }
        shared.server.mute_watches();
        sleep(SharedWatch::SILENCE).await;
        assert!(matches!(shared.watch.watch("0"), SharedStart::Server));
    }

    #[tokio::test(start_paused = true)]
    async fn the_newest_version_is_asked_of_the_server() {
        let shared = Shared::new(FakeServer::new()).await;
        shared.watch.prepare_list("0").await;
        let began = Instant::now();
        shared.watch.prepare_list("").await;
        let state = shared.watch.state.lock();
        assert!(state.open.is_none() && state.paused_until.is_none());
        assert_eq!(began.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_begins_in_the_middle_of_a_list() {
        let server = FakeServer::new();
        (0..3000).for_each(|number| server.put(&format!("o{number}")));
        let shared = Shared::new(server).await;
        shared.watch.prepare_list("0").await;
        assert!(shared.watch.list("0").is_some());
        shared.whole.relist();
        let mut lists = 0;
        for _ in 0..20 {
            tokio::time::advance(Duration::from_millis(200)).await;
            // So the other tasks run in turn with this one, also between two batches of the list.
            for _ in 0..1000 {
                if let FeedPoll::List = shared.feed().poll() {
                    lists += 1;
                    assert!(shared.watch.list("0").is_some());
                }
                yield_now().await;
            }
        }
        assert_eq!(lists, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_restored_server_is_asked_and_not_the_other_informer() {
        let server = FakeServer::new();
        server.put("a");
        server.put("b");
        let shared = Shared::new(server).await;
        shared.watch.prepare_list("0").await;
        assert!(shared.watch.list("0").is_some());
        shared.server.restore(1);
        shared.server.bookmark();
        sleep(Duration::from_secs(30)).await;
        assert!(matches!(shared.watch.watch("1"), SharedStart::Server));
        shared.watch.prepare_list("1").await;
        assert!(!shared.watch.has_list("0"));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_stays_with_the_other_informer() {
        let shared = Shared::new(FakeServer::new()).await;
        shared.watch.prepare_list("0").await;
        let feed = shared.feed();
        shared.watch.close();
        run_ready_tasks().await;
        assert!(feed.has_ended());
    }

    #[tokio::test(start_paused = true)]
    async fn an_informer_that_has_ended_is_dropped() {
        let shared = Shared::new(FakeServer::new()).await;
        shared.watch.prepare_list("0").await;
        assert!(shared.watch.list("0").is_some());
        let Shared { watch, .. } = &shared;
        shared.cancel.cancel();
        shared.whole.stopped().await;
        run_ready_tasks().await;
        assert!(shared.feed().has_ended());
        assert!(matches!(watch.watch("1"), SharedStart::Server));
        assert!(watch.state.lock().open.is_none());
        // A list that waits for it asks the server, and another informer may come at any time.
        watch.prepare_list("0").await;
        assert!(!watch.has_list("0") && watch.state.lock().paused_until.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn an_informer_that_never_syncs_keeps_nobody_waiting() {
        let server = FakeServer::new();
        server.put("a");
        let shared = Shared::new(server).await;
        // It is registered, and never runs.
        let idle = shared.server.informer();
        *shared.found.lock() = Some(idle.clone());
        let began = Instant::now();
        shared.watch.prepare_list("0").await;
        assert!(began.elapsed() >= SharedWatch::FIRST_LIST_PATIENCE);
        assert!(!shared.watch.has_list("0"));
        // And it ends while a list waits for it.
        shared.watch.state.lock().paused_until = None;
        let watch = shared.watch.clone();
        let waits = tokio::spawn(async move { watch.prepare_list("0").await });
        run_ready_tasks().await;
        idle.stop();
        run_ready_tasks().await;
        assert!(waits.is_finished());
    }
}
