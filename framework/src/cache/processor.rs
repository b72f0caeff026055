use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use super::{Batch, Delta, Entry, Event, Store, parts::PartId, transform::Transform};
use crate::resource::{Object, ObjectKey, Undecodable};

/// Turns deltas into changes of a store and into events: the part of client-go's controller loop
/// that decides what happened. Synchronous.
pub(super) struct Processor<K> {
    store: Store<K>,
    transform: Option<Transform<K>>,
    parts: Parts,
    went_back: bool,
}

/// How far one of several reflectors is; their objects are in different namespaces.
struct Part {
    /// `None` is all of them.
    namespace: Option<String>,
    /// During a list: what the store held when it began and the list did not name yet.
    unseen: HashSet<ObjectKey>,
    listing: bool,
    /// The server's state was put back: equal versions do not mean equal content.
    restored: bool,
    /// The version that the collection has after the deltas taken in so far.
    resource_version: String,
}

impl<K: Object> Processor<K> {
    pub(super) fn new(store: Store<K>, transform: Option<Transform<K>>) -> Self {
        Self {
            store,
            transform,
            parts: Parts::default(),
            went_back: false,
        }
    }

    /// Whether, since the last call, a list was older than what had come before it: the server's
    /// state was put back.
    pub(super) fn take_went_back(&mut self) -> bool {
        std::mem::take(&mut self.went_back)
    }

    /// From now on there are deltas of `id`, which reads `namespace` (`None`: all of them).
    pub(super) fn add(&mut self, id: PartId, namespace: Option<String>) {
        self.parts.put(id, Part::new(namespace));
    }

    /// Lets go of a part with all its objects.
    pub(super) fn remove(&mut self, id: PartId) -> Vec<Event<K>> {
        let Some(part) = self.parts.take(id) else {
            return Vec::new();
        };
        let events = self.drop_all(self.keys(&part));
        self.store.publish();
        events
    }

    pub(super) fn store(&self) -> &Store<K> {
        &self.store
    }

    /// Takes in the indexes that were added.
    pub(super) fn take_in_indexes(&mut self) {
        self.store.take_in_indexes();
    }

    /// Applies `batch` to the store, publishes it, and gives the events of it in order.
    pub(super) fn process(&mut self, id: PartId, batch: Batch<K>) -> Vec<Event<K>> {
        let Some(mut part) = self.parts.take(id) else {
            return Vec::new();
        };
        let mut events = Vec::with_capacity(batch.deltas.len());
        for delta in batch.deltas {
            self.apply(&mut part, delta, batch.initial, &mut events);
        }
        self.parts.put(id, part);
        if let Some(version) = self.parts.resource_version() {
            self.store.set_resource_version(version);
        }
        self.store.publish();
        events
    }

    fn keys(&self, part: &Part) -> HashSet<ObjectKey> {
        let objects = self.store.working();
        match &part.namespace {
            None => objects.iter().map(|(key, _)| key.clone()).collect(),
            Some(namespace) => {
                let objects = objects.in_namespace(namespace);
                objects.map(|(key, _)| key.clone()).collect()
            }
        }
    }

    fn drop_all(&mut self, keys: HashSet<ObjectKey>) -> Vec<Event<K>> {
        let mut keys: Vec<_> = keys.into_iter().collect();
        keys.sort_unstable();
        let gone = keys.iter().filter_map(|key| self.store.remove(key));
        gone.map(|entry| vanished(&entry)).collect()
    }

    fn apply(
        &mut self,
        part: &mut Part,
        delta: Delta<K>,
        initial: bool,
        events: &mut Vec<Event<K>>,
    ) {
        match delta {
            Delta::Restored => part.restored = true,
            Delta::ListStarted => {
                part.unseen = self.keys(part);
                part.listing = true;
            }
            Delta::ListEnded { resource_version } => {
                events.extend(self.drop_all(std::mem::take(&mut part.unseen)));
                part.listing = false;
                let order = compare(&resource_version, &part.resource_version);
                self.went_back |= order == Some(Ordering::Less) || part.restored;
                part.restored = false;
                part.resource_version = resource_version;
            }
            Delta::Bookmark { resource_version } => {
                part.resource_version = resource_version;
            }
            Delta::Set(object) => self.set(part, object, initial, events),
            Delta::SetUndecodable(object) => self.set_undecodable(part, *object, events),
            Delta::Deleted(object) => {
                let key = object.key();
                part.unseen.remove(&key);
                part.follow(object.resource_version());
                let entry = self.store.remove(&key);
                events.push(match self.transformed(object) {
                    Ok(object) => Event::Deleted {
                        object,
                        final_state_known: true,
                    },
                    Err(object) => gone(entry, *object),
                });
            }
            Delta::DeletedUndecodable(object) => {
                part.unseen.remove(&object.key);
                part.follow(object.resource_version.as_deref());
                let entry = self.store.remove(&object.key);
                events.push(gone(entry, *object));
            }
        }
    }

    fn set(&mut self, part: &mut Part, new: Arc<K>, initial: bool, events: &mut Vec<Event<K>>) {
        let key = new.key();
        part.unseen.remove(&key);
        part.follow(new.resource_version());
        let old = match self.store.get(&key) {
            // The `Arc` that readers have stays; the new copy goes.
            Some(entry) if !part.restored && same_version(entry, &*new) => return,
            present => present.and_then(Entry::last_object),
        };
        let new = match self.transformed(new) {
            Ok(new) => new,
            Err(object) => return self.set_undecodable(part, *object, events),
        };
        self.store.insert(key, new.clone());
        events.push(match old {
            None => Event::Added {
                object: new,
                initial,
            },
            Some(old) if old.uid() == new.uid() => Event::Updated { old, new },
            Some(old) => Event::Recreated { old, new },
        });
    }

    fn transformed(&self, object: Arc<K>) -> Result<Arc<K>, Box<Undecodable>> {
        match &self.transform {
            Some(transform) => transform.apply(object),
            None => Ok(object),
        }
    }

    fn set_undecodable(
        &mut self,
        part: &mut Part,
        object: Undecodable,
        events: &mut Vec<Event<K>>,
    ) {
        part.unseen.remove(&object.key);
        part.follow(object.resource_version.as_deref());
        let present = self.store.get(&object.key);
        let recreated = present.is_some_and(|entry| {
            object.uid.is_some() && entry.uid().is_some() && object.uid.as_deref() != entry.uid()
        });
        let last = match present {
            Some(entry)
                if entry.undecodable().is_some_and(|old| {
                    **old == object || (!part.restored && is_known(old, &object))
                }) =>
            {
                return;
            }
            Some(entry) if recreated => {
                events.push(vanished(entry));
                None
            }
            Some(entry) => entry.last_object(),
            None => None,
        };
        let object = Arc::new(object);
        self.store.insert_undecodable(object.clone(), last.clone());
        events.push(Event::Undecodable { object, last });
    }
}

#[derive(Default)]
struct Parts(BTreeMap<PartId, Part>);

impl Parts {
    fn put(&mut self, id: PartId, part: Part) {
        self.0.insert(id, part);
    }

    fn take(&mut self, id: PartId) -> Option<Part> {
        self.0.remove(&id)
    }

    /// The version that all have reached; `None` if that cannot be told.
    fn resource_version(&self) -> Option<&str> {
        oldest(self.0.values().map(|part| &*part.resource_version))
    }
}

impl Part {
    fn new(namespace: Option<String>) -> Self {
        Self {
            namespace,
            unseen: HashSet::new(),
            listing: true,
            restored: false,
            resource_version: String::new(),
        }
    }

    /// The collection's version goes with the events, but not with the items of a list: they come
    /// in the order of names.
    fn follow(&mut self, resource_version: Option<&str>) {
        if let (false, Some(version)) = (self.listing, resource_version) {
            self.resource_version.clear();
            self.resource_version.push_str(version);
        }
    }
}

/// The version that all parts have reached; `None` if that cannot be told.
fn oldest<'a>(versions: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut versions = versions.into_iter();
    let first = versions.next().filter(|version| !version.is_empty())?;
    versions.try_fold(first, |oldest, version| {
        Some(match compare(oldest, version)? {
            Ordering::Greater => version,
            Ordering::Less | Ordering::Equal => oldest,
        })
    })
}

/// Which is older, if they are integers (KEP-5504).
pub(super) fn compare(one: &str, other: &str) -> Option<Ordering> {
    let is_number =
        |version: &str| !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
    let both = is_number(one) && is_number(other);
    both.then(|| (one.len(), one).cmp(&(other.len(), other)))
}

fn same_version<K: Object>(entry: &Entry<K>, object: &K) -> bool {
    entry.undecodable().is_none()
        && object.resource_version().is_some()
        && entry.resource_version() == object.resource_version()
        && entry.uid() == object.uid()
}

fn is_known(old: &Undecodable, new: &Undecodable) -> bool {
    new.resource_version.is_some()
        && (&old.uid, &old.resource_version) == (&new.uid, &new.resource_version)
}

/// An object was deleted, and its final state cannot be had.
fn gone<K: Object>(entry: Option<Entry<K>>, object: Undecodable) -> Event<K> {
    match entry {
        Some(entry) => vanished(&entry),
        None => Event::UndecodableDeleted {
            object: Arc::new(object),
        },
    }
}

fn vanished<K: Object>(entry: &Entry<K>) -> Event<K> {
    match (entry.last_object(), entry.object()) {
        (Some(object), _) | (None, Ok(object)) => Event::Deleted {
            object,
            final_state_known: false,
        },
        (None, Err(object)) => Event::UndecodableDeleted { object },
    }
}
