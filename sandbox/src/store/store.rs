use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::watch;

use super::bucket::{Bucket, Farewell};
use super::{Batch, Change, Compacted, Key, Subscription};
use crate::registry::GroupResource;
use crate::stack;

/// Every object, in one order of changes.
pub(crate) struct Store {
    state: Mutex<State>,
    version: watch::Sender<u64>,
    history: usize,
}

struct State {
    version: u64,
    buckets: BTreeMap<GroupResource, Bucket>,
}

/// One object with its resource version.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) version: u64,
    pub(crate) object: Arc<Value>,
}

/// Objects of one kind as they were at one resource version, in key order.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) version: u64,
    pub(crate) entries: Vec<Entry>,
}

/// One write that takes place only if the object is still at `expected` (`None`: only if there is none).
pub(crate) struct Commit<'a> {
    pub(crate) resource: &'a GroupResource,
    pub(crate) key: &'a Key,
    pub(crate) expected: Option<u64>,
    pub(crate) write: Write,
    /// Creations are held back unless this namespace is there and not being deleted.
    pub(crate) namespace: Option<&'a str>,
}

/// What a [`Commit`] leaves behind.
pub(crate) enum Write {
    /// This state.
    Put(Value),
    /// Nothing; the value is the last state, which watches are given.
    Remove(Value),
}

/// Why nothing was written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CommitError {
    /// The object is at another resource version, there or gone.
    Raced,
    /// The namespace is not there or is being deleted.
    Namespace,
    /// The kind is not served any more.
    Gone,
}

/// What it holds may be nested deeply.
impl Drop for Store {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let buckets = std::mem::take(&mut state.buckets);
        stack::large(|| drop(buckets));
    }
}

impl Store {
    /// An empty store that keeps `history` changes of each kind.
    pub(crate) fn new(history: usize) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                version: 1,
                buckets: BTreeMap::new(),
            }),
            version: watch::Sender::new(1),
            history: history.max(1),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The resource version of the last write.
    pub(crate) fn version(&self) -> u64 {
        self.state().version
    }

    /// Waits until the store has reached `version`.
    pub(crate) async fn reached(&self, version: u64) {
        let mut changes = self.version.subscribe();
        // The sender lives as long as the store.
        let _ = changes.wait_for(|now| *now >= version).await;
    }

    /// Begins to hold a kind. Nothing happens if it is held.
    pub(crate) fn open(&self, resource: &GroupResource) {
        let mut state = self.state();
        state
            .buckets
            .entry(resource.clone())
            .or_insert_with(Bucket::new);
    }

    /// Drops a kind with all its objects; its watches end after the last change.
    pub(crate) fn close(&self, resource: &GroupResource) {
        if let Some(bucket) = self.state().buckets.remove(resource) {
            bucket.end();
        }
    }

    /// Ends the watches of a kind and leaves its objects.
    pub(crate) fn end_watches(&self, resource: &GroupResource) {
        let mut state = self.state();
        if let Some(bucket) = state.buckets.get_mut(resource) {
            bucket.changed = watch::Sender::new(None);
        }
    }

    pub(crate) fn get(&self, resource: &GroupResource, key: &Key) -> Option<Entry> {
        self.state()
            .buckets
            .get(resource)?
            .objects
            .get(key)
            .cloned()
    }

    /// The objects from `start` on, of one namespace or all, as they are or as they were at `version`.
    /// `None` if the kind is not held.
    ///
    /// # Errors
    /// [`Compacted`] if that is too long ago.
    pub(crate) fn list(
        &self,
        resource: &GroupResource,
        namespace: Option<&str>,
        start: Option<&Key>,
        version: Option<u64>,
    ) -> Option<Result<Snapshot, Compacted>> {
        let state = self.state();
        let version = version.unwrap_or(state.version);
        let entries = state.buckets.get(resource)?.at(version, namespace, start);
        Some(entries.map(|entries| Snapshot { version, entries }))
    }

    /// Writes one object.
    ///
    /// # Errors
    /// [`CommitError`]; then nothing is changed.
    pub(crate) fn commit(&self, commit: Commit<'_>) -> Result<Entry, CommitError> {
        let mut state = self.state();
        if let Some(namespace) = commit.namespace
            && !state.accepts(namespace)
        {
            return Err(CommitError::Namespace);
        }
        let version = state.version + 1;
        let bucket = state
            .buckets
            .get_mut(commit.resource)
            .ok_or(CommitError::Gone)?;
        let before = bucket.objects.get(commit.key);
        if before.map(|entry| entry.version) != commit.expected {
            return Err(CommitError::Raced);
        }
        let (before, before_version) = (
            before.map(|entry| entry.object.clone()),
            commit.expected.unwrap_or(0),
        );
        let (entry, deleted) = match commit.write {
            Write::Put(object) => {
                let entry = Entry {
                    version,
                    object: versioned(object, version),
                };
                bucket.objects.insert(commit.key.clone(), entry.clone());
                (entry, false)
            }
            Write::Remove(last) => {
                bucket.objects.remove(commit.key);
                let object = versioned(last, version);
                (Entry { version, object }, true)
            }
        };
        let change = Change {
            version,
            key: commit.key.clone(),
            before,
            before_version,
            after: (!deleted).then(|| entry.object.clone()),
            deleted: deleted.then(|| entry.object.clone()),
        };
        bucket.record(change, self.history);
        state.version = version;
        // Sent under the lock, so that versions are announced in order.
        self.version.send_replace(version);
        Ok(entry)
    }

    /// A place in the history of a kind, after `version`. `None` if the kind is not held.
    pub(crate) fn watch(
        self: &Arc<Self>,
        resource: &GroupResource,
        version: u64,
    ) -> Option<Subscription> {
        let changed = self.state().buckets.get(resource)?.changed.subscribe();
        Some(Subscription::new(
            self.clone(),
            resource.clone(),
            version,
            changed,
        ))
    }

    pub(super) fn since(
        &self,
        resource: &GroupResource,
        reader: &watch::Receiver<Farewell>,
        version: u64,
        limit: usize,
    ) -> Option<Result<Batch, Compacted>> {
        let state = self.state();
        let bucket = state.buckets.get(resource)?;
        if !bucket.changed.subscribe().same_channel(reader) {
            // The kind went away, or its watches were ended, and it came back.
            return None;
        }
        Some(bucket.since(version, limit).map(|changes| {
            let version = match changes.last() {
                Some(last) if changes.len() == limit => last.version,
                _ => state.version,
            };
            Batch { changes, version }
        }))
    }

    /// Forgets the history of every kind.
    pub(crate) fn compact(&self) {
        let mut state = self.state();
        let version = state.version;
        for bucket in state.buckets.values_mut() {
            bucket.compact(version);
        }
    }
}

impl State {
    fn accepts(&self, namespace: &str) -> bool {
        let bucket = self.buckets.get(&GroupResource::new("", "namespaces"));
        bucket
            .and_then(|bucket| bucket.objects.get(&Key::new(None, namespace)))
            .is_some_and(|entry| {
                entry
                    .object
                    .pointer("/metadata/deletionTimestamp")
                    .is_none()
            })
    }
}

fn versioned(mut object: Value, version: u64) -> Arc<Value> {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion".into(), version.to_string().into());
    }
    Arc::new(object)
}
