use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use super::{namespace_partitions::PartitionId, transform::Transform};
use crate::{
    cache::{Batch, Delta, Entry, Event, Store, resource_version::compare},
    resource::{Object, ObjectKey, Undecodable},
};

/// Turns deltas into changes of a store and into events: the part of client-go's controller loop that decides what
/// happened. Synchronous.
pub(in crate::cache) struct Processor<K> {
    store: Store<K>,
    transform: Option<Transform<K>>,
    partitions: PartitionStates,
    went_back: bool,
}

/// How far one of several reflectors is. The objects of the reflectors lie in different namespaces.
struct PartitionState {
    /// `None` means all namespaces.
    namespace: Option<String>,
    /// During a list: the keys that the store held when the list began, and that the list has not contained so far.
    unseen: HashSet<ObjectKey>,
    listing: bool,
    /// The deltas come in another order than that of their versions, so that only marks tell the collection's version.
    gathered: bool,
    /// The server's state was restored: equal versions may have different content.
    restored: bool,
    /// The resource version of the collection after the deltas that were applied so far.
    resource_version: String,
}

impl<K: Object> Processor<K> {
    pub(in crate::cache) fn new(store: Store<K>, transform: Option<Transform<K>>) -> Self {
        Self {
            store,
            transform,
            partitions: PartitionStates::default(),
            went_back: false,
        }
    }

    /// Whether, since the last call, a list was older than what had arrived before: the server's state was restored.
    pub(super) fn take_went_back(&mut self) -> bool {
        std::mem::take(&mut self.went_back)
    }

    /// Whether a list of any partition is in progress or has to come.
    pub(super) fn is_listing(&self) -> bool {
        let mut partitions = self.partitions.0.values();
        partitions.any(|partition| partition.listing)
    }

    /// Adds a partition. From now on there are deltas of `id`, which reads `namespace` (`None` means all namespaces).
    pub(in crate::cache) fn add(&mut self, id: PartitionId, namespace: Option<String>) {
        self.partitions.put(id, PartitionState::new(namespace));
    }

    /// Removes a partition with all its objects.
    pub(in crate::cache) fn remove(&mut self, id: PartitionId) -> Vec<Event<K>> {
        let Some(partition) = self.partitions.take(id) else {
            return Vec::new();
        };
        let events = self.drop_all(self.keys(&partition));
        self.store.publish();
        events
    }

    pub(in crate::cache) fn store(&self) -> &Store<K> {
        &self.store
    }

    /// Builds the indexes that were added.
    pub(in crate::cache) fn take_in_indexes(&mut self) {
        self.store.take_in_indexes();
    }

    /// Applies `batch` to the store and publishes it. Returns the events of the batch in order.
    pub(in crate::cache) fn process(&mut self, id: PartitionId, batch: Batch<K>) -> Vec<Event<K>> {
        let Some(mut partition) = self.partitions.take(id) else {
            return Vec::new();
        };
        partition.gathered = batch.gathered;
        let mut events = Vec::with_capacity(batch.deltas.len());
        for delta in batch.deltas {
            self.apply(&mut partition, delta, batch.initial, &mut events);
        }
        self.partitions.put(id, partition);
        if let Some(version) = self.partitions.resource_version() {
            self.store.set_resource_version(version);
        }
        self.store.publish();
        events
    }

    fn keys(&self, partition: &PartitionState) -> HashSet<ObjectKey> {
        let objects = self.store.working();
        match &partition.namespace {
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
        gone.map(Event::of_unseen_deletion).collect()
    }

    fn apply(
        &mut self,
        partition: &mut PartitionState,
        delta: Delta<K>,
        initial: bool,
        events: &mut Vec<Event<K>>,
    ) {
        match delta {
            Delta::Restored => partition.restored = true,
            Delta::ListStarted => {
                partition.unseen = self.keys(partition);
                partition.listing = true;
            }
            Delta::ListEnded { resource_version } => {
                events.extend(self.drop_all(std::mem::take(&mut partition.unseen)));
                partition.listing = false;
                let order = compare(&resource_version, &partition.resource_version);
                self.went_back |= order == Some(Ordering::Less) || partition.restored;
                partition.restored = false;
                partition.resource_version = resource_version;
            }
            Delta::Bookmark { resource_version } => {
                partition.resource_version = resource_version;
            }
            Delta::Set(object) => self.set(partition, object, initial, events),
            Delta::SetUndecodable(object) => {
                self.set_undecodable(partition, *object, initial, events);
            }
            Delta::Deleted(object) => {
                let key = object.key();
                partition.unseen.remove(&key);
                partition.follow(object.resource_version());
                let entry = self.store.remove(&key);
                let object = object.into_object().map_err(unshared);
                let object = object.and_then(|object| self.transformed(object));
                events.push(match object {
                    Ok(object) => Event::Deleted {
                        object: object.into(),
                        final_state_known: true,
                    },
                    Err(object) => gone(entry, *object),
                });
            }
            Delta::DeletedUndecodable(object) => {
                partition.unseen.remove(&object.key);
                partition.follow(object.resource_version.as_deref());
                let entry = self.store.remove(&object.key);
                events.push(gone(entry, *object));
            }
        }
    }

    fn set(
        &mut self,
        partition: &mut PartitionState,
        new: Entry<K>,
        initial: bool,
        events: &mut Vec<Event<K>>,
    ) {
        let key = new.key();
        // Outside of a list the set is empty. Then it would hash the key for nothing.
        if !partition.unseen.is_empty() {
            partition.unseen.remove(&key);
        }
        partition.follow(new.resource_version());
        let present = self.store.get(&key);
        if !partition.restored && present.is_some_and(|entry| same_version(entry, &new)) {
            // The readers' `Arc` stays, and the new copy is dropped.
            return;
        }
        let new = match self.prepared(new) {
            Ok(new) => new,
            Err(object) => return self.set_undecodable(partition, *object, initial, events),
        };
        let old = self.store.insert_entry(key, new.clone());
        // If the object came decoded, the event has it so, even if the store packs it.
        events.push(Event::of_change(old, new, initial));
    }

    /// The object as it is to be stored. It is decoded only if a transform or an index needs that.
    fn prepared(&self, new: Entry<K>) -> Result<Entry<K>, Box<Undecodable>> {
        if self.transform.is_some() {
            let object = new.into_object().map_err(unshared)?;
            return self.transformed(object).map(Entry::from);
        }
        if new.stored_object().is_none() && self.store.working().indexes_objects() {
            new.object().map_err(unshared)?;
        }
        Ok(new)
    }

    /// Marks the places of objects that turned out not to decode after they were stored. The last version that decoded is
    /// known for those that the last `events` brought. Returns the objects that are marked now; readers see the marks after
    /// the call.
    pub(in crate::cache) fn mark_undecodable(
        &mut self,
        failed: Vec<Arc<Undecodable>>,
        events: &[Event<K>],
    ) -> Vec<Arc<Undecodable>> {
        let mut marked = Vec::new();
        for object in failed {
            let entry = self.store.get(&object.key);
            let is_present = entry
                .filter(|entry| !entry.is_place())
                .and_then(Entry::undecodable)
                .is_some_and(|present| Arc::ptr_eq(present, &object));
            if is_present {
                let last = events.iter().rev().find_map(|event| match event {
                    Event::Updated { old, new } if new.key() == object.key => old.last_object(),
                    _ => None,
                });
                self.store.insert_undecodable(object.clone(), last);
                marked.push(object);
            }
        }
        if !marked.is_empty() {
            self.store.publish();
        }
        marked
    }

    fn transformed(&self, object: Arc<K>) -> Result<Arc<K>, Box<Undecodable>> {
        match &self.transform {
            Some(transform) => transform.apply(object),
            None => Ok(object),
        }
    }

    fn set_undecodable(
        &mut self,
        partition: &mut PartitionState,
        object: Undecodable,
        initial: bool,
        events: &mut Vec<Event<K>>,
    ) {
        partition.unseen.remove(&object.key);
        partition.follow(object.resource_version.as_deref());
        let present = self.store.get(&object.key);
        let known = present
            .and_then(Entry::undecodable)
            .is_some_and(|old| **old == object || (!partition.restored && is_known(old, &object)));
        if known {
            return;
        }
        let same_object = present.filter(|old| !old.is_replaced_by(object.uid.as_deref()));
        let last = same_object.and_then(Entry::last_object);
        let object = Arc::new(object);
        let new = Entry::of_undecodable(object.clone(), last.clone());
        let old = self.store.insert_undecodable(object, last);
        events.push(Event::of_change(old, new, initial));
    }
}

#[derive(Default)]
struct PartitionStates(BTreeMap<PartitionId, PartitionState>);

impl PartitionStates {
    fn put(&mut self, id: PartitionId, partition: PartitionState) {
        self.0.insert(id, partition);
    }

    fn take(&mut self, id: PartitionId) -> Option<PartitionState> {
        self.0.remove(&id)
    }

    /// The resource version that all partitions have reached. Returns `None` if that is unknown.
    fn resource_version(&self) -> Option<&str> {
        oldest(
            self.0
                .values()
                .map(|partition| &*partition.resource_version),
        )
    }
}

impl PartitionState {
    fn new(namespace: Option<String>) -> Self {
        Self {
            namespace,
            unseen: HashSet::new(),
            listing: true,
            gathered: false,
            restored: false,
            resource_version: String::new(),
        }
    }

    /// Follows the resource version of an event. The items of a list come in the order of their names, so that the
    /// resource version does not follow them.
    fn follow(&mut self, resource_version: Option<&str>) {
        let is_ordered = !self.listing && !self.gathered;
        if let (true, Some(version)) = (is_ordered, resource_version) {
            self.resource_version.clear();
            self.resource_version.push_str(version);
        }
    }
}

/// The oldest of the versions, which all partitions have reached. Returns `None` if the versions cannot be compared.
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

fn same_version<K: Object>(entry: &Entry<K>, object: &Entry<K>) -> bool {
    // An object that did not decode may do so when it comes decoded, and not when the same bytes come again.
    (!entry.is_place() || object.stored_object().is_none())
        && object.resource_version().is_some()
        && entry.resource_version() == object.resource_version()
        && entry.uid() == object.uid()
}

fn unshared(object: Arc<Undecodable>) -> Box<Undecodable> {
    Box::new(Arc::unwrap_or_clone(object))
}

fn is_known(old: &Undecodable, new: &Undecodable) -> bool {
    new.resource_version.is_some()
        && (&old.uid, &old.resource_version) == (&new.uid, &new.resource_version)
}

/// The event of a deleted object whose final state does not decode. The store had `entry`.
fn gone<K: Object>(entry: Option<Entry<K>>, final_state: Undecodable) -> Event<K> {
    match entry {
        Some(entry) => Event::of_unseen_deletion(entry),
        None => Event::Deleted {
            object: Entry::of_undecodable(Arc::new(final_state), None),
            final_state_known: true,
        },
    }
}
