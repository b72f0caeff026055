use std::{cell::OnceCell, collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::write_log::{ObjectWrites, Stored, WriteLog};
use crate::{
    cache::{Field, InformerScope, Overlay, Snapshot},
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
        for writes in writes {
            self.show(&writes, &mut state, &known, &mut seen);
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
    /// Shows in `seen` what was written and what the cache does not have. `known` are objects that were decoded earlier.
    fn show(
        &self,
        writes: &ObjectWrites,
        state: &mut LastState<P>,
        known: &HashMap<u64, Arc<P>>,
        seen: &mut Option<Snapshot<P>>,
    ) {
        let key = &writes.key;
        let present = seen.as_ref().unwrap_or(&state.seen).entry(key);
        let (uid, version) = (
            present.and_then(|entry| entry.uid()),
            present.and_then(|entry| entry.resource_version()),
        );
        let is_gone = present.is_some() && writes.is_gone(uid, version);
        let is_stored = |stored: &Stored| uid == Some(&stored.uid);
        let is_stored = writes.stored.as_ref().is_some_and(is_stored);
        let (to_show, to_hide) = match &writes.stored {
            None => (None, is_gone),
            Some(Stored { uid, version, .. })
                if has_reached(&state.published, key, uid, version) =>
            {
                (None, is_gone)
            }
            Some(stored) => match self.object(writes, stored, known) {
                Some(object) if self.may_hold(&object, stored) => (Some(object), false),
                Some(_) => (None, is_gone || is_stored),
                None => {
                    writes.miss();
                    (None, is_gone)
                }
            },
        };
        if let Some(object) = to_show {
            state.decoded.insert(writes.number, object.clone());
            seen.get_or_insert_with(|| (*state.seen).clone())
                .show(object);
        } else if to_hide {
            seen.get_or_insert_with(|| (*state.seen).clone()).hide(key);
        }
    }

    /// The stored object, if a read can show it.
    fn object(
        &self,
        writes: &ObjectWrites,
        stored: &Stored,
        known: &HashMap<u64, Arc<P>>,
    ) -> Option<Arc<P>> {
        // Versions that are not numbers have no order: it is not known whether the cache has a later one.
        compare_versions(&stored.version, &stored.version)?;
        if let Some(object) = known.get(&writes.number) {
            return Some(object.clone());
        }
        if writes.resource.version != self.resource.version {
            return None;
        }
        let mut object: P = stored.whole.as_ref()?.read()?;
        object.fill_types(&self.resource);
        Some(Arc::new(object))
    }

    /// Whether the cache may hold the object.
    fn may_hold(&self, object: &P, stored: &Stored) -> bool {
        let whole = OnceCell::new();
        let field = |path: &str| {
            let whole = whole.get_or_init(|| stored.whole.as_ref()?.read::<Value>());
            Field::at(path, whole.as_ref()?)
        };
        let scope = self.scope.as_ref();
        scope.is_none_or(|scope| scope.may_hold(object.metadata(), &field))
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use proptest::prelude::*;

    use super::*;
    use crate::{
        cache::Store,
        client::EncodedObject,
        controller::{
            context::written_objects::write_log::{Answer, Gone},
            state::object_id,
        },
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

    fn answer_of(map: &ConfigMap, is_shown: bool) -> Answer {
        let bytes = || serde_json::to_vec(map).unwrap_or_default();
        Answer::Stored(Stored {
            uid: map.metadata.uid.clone().unwrap_or_default(),
            version: map.metadata.resource_version.clone().unwrap_or_default(),
            whole: is_shown.then(|| EncodedObject::of_json(bytes().into())),
        })
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
            // For each object: the number of the newest change that a read must show.
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
                            let answer = answer_of(&stored, true);
                            log.lock().note(&resource, &key(object), answer, |_| true);
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
                            let (uid, existed) = (uid.unwrap_or_default(), None);
                            let answer = Answer::Gone(Gone { uid, existed });
                            log.lock().note(&resource, &key(object), answer, |_| true);
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

    /// What a read shows after this answer about the object 0, and whether it missed the write.
    fn read_after(answer: Answer, scope: InformerScope) -> (usize, bool) {
        let resource = ApiResource::of::<ConfigMap>();
        let log = Arc::new(Mutex::new(WriteLog::default()));
        log.lock().note(&resource, &key(0), answer, |_| true);
        let overlay = WrittenState::<ConfigMap>::new(log.clone(), &resource, Some(scope.into()));
        let mut store = Store::<ConfigMap>::new();
        store.insert(key(0), Arc::new(map(0, "uid", 1)));
        store.set_resource_version("1");
        store.publish();
        let shown = overlay.over(store.lister().snapshot()).len();
        let object = object_id(&resource, &key(0));
        (shown, log.lock().was_missed(&object))
    }

    #[test]
    fn a_write_that_a_read_cannot_show_is_noted_as_missed() {
        let (all, newer) = (InformerScope::all(), map(0, "uid", 2));
        assert_eq!(read_after(answer_of(&newer, true), all.clone()), (1, false));
        assert_eq!(read_after(answer_of(&newer, false), all.clone()), (1, true));
        let mut unordered = newer;
        unordered.metadata.resource_version = Some("no number".to_owned());
        assert_eq!(read_after(answer_of(&unordered, true), all), (1, true));
    }

    #[test]
    fn an_object_that_leaves_the_selection_is_not_shown() {
        for scope in [
            InformerScope::all().labels("app=web"),
            InformerScope::all().fields("immutable=true"),
            InformerScope::all().namespace("other"),
        ] {
            let answer = answer_of(&map(0, "uid", 2), true);
            assert_eq!(read_after(answer, scope), (0, false));
        }
    }

    /// The server answers a write that took effect earlier only now.
    #[test]
    fn late_answers_bring_nothing_back() {
        let resource = ApiResource::of::<ConfigMap>();
        let gone = |uid: &str| {
            let (uid, existed) = (uid.to_owned(), None);
            Answer::Gone(Gone { uid, existed })
        };
        let cases = [
            // The object was deleted after the write.
            (vec![gone("1"), answer_of(&map(0, "1", 5), true)], vec![]),
            // Another write came after it.
            (
                vec![
                    answer_of(&map(0, "1", 6), true),
                    answer_of(&map(0, "1", 5), true),
                ],
                vec![(0, "6".to_owned())],
            ),
            // The name was given to another object after the deletion.
            (
                vec![answer_of(&map(0, "2", 7), true), gone("1")],
                vec![(0, "7".to_owned())],
            ),
        ];
        for (answers, expected) in cases {
            let log = Arc::new(Mutex::new(WriteLog::default()));
            for answer in answers {
                log.lock().note(&resource, &key(0), answer, |_| true);
            }
            let overlay = WrittenState::<ConfigMap>::new(log, &resource, None);
            let mut store = Store::<ConfigMap>::new();
            store.insert(key(0), Arc::new(map(0, "1", 1)));
            store.set_resource_version("1");
            store.publish();
            assert_eq!(seen(&overlay.over(store.lister().snapshot())), expected);
        }
    }

    /// Objects that the caches have are forgotten, when there are many.
    #[test]
    fn a_call_that_writes_much_keeps_only_what_the_caches_lack() {
        let resource = ApiResource::of::<ConfigMap>();
        let mut log = WriteLog::default();
        for object in 0..1000 {
            let answer = answer_of(&map(object, "uid", 2), true);
            let is_last = |writes: &ObjectWrites| writes.key == key(object);
            log.note(&resource, &key(object), answer, is_last);
        }
        let (_, kept) = log.since(&resource, 0);
        assert!(kept.len() <= 257, "{}", kept.len());
        assert!(kept.iter().any(|one| one.key == key(999)));
    }
}
