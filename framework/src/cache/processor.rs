use std::{collections::HashSet, sync::Arc};

use super::{Batch, Delta, Entry, Event, Store};
use crate::resource::{Object, ObjectKey, Undecodable};

/// Turns deltas into changes of a store and into events: the part of client-go's controller loop
/// that decides what happened. Synchronous.
pub(super) struct Processor<K> {
    store: Store<K>,
    /// During a list: what the store held when it began and the list did not name yet.
    unseen: HashSet<ObjectKey>,
    listing: bool,
    /// The version that the collection has after the deltas taken in so far.
    resource_version: String,
}

impl<K: Object> Processor<K> {
    pub(super) fn new(store: Store<K>) -> Self {
        Self {
            store,
            unseen: HashSet::new(),
            listing: true,
            resource_version: String::new(),
        }
    }

    pub(super) fn store(&self) -> &Store<K> {
        &self.store
    }

    /// Takes in the indexes that were added.
    pub(super) fn take_in_indexes(&mut self) {
        self.store.take_in_indexes();
    }

    /// Applies `batch` to the store, publishes it, and gives the events of it in order.
    pub(super) fn process(&mut self, batch: Batch<K>) -> Vec<Event<K>> {
        let mut events = Vec::with_capacity(batch.deltas.len());
        for delta in batch.deltas {
            self.apply(delta, batch.initial, &mut events);
        }
        if !self.resource_version.is_empty() {
            self.store.set_resource_version(&self.resource_version);
        }
        self.store.publish();
        events
    }

    fn apply(&mut self, delta: Delta<K>, initial: bool, events: &mut Vec<Event<K>>) {
        match delta {
            Delta::ListStarted => {
                let keys = self.store.working().iter().map(|(key, _)| key.clone());
                self.unseen = keys.collect();
                self.listing = true;
            }
            Delta::ListEnded { resource_version } => {
                let mut gone: Vec<_> = std::mem::take(&mut self.unseen).into_iter().collect();
                gone.sort_unstable();
                for key in gone {
                    events.extend(self.store.remove(&key).as_ref().map(vanished));
                }
                self.listing = false;
                self.resource_version = resource_version;
            }
            Delta::Bookmark { resource_version } => {
                self.resource_version = resource_version;
            }
            Delta::Set(object) => self.set(object, initial, events),
            Delta::SetUndecodable(object) => self.set_undecodable(*object, events),
            Delta::Deleted(object) => {
                let key = object.key();
                self.unseen.remove(&key);
                self.store.remove(&key);
                self.follow(object.resource_version());
                events.push(Event::Deleted {
                    object,
                    final_state_known: true,
                });
            }
            Delta::DeletedUndecodable(object) => {
                self.unseen.remove(&object.key);
                self.follow(object.resource_version.as_deref());
                events.push(match self.store.remove(&object.key) {
                    Some(entry) => vanished(&entry),
                    None => Event::UndecodableDeleted {
                        object: Arc::new(*object),
                    },
                });
            }
        }
    }

    fn set(&mut self, new: Arc<K>, initial: bool, events: &mut Vec<Event<K>>) {
        let key = new.key();
        self.unseen.remove(&key);
        self.follow(new.resource_version());
        let old = match self.store.get(&key) {
            // The `Arc` that readers have stays; the new copy goes.
            Some(entry) if same_version(entry, &*new) => return,
            Some(entry) => entry.last_object(),
            None => None,
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

    fn set_undecodable(&mut self, object: Undecodable, events: &mut Vec<Event<K>>) {
        self.unseen.remove(&object.key);
        self.follow(object.resource_version.as_deref());
        let present = self.store.get(&object.key);
        let recreated = present.is_some_and(|entry| {
            object.uid.is_some() && entry.uid().is_some() && object.uid.as_deref() != entry.uid()
        });
        let last = match present {
            Some(entry)
                if entry
                    .undecodable()
                    .is_some_and(|old| is_known(old, &object)) =>
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

    /// The collection's version goes with the events, but not with the items of a list: they come
    /// in the order of names.
    fn follow(&mut self, resource_version: Option<&str>) {
        if let (false, Some(version)) = (self.listing, resource_version) {
            self.resource_version.clear();
            self.resource_version.push_str(version);
        }
    }
}

fn same_version<K: Object>(entry: &Entry<K>, object: &K) -> bool {
    entry.undecodable().is_none()
        && object.resource_version().is_some()
        && entry.resource_version() == object.resource_version()
        && entry.uid() == object.uid()
}

fn is_known(old: &Undecodable, new: &Undecodable) -> bool {
    let same_version = new.resource_version.is_some()
        && (&old.uid, &old.resource_version) == (&new.uid, &new.resource_version);
    same_version || old == new
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
