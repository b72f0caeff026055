use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt, stream};
use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use crate::{
    cache::{InformerScope, ListerWatcher},
    client::{Error, ListParams, ObjectList, WatchEvent, WatchParams, WatchStream},
    controller::tests::world::World,
    resource::{ApiResource, ObjectKey, Resource, Status},
};

/// The number of changes that the server keeps for watches that are opened again.
const HISTORY: usize = 200;

/// The collection of one kind on a server that fails, forgets and delays on request.
pub(in crate::controller::tests) struct Server<K> {
    resource: ApiResource,
    state: Arc<Mutex<State<K>>>,
}

struct State<K> {
    version: u64,
    uids: u64,
    objects: BTreeMap<ObjectKey, K>,
    history: VecDeque<(u64, WatchEvent<K>)>,
    watchers: Vec<mpsc::UnboundedSender<(Instant, WatchEvent<K>)>>,
    failing_until: Instant,
    late_until: Instant,
}

impl<K: Resource> Server<K> {
    pub(in crate::controller::tests) fn new() -> Self {
        let now = Instant::now();
        Self {
            resource: ApiResource::of::<K>(),
            state: Arc::new(Mutex::new(State {
                version: 1,
                uids: 0,
                objects: BTreeMap::new(),
                history: VecDeque::new(),
                watchers: Vec::new(),
                failing_until: now,
                late_until: now,
            })),
        }
    }

    /// Makes the collection readable for the informers of `world`.
    pub(in crate::controller::tests) fn serve(&self, world: &World) {
        let (resource, source) = (self.resource.clone(), self.clone());
        let scope = InformerScope::all();
        world
            .informers
            .of_source::<K, _>(resource, scope, move |_| source.clone());
    }

    /// Creates `object`. Returns `false` if an object of that name exists.
    pub(in crate::controller::tests) fn create(&self, mut object: K) -> bool {
        let mut state = self.state.lock();
        if state.objects.contains_key(&object.key()) {
            return false;
        }
        state.uids += 1;
        object.metadata_mut().uid = Some(format!("{}-{}", K::KIND, state.uids));
        state.put(object, WatchEvent::Added);
        true
    }

    /// Replaces an object by `object`. Returns `false` if the version of `object` is not the newest.
    pub(in crate::controller::tests) fn update(&self, object: K) -> bool {
        let mut state = self.state.lock();
        let newest = state.objects.get(&object.key());
        if newest.and_then(K::resource_version) != object.resource_version() {
            return false;
        }
        state.put(object, WatchEvent::Modified);
        true
    }

    /// Replaces the object by `object`, or creates it. Returns the stored object.
    pub(in crate::controller::tests) fn apply(&self, mut object: K) -> K {
        let mut state = self.state.lock();
        let Some(before) = state.objects.get(&object.key()).cloned() else {
            drop(state);
            let key = object.key();
            self.create(object);
            return self.get(&key).unwrap();
        };
        object.metadata_mut().uid = before.metadata().uid.clone();
        object.metadata_mut().resource_version = before.metadata().resource_version.clone();
        if object.metadata() == before.metadata() {
            return before;
        }
        state.put(object, WatchEvent::Modified);
        let key = before.key();
        state.objects[&key].clone()
    }

    pub(in crate::controller::tests) fn delete(&self, key: &ObjectKey) {
        let mut state = self.state.lock();
        let Some(mut object) = state.objects.remove(key) else {
            return;
        };
        state.version += 1;
        object.metadata_mut().resource_version = Some(state.version.to_string());
        state.tell(WatchEvent::Deleted(object));
    }

    pub(in crate::controller::tests) fn get(&self, key: &ObjectKey) -> Option<K> {
        self.state.lock().objects.get(key).cloned()
    }

    pub(in crate::controller::tests) fn all(&self) -> Vec<K> {
        self.state.lock().objects.values().cloned().collect()
    }

    /// Ends all watches. With `forgets` they cannot continue from their last version.
    pub(in crate::controller::tests) fn end_watches(&self, forgets: bool) {
        let mut state = self.state.lock();
        state.watchers.clear();
        if forgets {
            state.version += 1;
            state.history.clear();
        }
    }

    /// Answers lists and watches with 500 for a while.
    pub(in crate::controller::tests) fn fail_for(&self, time: Duration) {
        self.state.lock().failing_until = Instant::now() + time;
    }

    /// Delays the events of the next period to its end.
    pub(in crate::controller::tests) fn delay_for(&self, time: Duration) {
        self.state.lock().late_until = Instant::now() + time;
    }

    fn error(&self, verb: &'static str, code: u16, reason: &str) -> Error {
        let status = Status {
            reason: reason.into(),
            ..Status::from_code(code, "as the test wants it")
        };
        Error::api(verb, self.resource.qualified_plural(), status)
    }

    fn answering(&self, verb: &'static str) -> Result<MutexGuard<'_, State<K>>, Error> {
        let state = self.state.lock();
        match Instant::now() < state.failing_until {
            true => Err(self.error(verb, 500, "InternalError")),
            false => Ok(state),
        }
    }
}

impl<K: Resource> State<K> {
    fn put(&mut self, mut object: K, event: fn(K) -> WatchEvent<K>) {
        self.version += 1;
        object.metadata_mut().resource_version = Some(self.version.to_string());
        self.objects.insert(object.key(), object.clone());
        self.tell(event(object));
    }

    fn tell(&mut self, event: WatchEvent<K>) {
        let due = self.late_until.max(Instant::now());
        self.watchers
            .retain(|watcher| watcher.send((due, event.clone())).is_ok());
        self.history.push_back((self.version, event));
        if self.history.len() > HISTORY {
            self.history.pop_front();
        }
    }
}

impl<K> Clone for Server<K> {
    fn clone(&self) -> Self {
        Self {
            resource: self.resource.clone(),
            state: self.state.clone(),
        }
    }
}

impl<K: Resource> ListerWatcher<K> for Server<K> {
    type Item = K;
    type Watch = WatchStream<K>;

    async fn list(&self, _: &ListParams) -> Result<ObjectList<K>, Error> {
        let state = self.answering("list")?;
        let mut list = ObjectList::default();
        list.metadata.resource_version = Some(state.version.to_string());
        list.items = state.objects.values().cloned().collect();
        Ok(list)
    }

    async fn watch(&self, params: &WatchParams) -> Result<WatchStream<K>, Error> {
        if params.send_initial_events {
            return Err(self.error("watch", 422, "Invalid"));
        }
        let mut state = self.answering("watch")?;
        let from = params.resource_version.as_deref().unwrap_or_default();
        let from: u64 = from.parse().unwrap_or_default();
        let oldest = state.history.front().map_or(state.version + 1, |one| one.0);
        if from + 1 < oldest {
            return Err(self.error("watch", 410, "Expired"));
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        let due = state.late_until;
        for (version, event) in &state.history {
            if *version > from {
                sender.send((due, event.clone())).ok();
            }
        }
        state.watchers.push(sender);
        let events = stream::unfold(receiver, |mut receiver| async move {
            let (due, event) = receiver.recv().await?;
            sleep_until(due).await;
            Some((Ok(event), receiver))
        });
        Ok(WatchStream::new(events.boxed()))
    }

    fn resource(&self) -> &ApiResource {
        &self.resource
    }

    fn namespace(&self) -> Option<&str> {
        None
    }
}
