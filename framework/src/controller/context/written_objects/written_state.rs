use std::{cell::OnceCell, cmp::Ordering, collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::write_log::{LastWrite, Outcome, WriteLog};
use crate::{
    cache::{Field, InformerScope, Overlay, Snapshot},
    client::EncodedObject,
    controller::read_your_writes::{compare_versions, has_reached},
    resource::{ApiResource, Object},
};

/// What the state of a cache becomes with the writes of one call that the cache does not have yet.
pub(super) struct WrittenState<P> {
    log: Arc<Mutex<WriteLog>>,
    resource: ApiResource,
    /// Which objects the cache holds, if not all.
    scope: Option<Arc<InformerScope>>,
    /// No foreign code runs under this lock.
    last: Mutex<Option<LastState<P>>>,
}

/// The state that the last read saw.
struct LastState<P> {
    published: Arc<Snapshot<P>>,
    /// The number of the last write in it.
    write: u64,
    seen: Arc<Snapshot<P>>,
    /// The objects of `seen` that are not of the cache, by the number of the write.
    decoded: HashMap<u64, Arc<P>>,
}

impl<P> Clone for LastState<P> {
    fn clone(&self) -> Self {
        Self {
            published: self.published.clone(),
            write: self.write,
            seen: self.seen.clone(),
            decoded: self.decoded.clone(),
        }
    }
}

impl<P> WrittenState<P> {
    pub(super) fn new(
        log: Arc<Mutex<WriteLog>>,
        resource: &ApiResource,
        scope: Option<Arc<InformerScope>>,
    ) -> Self {
        Self {
            log,
            resource: resource.clone(),
            scope,
            last: Mutex::default(),
        }
    }
}

impl<P: Object + DeserializeOwned> Overlay<P> for WrittenState<P> {
    fn over(&self, published: Arc<Snapshot<P>>) -> Arc<Snapshot<P>> {
        let last = self.last.lock().clone();
        let (mut state, known) = match last {
            Some(last) if Arc::ptr_eq(&last.published, &published) => (last, HashMap::new()),
            // The cache may have some of the writes now.
            last => {
                let known = last.map(|last| last.decoded).unwrap_or_default();
                (LastState::of(published), known)
            }
        };
        let (write, writes) = self.log.lock().since(&self.resource, state.write);
        let mut seen = None;
        for write in writes {
            self.show(&write, &mut state, &known, &mut seen);
        }
        state.write = write;
        if let Some(seen) = seen {
            state.seen = Arc::new(seen);
        }
        let seen = state.seen.clone();
        *self.last.lock() = Some(state);
        seen
    }
}

impl<P> LastState<P> {
    fn of(published: Arc<Snapshot<P>>) -> Self {
        Self {
            seen: published.clone(),
            published,
            write: 0,
            decoded: HashMap::new(),
        }
    }
}

impl<P: Object + DeserializeOwned> WrittenState<P> {
    /// Shows a write in `seen`, if the cache does not have it. `known` are objects that were decoded earlier.
    fn show(
        &self,
        write: &LastWrite,
        state: &mut LastState<P>,
        known: &HashMap<u64, Arc<P>>,
        seen: &mut Option<Snapshot<P>>,
    ) {
        let LastWrite { key, uid, .. } = write;
        let present = seen.as_ref().unwrap_or(&state.seen).entry(key);
        let is_there = present.and_then(|entry| entry.uid()) == Some(uid);
        let (version, answer) = match &write.outcome {
            Outcome::Stored { version, answer } => (version, answer),
            Outcome::Gone { existed } => {
                // The cache may still have an older object of that name.
                let held = present.and_then(|entry| entry.resource_version());
                let order = held.zip(existed.as_deref());
                let order = order.and_then(|(held, existed)| compare_versions(held, existed));
                if is_there || order.is_some_and(Ordering::is_lt) {
                    seen.get_or_insert_with(|| (*state.seen).clone()).hide(key);
                }
                return;
            }
        };
        if has_reached(&state.published, key, uid, version) {
            return;
        }
        // Versions that are not numbers have no order: it is not known whether the cache has a later one.
        let is_ordered = compare_versions(version, version).is_some();
        let answer = answer.as_ref().filter(|_| is_ordered);
        let object = match known.get(&write.number()) {
            Some(object) => Some(object.clone()),
            None => answer.and_then(|answer| self.decode(write, answer)),
        };
        let (Some(object), Some(answer)) = (object, answer) else {
            write.miss();
            return;
        };
        if self.may_hold(&object, answer) {
            state.decoded.insert(write.number(), object.clone());
            seen.get_or_insert_with(|| (*state.seen).clone())
                .show(object);
        } else if is_there {
            seen.get_or_insert_with(|| (*state.seen).clone()).hide(key);
        }
    }

    fn decode(&self, write: &LastWrite, answer: &EncodedObject) -> Option<Arc<P>> {
        if write.resource.version != self.resource.version {
            return None;
        }
        let mut object: P = answer.read()?;
        object.fill_types(&self.resource);
        Some(Arc::new(object))
    }

    /// Whether the cache may hold the object.
    fn may_hold(&self, object: &P, answer: &EncodedObject) -> bool {
        let whole = OnceCell::new();
        let field = |path: &str| {
            let whole = whole.get_or_init(|| answer.read::<Value>());
            Field::at(path, whole.as_ref()?)
        };
        let scope = self.scope.as_ref();
        scope.is_none_or(|scope| scope.may_hold(object.metadata(), &field))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use k8s_openapi::api::core::v1::ConfigMap;
    use proptest::prelude::*;

    use super::*;
    use crate::{
        cache::Store,
        resource::{ObjectKey, ObjectMeta},
    };

    /// A change on the server: of one of three objects, by the call or by others.
    #[derive(Clone, Debug)]
    enum Step {
        Store {
            object: usize,
            own: bool,
        },
        Delete {
            object: usize,
            own: bool,
        },
        /// The cache takes in the oldest change that it does not have.
        Watch,
        /// A read.
        Read,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let change = (0..3_usize, any::<bool>());
        let step = prop_oneof![
            3 => change.clone().prop_map(|(object, own)| Step::Store { object, own }),
            1 => change.prop_map(|(object, own)| Step::Delete { object, own }),
            3 => Just(Step::Watch),
            2 => Just(Step::Read),
        ];
        proptest::collection::vec(step, 0..60)
    }

    /// The state of an object after a change: `None` if it is gone.
    #[derive(Clone, Debug)]
    struct Change {
        object: usize,
        version: u64,
        state: Option<ConfigMap>,
    }

    fn key(object: usize) -> ObjectKey {
        ObjectKey::namespaced("default", &format!("o{object}"))
    }

    fn map(object: usize, uid: &str, version: u64) -> ConfigMap {
        ConfigMap {
            metadata: ObjectMeta {
                uid: Some(uid.to_owned()),
                resource_version: Some(version.to_string()),
                namespace: Some("default".to_owned()),
                name: Some(format!("o{object}")),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        }
    }

    fn seen(state: &Snapshot<ConfigMap>) -> Vec<(usize, String)> {
        let version = |object| {
            let map = state.get(&key(object)).unwrap()?;
            Some((object, map.metadata.resource_version.clone()?))
        };
        let seen: Vec<_> = (0..3).filter_map(version).collect();
        assert_eq!(state.len(), seen.len());
        seen
    }

    proptest! {
        /// A read shows of each object the newest state that the cache has or the call wrote.
        #[test]
        fn a_read_is_as_new_as_the_cache_and_as_the_own_writes(steps in steps()) {
            let resource = ApiResource::of::<ConfigMap>();
            let log = Arc::new(Mutex::new(WriteLog::default()));
            let overlay = WrittenState::<ConfigMap>::new(log.clone(), &resource, None);
            let mut store = Store::<ConfigMap>::new();
            let lister = store.lister();
            let (mut server, mut changes) = (vec![None::<ConfigMap>; 3], Vec::<Change>::new());
            let (mut taken, mut version, mut uids) = (0, 0, 0);
            // Of each object the number of the newest change that a read must show.
            let mut known = [None::<usize>; 3];
            for step in steps {
                match step {
                    Step::Store { object, own } => {
                        version += 1;
                        let uid = match &server[object] {
                            Some(present) => present.metadata.uid.clone().unwrap(),
                            None => { uids += 1; format!("uid-{uids}") }
                        };
                        let stored = map(object, &uid, version);
                        server[object] = Some(stored.clone());
                        if own {
                            let answer = Bytes::from(serde_json::to_vec(&stored).unwrap());
                            let outcome = Outcome::Stored {
                                version: version.to_string(),
                                answer: Some(EncodedObject::of_json(answer)),
                            };
                            let write = LastWrite::new(&resource, key(object), uid, outcome);
                            log.lock().note(write, |_| true);
                            known[object] = Some(changes.len());
                        }
                        changes.push(Change { object, version, state: Some(stored) });
                    }
                    Step::Delete { object, own } => {
                        let Some(present) = server[object].take() else { continue };
                        version += 1;
                        let uid = present.metadata.uid.clone();
                        // The call deletes what a read has shown it.
                        let shown = known[object].and_then(|number| changes[number].state.as_ref());
                        if own && shown.is_some_and(|shown| shown.metadata.uid == uid) {
                            let uid = uid.unwrap();
                            let write = LastWrite::new(&resource, key(object), uid, Outcome::Gone { existed: None });
                            log.lock().note(write, |_| true);
                            known[object] = Some(changes.len());
                        }
                        changes.push(Change { object, version, state: None });
                    }
                    Step::Watch => {
                        let Some(change) = changes.get(taken) else { continue };
                        match &change.state {
                            Some(map) => drop(store.insert(key(change.object), Arc::new(map.clone()))),
                            None => drop(store.remove(&key(change.object))),
                        }
                        store.set_resource_version(&change.version.to_string());
                        store.publish();
                        known[change.object] = known[change.object].max(Some(taken));
                        taken += 1;
                    }
                    Step::Read => {
                        let expected: Vec<_> = (0..3)
                            .filter_map(|object| {
                                let state = changes[known[object]?].state.as_ref()?;
                                Some((object, state.metadata.resource_version.clone().unwrap()))
                            })
                            .collect();
                        let state = overlay.over(lister.snapshot());
                        prop_assert_eq!(seen(&state), expected);
                    }
                }
            }
        }
    }

    fn stored(version: &str, answer: Option<&ConfigMap>) -> Outcome {
        let answer =
            answer.map(|object| EncodedObject::of_json(serde_json::to_vec(object).unwrap().into()));
        Outcome::Stored {
            version: version.to_owned(),
            answer,
        }
    }

    /// What a read shows after this write of the object 0, and whether the write was missed.
    fn read_after(outcome: Outcome, scope: InformerScope) -> (usize, bool) {
        let resource = ApiResource::of::<ConfigMap>();
        let log = Arc::new(Mutex::new(WriteLog::default()));
        let write = LastWrite::new(&resource, key(0), "uid".to_owned(), outcome);
        log.lock().note(write, |_| true);
        let overlay = WrittenState::<ConfigMap>::new(log.clone(), &resource, Some(scope.into()));
        let mut store = Store::<ConfigMap>::new();
        store.insert(key(0), Arc::new(map(0, "uid", 1)));
        store.set_resource_version("1");
        store.publish();
        let shown = overlay.over(store.lister().snapshot()).len();
        let object = crate::controller::state::object_id(&resource, &key(0));
        (shown, log.lock().was_missed(&object))
    }

    #[test]
    fn a_write_that_a_read_cannot_show_is_noted_as_missed() {
        let all = InformerScope::all();
        let object = map(0, "uid", 2);
        assert_eq!(
            read_after(stored("2", Some(&object)), all.clone()),
            (1, false)
        );
        assert_eq!(read_after(stored("2", None), all.clone()), (1, true));
        assert_eq!(
            read_after(stored("no number", Some(&object)), all),
            (1, true)
        );
    }

    #[test]
    fn an_object_that_leaves_the_selection_is_not_shown() {
        let object = map(0, "uid", 2);
        let labels = InformerScope::all().labels("app=web");
        assert_eq!(read_after(stored("2", Some(&object)), labels), (0, false));
        let fields = InformerScope::all().fields("immutable=true");
        assert_eq!(read_after(stored("2", Some(&object)), fields), (0, false));
        let elsewhere = InformerScope::all().namespace("other");
        assert_eq!(
            read_after(stored("2", Some(&object)), elsewhere),
            (0, false)
        );
    }
}
