use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

use super::bucket::{Bucket, BucketId, LastChanges, Objects, SavedBucket};
use super::recent::Recent;
use super::{Batch, Change, Compacted, Encoded, Key, Subscription};
use crate::authentication::Issued;
use crate::disk::{Disk, Record};
use crate::error::ApiError;
use crate::registry::GroupResource;

/// Every object, in one order of changes.
pub(crate) struct Store {
    state: Mutex<State>,
    version: watch::Sender<u64>,
    history: usize,
    recent: Recent,
    /// Where changes are kept; `None` for a store that ends with its process.
    disk: Option<Disk>,
}

struct State {
    version: u64,
    buckets: BTreeMap<GroupResource, Bucket>,
    /// The objects that the disk had at the start, of kinds that are not served yet.
    kept: BTreeMap<GroupResource, Objects>,
    /// The history up to this resource version is unknown: it is that of an earlier process.
    unknown: u64,
}

/// All objects of a moment.
pub(crate) struct Saved {
    /// The resource version of the last write.
    version: u64,
    buckets: BTreeMap<GroupResource, SavedBucket>,
    /// The objects of kinds that are not served.
    kept: BTreeMap<GroupResource, Objects>,
}

impl Saved {
    fn objects(&self) -> Vec<(GroupResource, Key, Arc<Encoded>)> {
        let buckets = self.buckets.iter();
        let served = buckets.map(|(resource, bucket)| (resource, &bucket.objects));
        let objects = served.chain(&self.kept).flat_map(|(resource, objects)| {
            let objects = objects.iter();
            objects.map(|(key, object)| (resource.clone(), key.clone(), object.clone()))
        });
        objects.collect()
    }
}

/// One decoded object with its resource version.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) version: u64,
    pub(crate) encoded: Arc<Encoded>,
    pub(crate) object: Arc<Value>,
}

/// Objects with their keys, as they are stored.
pub(crate) type EncodedSnapshot = Snapshot<(Key, Arc<Encoded>)>;

/// The objects of one kind as they were at one resource version, in key order.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot<T = Entry> {
    pub(crate) version: u64,
    pub(crate) entries: Vec<T>,
}

/// One write. It takes place only if the object is still at the version `expected`; with `None`, only if the object
/// does not exist.
pub(crate) struct Commit<'a> {
    pub(crate) resource: &'a GroupResource,
    pub(crate) key: &'a Key,
    pub(crate) expected: Option<u64>,
    pub(crate) write: Write,
    /// A creation takes place only if this namespace exists and is not being deleted.
    pub(crate) namespace: Option<&'a str>,
}

/// The outcome of a [`Commit`].
pub(crate) enum Write {
    /// The object gets this state.
    Put(Value),
    /// The object is removed. The value is its last state, for watches.
    Remove(Value),
}

/// The reason why nothing was written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CommitError {
    /// The object has another resource version, or exists, or does not exist.
    Conflict,
    /// The namespace does not exist or is being deleted.
    NamespaceUnavailable,
    /// The kind is no longer served.
    NotServed,
    /// The disk cannot be written any more, for this reason.
    NotKept(Arc<str>),
}

impl Store {
    /// An empty store that keeps `history` changes of each kind.
    pub(crate) fn new(history: usize) -> Arc<Self> {
        Self::start(history, 0, BTreeMap::new(), None)
    }

    /// As [`new`](Self::new), with what the disk has. Resource versions count on from `version`. Every change is kept there.
    pub(crate) fn with_disk(
        history: usize,
        disk: Disk,
        version: u64,
        objects: BTreeMap<GroupResource, Objects>,
    ) -> Arc<Self> {
        Self::start(history, version, objects, Some(disk))
    }

    fn start(
        history: usize,
        unknown: u64,
        kept: BTreeMap<GroupResource, Objects>,
        disk: Option<Disk>,
    ) -> Arc<Self> {
        let version = unknown.max(1);
        Arc::new(Self {
            state: Mutex::new(State {
                version,
                buckets: BTreeMap::new(),
                kept,
                unknown,
            }),
            version: watch::Sender::new(version),
            history: history.max(1),
            recent: Recent::default(),
            disk,
        })
    }

    /// Keeps a token of a service account, if there is a disk.
    pub(crate) fn keep_token(&self, token: &str, issued: &Issued) {
        if let Some(disk) = &self.disk {
            disk.keep(Record::Token(token.into(), issued.clone()));
        }
    }

    /// Waits until every change so far is on the disk. Without a disk there is nothing to wait for.
    ///
    /// # Errors
    /// 500 if the disk cannot be written.
    pub(crate) async fn flushed(&self) -> Result<(), ApiError> {
        let Some(disk) = &self.disk else {
            return Ok(());
        };
        disk.flushed().await.map_err(|why| ApiError::not_kept(&why))
    }

    /// The resource version of the last write.
    pub(crate) fn version(&self) -> u64 {
        self.state.lock().version
    }

    /// Waits until the resource version is another one than `version`.
    pub(crate) async fn left(&self, version: u64) {
        let mut changes = self.version.subscribe();
        // The sender lives as long as the store.
        let _ = changes.wait_for(|now| *now != version).await;
    }

    /// Waits until the store has reached `version`.
    pub(crate) async fn reached(&self, version: u64) {
        let mut changes = self.version.subscribe();
        // The sender lives as long as the store.
        let _ = changes.wait_for(|now| *now >= version).await;
    }

    /// Starts to hold a kind, if the store does not hold it already. Returns the bucket of the kind.
    pub(crate) fn open(&self, resource: &GroupResource) -> BucketId {
        let mut state = self.state.lock();
        let State {
            buckets,
            kept,
            unknown,
            ..
        } = &mut *state;
        let bucket = buckets.entry(resource.clone());
        let kept = || Bucket::with(kept.remove(resource).unwrap_or_default(), *unknown);
        bucket.or_insert_with(kept).id
    }

    /// Removes a kind with all its objects, if `bucket` is still its bucket. Its watches end after the last change.
    pub(crate) fn close(&self, resource: &GroupResource, bucket: BucketId) {
        let mut state = self.state.lock();
        let is_same = |held: &Bucket| held.id == bucket;
        if state.buckets.get(resource).is_some_and(is_same)
            && let Some(bucket) = state.buckets.remove(resource)
        {
            bucket.end();
            self.keep(|| Record::Clear(resource.clone()));
        }
    }

    /// All objects as they are now.
    pub(crate) fn save(&self) -> Saved {
        let state = self.state.lock();
        let buckets = state.buckets.iter();
        Saved {
            version: state.version,
            buckets: buckets
                .map(|(resource, bucket)| (resource.clone(), bucket.save()))
                .collect(),
            kept: state.kept.clone(),
        }
    }

    /// Brings back the objects of `saved`, with their resource versions, and removes all others. The counter of resource versions goes on. For
    /// readers the history before it is compacted.
    pub(crate) fn restore(&self, saved: &Saved) {
        let mut state = self.state.lock();
        let version = state.version + 1;
        self.replace(&mut state, saved, version);
    }

    /// As [`restore`](Self::restore), but resource versions count on from those of `saved`, as after etcd was restored from a backup. All
    /// watches end, also those of the controllers.
    pub(crate) fn rewind(&self, saved: &Saved) {
        let mut state = self.state.lock();
        self.replace(&mut state, saved, saved.version);
        // The snapshot may be of another store.
        state.unknown = state.unknown.min(saved.version);
        for bucket in state.buckets.values_mut() {
            bucket.changed = watch::Sender::new(None);
        }
    }

    fn replace(&self, state: &mut State, saved: &Saved, now: u64) {
        let State {
            version,
            buckets,
            kept,
            ..
        } = state;
        *version = now;
        kept.clone_from(&saved.kept);
        for (_, bucket) in
            buckets.extract_if(.., |resource, _| !saved.buckets.contains_key(resource))
        {
            bucket.end();
        }
        for (resource, saved) in &saved.buckets {
            let bucket = buckets.entry(resource.clone());
            let new = || Bucket::with(BTreeMap::new(), 0);
            bucket.or_insert_with(new).restore(saved, *version);
        }
        self.keep(|| Record::Replace(saved.objects(), *version));
        self.version.send_replace(*version);
    }

    /// Ends the watches of a kind and keeps its objects.
    pub(crate) fn end_watches(&self, resource: &GroupResource) {
        let mut state = self.state.lock();
        if let Some(bucket) = state.buckets.get_mut(resource) {
            bucket.changed = watch::Sender::new(None);
        }
    }

    /// An object as JSON.
    pub(crate) fn get_encoded(&self, resource: &GroupResource, key: &Key) -> Option<Arc<Encoded>> {
        let state = self.state.lock();
        state.buckets.get(resource)?.objects.get(key).cloned()
    }

    /// An object, decoded.
    pub(crate) fn get(&self, resource: &GroupResource, key: &Key) -> Option<Entry> {
        let object = self.get_encoded(resource, key)?;
        Some(self.decode(&object))
    }

    fn decode(&self, encoded: &Arc<Encoded>) -> Entry {
        let object = encoded.held().unwrap_or_else(|| {
            let value = encoded.value();
            self.recent.keep(encoded, &value);
            value
        });
        Entry {
            version: encoded.version,
            encoded: encoded.clone(),
            object,
        }
    }

    /// The objects from `start` on, in one namespace or in all, in their current state or in that of `version`. Returns
    /// `None` if the store does not hold the kind.
    ///
    /// # Errors
    /// [`Compacted`] if that state is gone.
    pub(crate) fn list_encoded(
        &self,
        resource: &GroupResource,
        namespace: Option<&str>,
        start: Option<&Key>,
        version: Option<u64>,
    ) -> Option<Result<EncodedSnapshot, Compacted>> {
        let state = self.state.lock();
        let version = version.unwrap_or(state.version);
        let entries = state.buckets.get(resource)?.at(version, namespace, start);
        Some(entries.map(|entries| Snapshot { version, entries }))
    }

    /// As [`list_encoded`](Self::list_encoded), with decoded objects.
    ///
    /// # Errors
    /// [`Compacted`] if that state is gone.
    pub(crate) fn list(
        &self,
        resource: &GroupResource,
        namespace: Option<&str>,
        start: Option<&Key>,
        version: Option<u64>,
    ) -> Option<Result<Snapshot, Compacted>> {
        let listed = self.list_encoded(resource, namespace, start, version)?;
        Some(listed.map(|Snapshot { version, entries }| {
            let entries = entries.iter();
            let entries = entries.map(|(_, object)| self.decode(object)).collect();
            Snapshot { version, entries }
        }))
    }

    /// Writes one object.
    ///
    /// # Errors
    /// [`CommitError`]; nothing is changed then.
    pub(crate) fn commit(&self, commit: Commit<'_>) -> Result<Entry, CommitError> {
        if let Some(why) = self.disk.as_ref().and_then(Disk::failed) {
            return Err(CommitError::NotKept(why));
        }
        let mut state = self.state.lock();
        if let Some(namespace) = commit.namespace
            && !state.accepts(namespace)
        {
            return Err(CommitError::NamespaceUnavailable);
        }
        let version = state.version + 1;
        let bucket = state
            .buckets
            .get_mut(commit.resource)
            .ok_or(CommitError::NotServed)?;
        let before = bucket.objects.get(commit.key).cloned();
        if before.as_ref().map(|before| before.version) != commit.expected {
            return Err(CommitError::Conflict);
        }
        let (object, deleted) = match commit.write {
            Write::Put(object) => (object, false),
            Write::Remove(last) => (last, true),
        };
        let object = versioned(object, version);
        let encoded = Arc::new(Encoded::new(version, &object));
        match deleted {
            true => bucket.objects.remove(commit.key),
            false => bucket.objects.insert(commit.key.clone(), encoded.clone()),
        };
        let change = Change {
            version,
            key: commit.key.clone(),
            before,
            after: (!deleted).then(|| encoded.clone()),
            deleted: deleted.then(|| encoded.clone()),
        };
        bucket.record(change, self.history);
        state.version = version;
        self.keep(|| {
            let (resource, key) = (commit.resource.clone(), commit.key.clone());
            match deleted {
                true => Record::Remove(resource, key, version),
                false => Record::Put(resource, key, encoded.clone()),
            }
        });
        // Sent under the lock, so that versions are announced in order.
        self.version.send_replace(version);
        drop(state);
        self.recent.keep(&encoded, &object);
        Ok(Entry {
            version,
            encoded,
            object,
        })
    }

    /// Hands a change to the disk, if there is one. The state must be locked, so that changes come in their order.
    fn keep(&self, record: impl FnOnce() -> Record) {
        if let Some(disk) = &self.disk {
            disk.keep(record());
        }
    }

    /// The position after `version` in the history of a kind. Returns `None` if the store does not hold the kind.
    ///
    /// # Errors
    /// [`Compacted`] if the history after `version` is gone.
    pub(crate) fn watch(
        self: &Arc<Self>,
        resource: &GroupResource,
        version: u64,
    ) -> Option<Subscription> {
        let mut changed = self.state.lock().buckets.get(resource)?.changed.subscribe();
        // There may be changes already.
        changed.mark_changed();
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
        reader: &watch::Receiver<LastChanges>,
        version: u64,
        until: Option<u64>,
        limit: usize,
    ) -> Option<Result<Batch, Compacted>> {
        let state = self.state.lock();
        let bucket = state.buckets.get(resource)?;
        if !bucket.changed.subscribe().same_channel(reader) {
            // The kind was removed, or its watches were ended, and it exists again.
            return None;
        }
        Some(bucket.since(version, limit).map(|mut changes| {
            let is_whole = changes.len() < limit;
            let until = until.map_or(state.version, |until| until.min(state.version));
            changes.truncate(changes.partition_point(|change| change.version <= until));
            let version = match changes.last() {
                Some(last) if !is_whole => last.version,
                _ => until,
            };
            Batch { changes, version }
        }))
    }

    /// How many objects of each kind there are.
    pub(crate) fn counts(&self) -> Vec<(GroupResource, usize)> {
        let state = self.state.lock();
        let buckets = state.buckets.iter();
        buckets
            .map(|(resource, bucket)| (resource.clone(), bucket.objects.len()))
            .collect()
    }

    /// Compacts the history of every kind.
    pub(crate) fn compact(&self) {
        let mut state = self.state.lock();
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
            .is_some_and(|namespace| !namespace.is_deleting)
    }
}

fn versioned(mut object: Value, version: u64) -> Arc<Value> {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion".into(), version.to_string().into());
    }
    Arc::new(object)
}
