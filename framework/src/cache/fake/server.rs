//! The server itself: what tests call, and what a reflector requests.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;

use super::{
    Answer, ListHabit, StreamFault, Streaming, WatchHabit,
    errors::refused,
    objects::{object, undecodable},
    state::{State, Stored, TOO_MUCH, event},
};
use crate::{
    cache::{InformerScope, ListBudget, ListerWatcher, SharedInformer},
    client::{
        Change, Error, ListParams, ObjectList, Reconnections, WatchEvent, WatchParams, WatchStream,
    },
    metrics::Metrics,
    resource::{ApiResource, ObjectKey},
};

#[derive(Clone)]
pub(crate) struct FakeServer {
    resource: ApiResource,
    namespace: Option<String>,
    state: Arc<Mutex<State>>,
}

impl FakeServer {
    pub(crate) fn new() -> Self {
        Self {
            resource: ApiResource::of::<ConfigMap>(),
            namespace: None,
            state: Arc::default(),
        }
    }

    /// The source requests watches that begin with the present state, and the server answers them in this way.
    pub(crate) fn streaming(self, streaming: Streaming) -> Self {
        self.state.lock().streaming = streaming;
        self
    }

    /// Sets how the next watches that begin with the present state fail.
    pub(crate) fn fail_streams(&self, faults: impl IntoIterator<Item = StreamFault>) {
        self.state.lock().stream_faults.extend(faults);
    }

    /// Answers this many of the next lists with the oldest state that is allowed.
    pub(crate) fn answer_stale(&self, lists: usize) {
        self.state.lock().stale = lists;
    }

    /// Sends this many of the next events to no watch.
    pub(crate) fn lose_events(&self, events: usize) {
        self.state.lock().lost = events;
    }

    pub(crate) fn in_namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    pub(crate) fn informer(&self) -> SharedInformer<ConfigMap> {
        self.informer_with(&Metrics::new())
    }

    pub(crate) fn informer_with(&self, metrics: &Metrics) -> SharedInformer<ConfigMap> {
        self.informer_of(metrics, ListBudget::default())
    }

    pub(crate) fn informer_of(
        &self,
        metrics: &Metrics,
        budget: ListBudget,
    ) -> SharedInformer<ConfigMap> {
        let metrics = crate::cache::status::metrics_of(metrics, &self.resource);
        SharedInformer::with_budget(self.clone(), InformerScope::all(), metrics, budget)
    }

    /// Creates or changes an object.
    pub(crate) fn put(&self, name: &str) {
        self.change(name, |uid, version| {
            Stored::Good(object(self.place(), name, uid, version, &[]))
        });
    }

    /// Creates or changes an object, which then does not decode.
    pub(crate) fn put_undecodable(&self, name: &str) {
        self.change(name, |uid, version| {
            Stored::Bad(undecodable(self.place(), name, uid, version))
        });
    }

    fn change(&self, name: &str, make: impl FnOnce(&str, u64) -> Stored) {
        let mut state = self.state.lock();
        state.version += 1;
        let version = state.version;
        let key = self.key(name);
        let (uid, change) = match state.objects.get(&key) {
            Some(Stored::Good(object)) => (object.metadata.uid.clone(), Change::Modified),
            Some(Stored::Bad(object)) => (object.uid.clone(), Change::Modified),
            None => {
                state.next_uid += 1;
                (Some(format!("uid-{}", state.next_uid)), Change::Added)
            }
        };
        let stored = make(&uid.unwrap_or_default(), version);
        state.objects.insert_mut(key, stored.clone());
        state.record(version, stored, change);
    }

    pub(crate) fn delete(&self, name: &str) {
        let mut state = self.state.lock();
        let key = self.key(name);
        let Some(mut stored) = state.objects.get(&key).cloned() else {
            return;
        };
        state.objects.remove_mut(&key);
        state.version += 1;
        let version = state.version;
        match &mut stored {
            Stored::Good(object) => object.metadata.resource_version = Some(version.to_string()),
            Stored::Bad(object) => object.resource_version = Some(version.to_string()),
        }
        state.record(version, stored, Change::Deleted);
    }

    /// Restores the state of `version`, as from a backup. Watches stay open.
    pub(crate) fn restore(&self, version: u64) {
        let mut state = self.state.lock();
        let past = state.past.iter().rfind(|(at, _)| *at <= version);
        state.objects = past.map(|(_, objects)| objects.clone()).unwrap_or_default();
        state.version = version;
        state.history.retain(|(at, ..)| *at <= version);
        state.past.retain(|(at, _)| *at <= version);
    }

    /// Creates or changes an object with these data.
    pub(crate) fn put_data(&self, name: &str, data: &str) {
        self.change(name, |uid, version| {
            let mut object = object(self.place(), name, uid, version, &[]);
            object.data = Some([("key".to_owned(), data.to_owned())].into());
            Stored::Good(object)
        });
    }

    /// From now on all lists behave like this.
    pub(crate) fn list_habit(&self, habit: ListHabit) {
        self.state.lock().list_habit = Some(habit);
    }

    /// From now on all watches behave like this.
    pub(crate) fn watch_habit(&self, habit: WatchHabit) {
        let mut state = self.state.lock();
        state.watch_habit = Some(habit);
        state.watchers.clear();
    }

    /// Another client could not reach the server and then reached it again.
    pub(crate) fn come_back(&self) {
        let state = self.state.lock();
        state.reachability.note::<()>(&Err(refused()));
        state.reachability.note(&Ok(()));
    }

    /// Forgets all versions except the present one.
    pub(crate) fn compact(&self) {
        let mut state = self.state.lock();
        state.forgotten = state.version;
        state.history.clear();
        state.pages.clear();
    }

    /// From now on an expired version is reported within the stream, as API servers do.
    pub(crate) fn expire_in_stream(&self) {
        self.state.lock().expires_in_stream = true;
    }

    /// From now on lists are paged for every resource version.
    pub(crate) fn without_watch_cache(&self, largest_page: usize) {
        self.state.lock().largest_page = Some(largest_page);
    }

    /// Ends all watches in order.
    pub(crate) fn close_watches(&self) {
        self.state.lock().watchers.clear();
    }

    /// The source says that it has a list, which costs nothing.
    pub(crate) fn has_a_list(&self) {
        self.state.lock().has_list = true;
    }

    /// Ends all watches with an error.
    pub(crate) fn end_watches(&self, error: fn() -> Error) {
        for watcher in self.state.lock().watchers.drain(..) {
            let _ = watcher.send(Some(Err(error())));
        }
    }

    /// Keeps all watches open without sending anything, like a connection that died unnoticed.
    pub(crate) fn mute_watches(&self) {
        for watcher in self.state.lock().watchers.drain(..) {
            // The stream that receives this waits forever.
            let _ = watcher.send(None);
        }
    }

    /// Sends the present resource version to all watches.
    pub(crate) fn bookmark(&self) {
        let mut state = self.state.lock();
        let resource_version = state.version.to_string();
        state.send(&|| WatchEvent::Bookmark {
            resource_version: resource_version.clone(),
            initial_events_end: false,
        });
    }

    /// Sends the last event to all watches again.
    pub(crate) fn repeat_last_event(&self) {
        let mut state = self.state.lock();
        if let Some((_, stored, change)) = state.history.last().cloned() {
            state.send(&|| event(&stored, change));
        }
    }

    /// Another kind changes, so that the resource version grows.
    pub(crate) fn advance(&self) {
        self.state.lock().version += 1;
    }

    /// Sets the answers to the next lists, page by page; later lists pass.
    pub(crate) fn answer_lists(&self, answers: impl IntoIterator<Item = Answer>) {
        self.state.lock().lists.extend(answers);
    }

    /// From now on watches do not end by themselves.
    pub(crate) fn ignore_timeouts(&self) {
        self.state.lock().ignores_timeouts = true;
    }

    /// From now on no request fails, except for versions that the server forgot.
    pub(crate) fn heal(&self) {
        let mut state = self.state.lock();
        state.lists.clear();
        state.watch_errors.clear();
        state.stream_faults.clear();
        (state.stale, state.lost) = (0, 0);
        (state.list_habit, state.watch_habit) = (None, None);
    }

    pub(crate) fn fail_watches(&self, errors: impl IntoIterator<Item = Error>) {
        self.state.lock().watch_errors.extend(errors);
    }

    /// The requests since the last call, one line each.
    pub(crate) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().requests)
    }

    pub(crate) fn open_watches(&self) -> usize {
        let state = self.state.lock();
        state.watchers.iter().filter(|one| !one.is_closed()).count()
    }

    pub(crate) fn version(&self) -> String {
        self.state.lock().version.to_string()
    }

    /// Name and version of all objects; `!` marks those that do not decode.
    pub(crate) fn objects(&self) -> BTreeMap<String, String> {
        let objects = self.state.lock().objects.clone();
        let line = |(key, stored): (&ObjectKey, &Stored)| {
            let version = |version: &Option<String>| version.clone().unwrap_or_default();
            let version = match stored {
                Stored::Good(object) => version(&object.metadata.resource_version),
                Stored::Bad(object) => format!("!{}", version(&object.resource_version)),
            };
            (key.name().to_owned(), version)
        };
        objects.iter().map(line).collect()
    }

    /// The namespace of its objects.
    fn place(&self) -> &str {
        self.namespace.as_deref().unwrap_or("default")
    }

    fn key(&self, name: &str) -> ObjectKey {
        ObjectKey::namespaced(self.place(), name)
    }
}

impl ListerWatcher<ConfigMap> for FakeServer {
    type Item = ConfigMap;
    type Watch = WatchStream<ConfigMap>;

    async fn list(&self, params: &ListParams) -> Result<ObjectList<ConfigMap>, Error> {
        let mut line = String::from("list");
        if let Some(version) = &params.resource_version {
            line += &format!(" at {version}");
        }
        if let Some(limit) = params.limit {
            line += &format!(" limit {limit}");
        }
        if params.continue_token.is_some() {
            line += " continue";
        }
        let (answer, is_too_much) = {
            let mut state = self.state.lock();
            state.requests.push(line);
            (state.lists.pop_front(), state.requests.len() > TOO_MUCH)
        };
        if is_too_much {
            std::future::pending::<()>().await;
        }
        match answer.unwrap_or(Answer::Pass) {
            Answer::Pass => self.state.lock().list(params),
            Answer::Fail(error) => Err(error),
            Answer::Panic => panic!("on purpose"),
            Answer::Hang => std::future::pending().await,
        }
    }

    async fn watch(&self, params: &WatchParams) -> Result<Self::Watch, Error> {
        let minutes = params.timeout.unwrap().as_secs_f64() / 60.0;
        assert!((5.0..10.0).contains(&minutes) && params.allow_bookmarks);
        let version = params.resource_version.as_deref().unwrap_or("nothing");
        if self.state.lock().requests.len() > TOO_MUCH {
            std::future::pending::<()>().await;
        }
        let mut state = self.state.lock();
        let verb = match params.send_initial_events {
            true => "stream",
            false => "watch",
        };
        state.requests.push(format!("{verb} from {version}"));
        state.watch(params)
    }

    fn reconnections(&self) -> Option<Reconnections> {
        Some(self.state.lock().reachability.reconnections())
    }

    fn streams_lists(&self) -> bool {
        !matches!(self.state.lock().streaming, Streaming::Unasked)
    }

    fn has_list(&self, _: &str) -> bool {
        self.state.lock().has_list
    }

    fn resource(&self) -> &ApiResource {
        &self.resource
    }

    fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }
}
