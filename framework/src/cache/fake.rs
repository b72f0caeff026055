//! A server for tests: it has a history of versions, forgets it when told, breaks its watches, and
//! writes down what it is asked.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use futures_util::{StreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::{sync::mpsc, time::sleep};

pub(crate) use super::fake_errors::*;
use super::{InformerScope, ListBudget, ListerWatcher, SharedInformer};
use crate::{
    client::{
        Change, Error, ListParams, ObjectList, Reachability, Reconnections, WatchEvent,
        WatchParams, WatchStream,
    },
    metrics::Metrics,
    resource::{ApiResource, ObjectKey, OwnerReference, Undecodable},
};

/// An object of that version.
pub(crate) fn object(
    namespace: &str,
    name: &str,
    uid: &str,
    version: u64,
    owners: &[&str],
) -> ConfigMap {
    let mut object = ConfigMap::default();
    let owner = |uid: &&str| OwnerReference {
        uid: uid.to_string(),
        ..OwnerReference::default()
    };
    object.metadata.namespace = Some(namespace.into());
    object.metadata.name = Some(name.into());
    object.metadata.uid = Some(uid.into());
    object.metadata.resource_version = Some(version.to_string());
    object.metadata.owner_references = Some(owners.iter().map(owner).collect());
    object
}

/// An object of that version that does not decode.
pub(crate) fn undecodable(namespace: &str, name: &str, uid: &str, version: u64) -> Undecodable {
    Undecodable {
        resource: ApiResource::of::<ConfigMap>(),
        key: ObjectKey::namespaced(namespace, name),
        uid: Some(uid.into()),
        resource_version: Some(version.to_string()),
        labels: BTreeMap::new(),
        owner_references: Vec::new(),
        reason: "data.x: expected a string".into(),
    }
}

/// Lets everything happen that needs no time.
pub(crate) async fn settle() {
    sleep(Duration::from_millis(1)).await;
}

/// What the server has in one place.
#[derive(Clone, Debug)]
pub(crate) enum Stored {
    Good(ConfigMap),
    Bad(Undecodable),
}

type Message = Result<WatchEvent<ConfigMap>, Error>;

#[derive(Default)]
struct State {
    version: u64,
    next_uid: u64,
    objects: BTreeMap<ObjectKey, Stored>,
    history: Vec<(u64, Stored, Change)>,
    forgotten: u64,
    watchers: Vec<mpsc::UnboundedSender<Option<Message>>>,
    requests: Vec<String>,
    lists: VecDeque<Answer>,
    watch_errors: VecDeque<Error>,
    pages: Vec<(u64, Vec<Stored>)>,
    /// Set when there is no watch cache: lists are paged, and no page is larger than this.
    largest_page: Option<usize>,
    expires_in_stream: bool,
    ignores_timeouts: bool,
    /// All states there ever were, with their versions.
    past: Vec<(u64, BTreeMap<ObjectKey, Stored>)>,
    /// So many lists are answered by a server that is as far behind as it may be.
    stale: usize,
    /// So many events are recorded and never told.
    lost: usize,
    streaming: Streaming,
    stream_faults: VecDeque<StreamFault>,
    /// What becomes of every list.
    list_habit: Option<ListHabit>,
    /// What becomes of every watch that goes on from a version.
    watch_habit: Option<WatchHabit>,
    reachability: Reachability,
}

/// How a server makes a list go on for ever.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ListHabit {
    /// The token of the next page is always the same.
    SameToken,
    /// There is always a next page, with the same object.
    SameObject,
    /// The first page is there, and the second one is forgotten already.
    ForgetsLaterPages,
}

/// How a server makes watches useless.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WatchHabit {
    /// It ends each after a bookmark.
    Bookmark,
    /// It ends each after a change.
    Change,
    /// It has forgotten the version.
    Expired,
    /// It sends the last event again and again.
    Repeats,
}

/// So much is asked of a server only by mistake: then it does not answer any more, so that a test does not run for ever.
const TOO_MUCH: usize = 20_000;

/// What the server makes of a watch that is to begin with the present state.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Streaming {
    /// It is not to be asked.
    #[default]
    Unasked,
    Served,
    /// It answers with an error.
    Refused(fn() -> Error),
    /// It takes no notice of the parameter, so that nothing marks the end of the state.
    Ignored,
}

/// What becomes of a watch that begins with the present state, after so many objects of it.
#[derive(Clone, Debug)]
pub(crate) enum StreamFault {
    /// It ends in order.
    Closes(usize),
    /// It ends with an error.
    Fails(usize, fn() -> Error),
    /// Nothing comes any more.
    Mute(usize),
    /// The end of the state is not marked; changes come.
    Unmarked,
    /// The first object comes again and again.
    Repeats,
}

/// What becomes of a list.
pub(crate) enum Answer {
    Pass,
    Fail(Error),
    /// It never comes.
    Hang,
    /// Decoding it panics.
    Panic,
}

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

    /// The server is asked for watches that begin with the present state, and does that with them.
    pub(crate) fn streaming(self, streaming: Streaming) -> Self {
        self.state().streaming = streaming;
        self
    }

    /// What becomes of the next watches that begin with the present state.
    pub(crate) fn cut_streams(&self, faults: impl IntoIterator<Item = StreamFault>) {
        self.state().stream_faults.extend(faults);
    }

    /// So many of the next lists are answered by a server that is as far behind as it may be.
    pub(crate) fn answer_stale(&self, lists: usize) {
        self.state().stale = lists;
    }

    /// So many of the next events are told to nobody.
    pub(crate) fn lose_events(&self, events: usize) {
        self.state().lost = events;
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
        let metrics = super::progress::metrics_of(metrics, &self.resource);
        SharedInformer::with_budget(self.clone(), InformerScope::all(), metrics, budget)
    }

    /// Creates or changes an object.
    pub(crate) fn put(&self, name: &str) {
        self.change(name, |uid, version| {
            Stored::Good(object(self.place(), name, uid, version, &[]))
        });
    }

    /// Creates or changes an object so that it does not decode.
    pub(crate) fn put_bad(&self, name: &str) {
        self.change(name, |uid, version| {
            Stored::Bad(undecodable(self.place(), name, uid, version))
        });
    }

    fn change(&self, name: &str, make: impl FnOnce(&str, u64) -> Stored) {
        let mut state = self.state();
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
        state.objects.insert(key, stored.clone());
        state.record(version, stored, change);
    }

    pub(crate) fn delete(&self, name: &str) {
        let mut state = self.state();
        let Some(mut stored) = state.objects.remove(&self.key(name)) else {
            return;
        };
        state.version += 1;
        let version = state.version;
        match &mut stored {
            Stored::Good(object) => object.metadata.resource_version = Some(version.to_string()),
            Stored::Bad(object) => object.resource_version = Some(version.to_string()),
        }
        state.record(version, stored, Change::Deleted);
    }

    /// Puts the state of `version` back, as from a backup; watches stay open.
    pub(crate) fn put_back(&self, version: u64) {
        let mut state = self.state();
        let past = state.past.iter().rfind(|(at, _)| *at <= version);
        state.objects = past.map(|(_, objects)| objects.clone()).unwrap_or_default();
        state.version = version;
        state.history.retain(|(at, ..)| *at <= version);
        state.past.retain(|(at, _)| *at <= version);
    }

    /// Creates or changes an object so that it has these data.
    pub(crate) fn put_data(&self, name: &str, data: &str) {
        self.change(name, |uid, version| {
            let mut object = object(self.place(), name, uid, version, &[]);
            object.data = Some([("key".to_owned(), data.to_owned())].into());
            Stored::Good(object)
        });
    }

    /// From now on all lists go like that.
    pub(crate) fn list_habit(&self, habit: ListHabit) {
        self.state().list_habit = Some(habit);
    }

    /// From now on all watches go like that.
    pub(crate) fn watch_habit(&self, habit: WatchHabit) {
        let mut state = self.state();
        state.watch_habit = Some(habit);
        state.watchers.clear();
    }

    /// Another client of the server found it away, and then back again.
    pub(crate) fn come_back(&self) {
        let state = self.state();
        state.reachability.note::<()>(&Err(refused()));
        state.reachability.note(&Ok(()));
    }

    /// Forgets all versions but the present one.
    pub(crate) fn compact(&self) {
        let mut state = self.state();
        state.forgotten = state.version;
        state.history.clear();
        state.pages.clear();
    }

    /// From now on a version that was forgotten is told in the stream, as API servers do it.
    pub(crate) fn expire_in_stream(&self) {
        self.state().expires_in_stream = true;
    }

    /// From now on lists are paged whatever version they ask for.
    pub(crate) fn without_watch_cache(&self, largest_page: usize) {
        self.state().largest_page = Some(largest_page);
    }

    /// Ends all watches in order.
    pub(crate) fn close_watches(&self) {
        self.state().watchers.clear();
    }

    /// Ends all watches with an error.
    pub(crate) fn end_watches(&self, error: fn() -> Error) {
        for watcher in self.state().watchers.drain(..) {
            let _ = watcher.send(Some(Err(error())));
        }
    }

    /// All watches stay open, and nothing comes any more: a connection that died unnoticed.
    pub(crate) fn mute_watches(&self) {
        for watcher in self.state().watchers.drain(..) {
            // The stream that sees this waits for ever.
            let _ = watcher.send(None);
        }
    }

    /// Tells all watches how far the server is.
    pub(crate) fn bookmark(&self) {
        let mut state = self.state();
        let resource_version = state.version.to_string();
        state.send(&|| WatchEvent::Bookmark {
            resource_version: resource_version.clone(),
            initial_events_end: false,
        });
    }

    /// Tells all watches the last event again.
    pub(crate) fn repeat_last_event(&self) {
        let mut state = self.state();
        if let Some((_, stored, change)) = state.history.last().cloned() {
            state.send(&|| event(&stored, change));
        }
    }

    /// The version moves on by a change of something else.
    pub(crate) fn advance(&self) {
        self.state().version += 1;
    }

    /// What becomes of the next lists, page by page; those after them pass.
    pub(crate) fn answer_lists(&self, answers: impl IntoIterator<Item = Answer>) {
        self.state().lists.extend(answers);
    }

    /// From now on watches do not end by themselves.
    pub(crate) fn ignore_timeouts(&self) {
        self.state().ignores_timeouts = true;
    }

    /// No request fails any more but for what the server forgot.
    pub(crate) fn heal(&self) {
        let mut state = self.state();
        state.lists.clear();
        state.watch_errors.clear();
        state.stream_faults.clear();
        (state.stale, state.lost) = (0, 0);
        (state.list_habit, state.watch_habit) = (None, None);
    }

    pub(crate) fn fail_watches(&self, errors: impl IntoIterator<Item = Error>) {
        self.state().watch_errors.extend(errors);
    }

    /// What was asked so far, one line each; it begins anew with every call.
    pub(crate) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state().requests)
    }

    pub(crate) fn open_watches(&self) -> usize {
        let state = self.state();
        state.watchers.iter().filter(|one| !one.is_closed()).count()
    }

    pub(crate) fn version(&self) -> String {
        self.state().version.to_string()
    }

    /// Name and version of all objects, with `!` for those that do not decode.
    pub(crate) fn objects(&self) -> BTreeMap<String, String> {
        let objects = self.state().objects.clone();
        let line = |(key, stored): (ObjectKey, Stored)| {
            let version = match stored {
                Stored::Good(object) => object.metadata.resource_version.unwrap_or_default(),
                Stored::Bad(object) => format!("!{}", object.resource_version.unwrap_or_default()),
            };
            (key.name().to_owned(), version)
        };
        objects.into_iter().map(line).collect()
    }

    /// The namespace of its objects.
    fn place(&self) -> &str {
        self.namespace.as_deref().unwrap_or("default")
    }

    fn key(&self, name: &str) -> ObjectKey {
        ObjectKey::namespaced(self.place(), name)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl State {
    fn record(&mut self, version: u64, stored: Stored, change: Change) {
        self.history.push((version, stored.clone(), change));
        self.past.push((version, self.objects.clone()));
        if self.lost > 0 {
            self.lost -= 1;
            return;
        }
        self.send(&|| event(&stored, change));
    }

    fn send(&mut self, event: &dyn Fn() -> WatchEvent<ConfigMap>) {
        self.watchers
            .retain(|watcher| watcher.send(Some(Ok(event()))).is_ok());
    }

    fn list(&mut self, params: &ListParams) -> Result<ObjectList<ConfigMap>, Error> {
        let (page, offset) = match &params.continue_token {
            Some(token) => {
                let mut numbers = token.split(':').map(|number| number.parse().unwrap());
                (numbers.next().unwrap(), numbers.next().unwrap())
            }
            None => {
                let state = self.state_at(params.resource_version.as_deref(), 0)?;
                self.pages.push(state);
                (self.pages.len() - 1, 0)
            }
        };
        let Some((version, objects)) = self.pages.get(page) else {
            return Err(expired());
        };
        // A watch cache answers from memory, and then all at once.
        let from_memory = params.resource_version.is_some() && self.largest_page.is_none();
        let limit = params.limit.filter(|_| !from_memory);
        let largest = self.largest_page.unwrap_or(usize::MAX);
        let end = limit.map_or(objects.len(), |limit| {
            objects.len().min(offset + largest.min(limit as usize))
        });
        let mut list = ObjectList::default();
        list.metadata.resource_version = Some(version.to_string());
        list.metadata.continue_ = (end < objects.len()).then(|| format!("{page}:{end}"));
        for stored in &objects[offset..end] {
            match stored {
                Stored::Good(object) => list.items.push(object.clone()),
                Stored::Bad(object) => list.undecodable.push(object.clone()),
            }
        }
        let number = self.requests.len();
        list.metadata.continue_ = match self.list_habit {
            None => list.metadata.continue_,
            Some(ListHabit::SameToken) => Some(format!("{page}:0")),
            Some(ListHabit::SameObject) => Some(format!("{page}:0:{number}")),
            Some(ListHabit::ForgetsLaterPages) => Some("1000000:0".into()),
        };
        Ok(list)
    }

    /// The newest state, or any that is not older than `version` and `oldest`.
    fn state_at(
        &mut self,
        version: Option<&str>,
        oldest: u64,
    ) -> Result<(u64, Vec<Stored>), Error> {
        let least: u64 = version.unwrap_or("0").parse().unwrap();
        if least > self.version {
            let text = format!("Too large resource version: {least}");
            return Err(status(504, "Timeout", &text));
        }
        let mut past = self.past.iter();
        if let (1.., Some(_)) = (self.stale, version)
            && let Some((version, objects)) =
                past.find(|(version, _)| *version >= least.max(oldest))
        {
            self.stale -= 1;
            return Ok((*version, objects.values().cloned().collect()));
        }
        Ok((self.version, self.objects.values().cloned().collect()))
    }

    /// Puts the present state at the head of a watch; answers what version it is of, and whether anything
    /// comes after it.
    fn begin_with_state(
        &mut self,
        params: &WatchParams,
        sender: &mpsc::UnboundedSender<Option<Message>>,
    ) -> Result<(u64, bool), Error> {
        // The changes since that state follow it, so they must not be forgotten.
        let (version, objects) =
            self.state_at(params.resource_version.as_deref(), self.forgotten)?;
        if let (Some(StreamFault::Repeats), Some(first)) =
            (self.stream_faults.front(), objects.first())
        {
            for _ in 0..TOO_MUCH {
                let _ = sender.send(Some(Ok(event(first, Change::Added))));
            }
        }
        let fault = self.stream_faults.pop_front();
        let ignored = matches!(self.streaming, Streaming::Ignored);
        let (objects, end) = match &fault {
            Some(StreamFault::Closes(after)) => (&objects[..objects.len().min(*after)], None),
            Some(StreamFault::Fails(after, error)) => {
                let end = Some(Some(Err(error())));
                (&objects[..objects.len().min(*after)], end)
            }
            Some(StreamFault::Mute(after)) => (&objects[..objects.len().min(*after)], Some(None)),
            Some(StreamFault::Unmarked | StreamFault::Repeats) | None => (&*objects, None),
        };
        for stored in objects {
            let _ = sender.send(Some(Ok(event(stored, Change::Added))));
        }
        if let Some(end) = end {
            let _ = sender.send(end);
        }
        if fault.is_none() && !ignored {
            let _ = sender.send(Some(Ok(WatchEvent::Bookmark {
                resource_version: version.to_string(),
                initial_events_end: true,
            })));
        }
        Ok((
            version,
            matches!(
                fault,
                None | Some(StreamFault::Unmarked | StreamFault::Repeats)
            ),
        ))
    }

    fn watch(&mut self, params: &WatchParams) -> Result<WatchStream<ConfigMap>, Error> {
        if let Some(error) = self.watch_errors.pop_front() {
            return Err(error);
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        if params.send_initial_events {
            if let Streaming::Refused(error) = self.streaming {
                return Err(error());
            }
            let (version, goes_on) = self.begin_with_state(params, &sender)?;
            if goes_on {
                self.follow_from(version, sender);
            }
            return Ok(self.stream(params, receiver));
        }
        let version = params.resource_version.as_deref().unwrap_or("0");
        let version: u64 = version.parse().unwrap();
        if let Some(habit) = self.watch_habit {
            match habit {
                WatchHabit::Bookmark => {
                    let _ = sender.send(Some(Ok(WatchEvent::Bookmark {
                        resource_version: self.version.to_string(),
                        initial_events_end: false,
                    })));
                }
                WatchHabit::Change => {
                    self.version += 1;
                    let object = object("default", "changing", "uid", self.version, &[]);
                    let (key, stored) = (
                        ObjectKey::namespaced("default", "changing"),
                        Stored::Good(object),
                    );
                    self.objects.insert(key, stored.clone());
                    let _ = sender.send(Some(Ok(event(&stored, Change::Modified))));
                }
                WatchHabit::Expired => return Err(expired()),
                WatchHabit::Repeats => {
                    let (_, stored, change) = self.history.last().unwrap();
                    for _ in 0..TOO_MUCH {
                        let _ = sender.send(Some(Ok(event(stored, *change))));
                    }
                    self.watchers.push(sender);
                }
            }
            return Ok(self.stream(params, receiver));
        }
        if version < self.forgotten {
            if !self.expires_in_stream {
                return Err(expired());
            }
            let _ = sender.send(Some(Err(expired())));
        } else {
            self.follow_from(version, sender);
        }
        Ok(self.stream(params, receiver))
    }

    fn follow_from(&mut self, version: u64, sender: mpsc::UnboundedSender<Option<Message>>) {
        for (at, stored, change) in &self.history {
            if *at > version {
                let _ = sender.send(Some(Ok(event(stored, *change))));
            }
        }
        self.watchers.push(sender);
    }

    fn stream(
        &self,
        params: &WatchParams,
        receiver: mpsc::UnboundedReceiver<Option<Message>>,
    ) -> WatchStream<ConfigMap> {
        let messages = stream::unfold(receiver, |mut receiver| async move {
            match receiver.recv().await? {
                Some(message) => Some((message, receiver)),
                None => std::future::pending().await,
            }
        });
        let time = params.timeout.filter(|_| !self.ignores_timeouts);
        let end = sleep(time.unwrap_or(Duration::from_secs(1_000_000)));
        WatchStream::new(messages.take_until(end))
    }
}

fn event(stored: &Stored, change: Change) -> WatchEvent<ConfigMap> {
    match (stored.clone(), change) {
        (Stored::Good(object), Change::Added) => WatchEvent::Added(object),
        (Stored::Good(object), Change::Modified) => WatchEvent::Modified(object),
        (Stored::Good(object), Change::Deleted) => WatchEvent::Deleted(object),
        (Stored::Bad(object), change) => WatchEvent::Undecodable { change, object },
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
            let mut state = self.state();
            state.requests.push(line);
            (state.lists.pop_front(), state.requests.len() > TOO_MUCH)
        };
        if is_too_much {
            std::future::pending::<()>().await;
        }
        match answer.unwrap_or(Answer::Pass) {
            Answer::Pass => self.state().list(params),
            Answer::Fail(error) => Err(error),
            Answer::Panic => panic!("on purpose"),
            Answer::Hang => std::future::pending().await,
        }
    }

    async fn watch(&self, params: &WatchParams) -> Result<Self::Watch, Error> {
        let minutes = params.timeout.unwrap().as_secs_f64() / 60.0;
        assert!((5.0..10.0).contains(&minutes) && params.allow_bookmarks);
        let version = params.resource_version.as_deref().unwrap_or("nothing");
        if self.state().requests.len() > TOO_MUCH {
            std::future::pending::<()>().await;
        }
        let mut state = self.state();
        let verb = match params.send_initial_events {
            true => "stream",
            false => "watch",
        };
        state.requests.push(format!("{verb} from {version}"));
        state.watch(params)
    }

    fn reconnections(&self) -> Option<Reconnections> {
        Some(self.state().reachability.reconnections())
    }

    fn streams_lists(&self) -> bool {
        !matches!(self.state().streaming, Streaming::Unasked)
    }

    fn resource(&self) -> &ApiResource {
        &self.resource
    }

    fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }
}
