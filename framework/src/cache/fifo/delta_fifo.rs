use std::collections::{HashMap, HashSet, VecDeque, hash_map::Entry};

use crate::resource::ObjectKey;

/// A queue of objects, each with everything that happened to it since it was taken out last: client-go's `DeltaFIFO`.
///
/// The objects leave in the order in which they entered the queue. The deltas of one object stay together and in order.
/// Two deletions of one object that follow each other become one. `T` is the object, usually an `Arc`.
///
/// It is a state machine without threads, tasks or time. A program that wants to merge changes in a source of its own
/// can use it as it is. In an informer, a [`RealFifo`](super::RealFifo) keeps the order of all deltas; with
/// [`InformersBuilder::delta_fifo`](crate::cache::InformersBuilder::delta_fifo) it gathers them by this type.
///
/// ```
/// use pilothouse::{cache::{DeltaFifo, DeltaKind}, resource::ObjectKey};
///
/// let (a, b) = (ObjectKey::cluster("a"), ObjectKey::cluster("b"));
/// let mut fifo = DeltaFifo::new();
/// fifo.add(a.clone(), 1);
/// fifo.add(b, 2);
/// fifo.update(a.clone(), 3);
///
/// let first = fifo.pop().unwrap();
/// let kinds: Vec<_> = first.deltas.iter().map(|delta| delta.kind).collect();
/// assert_eq!((first.key, kinds), (a, vec![DeltaKind::Added, DeltaKind::Updated]));
/// fifo.finish();
/// ```
#[derive(Debug)]
pub struct DeltaFifo<T> {
    items: HashMap<ObjectKey, Vec<ObjectDelta<T>>>,
    /// The keys of `items`, oldest first.
    queue: VecDeque<ObjectKey>,
    /// How many deltas there are.
    deltas: usize,
    populated: bool,
    /// How many objects of the first [`replace`](DeltaFifo::replace) are still in the queue, and they are its first.
    initial: usize,
    /// Objects of the first `replace` were taken out and are being processed.
    in_process: bool,
}

/// What happened to an object in a [`DeltaFifo`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeltaKind {
    /// It was added.
    Added,
    /// It was changed.
    Updated,
    /// It was deleted.
    Deleted,
    /// A [list](DeltaFifo::replace) contained it.
    Replaced,
    /// It is delivered [again](DeltaFifo::resync).
    Sync,
}

/// One thing that happened to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectDelta<T> {
    /// What happened.
    pub kind: DeltaKind,
    /// The object after it happened; after a deletion, its final or its last known state. `None` if the object was
    /// deleted and no state is known.
    pub object: Option<T>,
    /// The object was deleted unseen, so that `object` may not be its final state: client-go's
    /// `DeletedFinalStateUnknown`.
    pub is_tombstone: bool,
}

/// What happened to one object, oldest first. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deltas<T> {
    /// The object.
    pub key: ObjectKey,
    /// What happened to it.
    pub deltas: Vec<ObjectDelta<T>>,
    /// Whether the object belongs to the first [`replace`](DeltaFifo::replace).
    pub initial: bool,
}

/// The objects that the consumer of a [`DeltaFifo`] holds, such as those of a store: client-go's `KeyListerGetter`.
///
/// A [`Snapshot`](crate::cache::Snapshot) and `()`, which holds nothing, implement it.
pub trait KnownObjects<T> {
    /// The keys of all objects.
    fn keys(&self) -> Vec<ObjectKey>;

    /// The object of a key.
    fn get(&self, key: &ObjectKey) -> Option<T>;

    /// Whether there is an object of that key.
    fn contains(&self, key: &ObjectKey) -> bool {
        self.get(key).is_some()
    }
}

impl<T> KnownObjects<T> for () {
    fn keys(&self) -> Vec<ObjectKey> {
        Vec::new()
    }

    fn get(&self, _: &ObjectKey) -> Option<T> {
        None
    }
}

impl<T> ObjectDelta<T> {
    fn of(kind: DeltaKind, object: T) -> Self {
        Self {
            kind,
            object: Some(object),
            is_tombstone: false,
        }
    }

    /// The deletion of an object that nobody saw.
    fn tombstone(last_known: Option<T>) -> Self {
        Self {
            kind: DeltaKind::Deleted,
            object: last_known,
            is_tombstone: true,
        }
    }

    fn is_deletion(&self) -> bool {
        self.kind == DeltaKind::Deleted
    }
}

impl<T> DeltaFifo<T> {
    /// An empty queue.
    pub fn new() -> Self {
        Self {
            items: HashMap::new(),
            queue: VecDeque::new(),
            deltas: 0,
            populated: false,
            initial: 0,
            in_process: false,
        }
    }

    /// Appends that the object was added.
    pub fn add(&mut self, key: ObjectKey, object: T) {
        self.populated = true;
        self.push(key, ObjectDelta::of(DeltaKind::Added, object));
    }

    /// Appends that the object was changed.
    pub fn update(&mut self, key: ObjectKey, object: T) {
        self.populated = true;
        self.push(key, ObjectDelta::of(DeltaKind::Updated, object));
    }

    /// Appends that the object was deleted in this state. Does nothing if neither the queue nor `known` has the object:
    /// its deletion was noticed before, by a list.
    pub fn delete(&mut self, key: ObjectKey, object: T, known: &impl KnownObjects<T>) {
        self.populated = true;
        if self.items.contains_key(&key) || known.contains(&key) {
            self.push(key, ObjectDelta::of(DeltaKind::Deleted, object));
        }
    }

    /// Appends deltas, unless the queue has some of their object. Returns whether it appended them.
    pub fn add_if_absent(&mut self, deltas: Deltas<T>) -> bool {
        self.populated = true;
        let is_absent = !self.items.contains_key(&deltas.key);
        if is_absent {
            self.put_back(deltas);
        }
        is_absent
    }

    /// Puts back deltas that could not be processed. If there are newer ones of the object, they come before these;
    /// otherwise the object becomes the last one of the queue. The queue has not [synced](Self::has_synced) before
    /// deltas of the first list were processed.
    ///
    /// It is called in place of [`finish`](Self::finish).
    pub fn requeue(&mut self, deltas: Deltas<T>) {
        self.put_back(deltas);
        self.finish();
    }

    fn put_back(&mut self, deltas: Deltas<T>) {
        let Deltas {
            key,
            deltas,
            initial,
        } = deltas;
        if initial {
            // The first `initial` keys of the queue are those of the first list.
            self.queue.retain(|queued| *queued != key);
            self.queue.insert(self.initial, key.clone());
            self.initial += 1;
        }
        let newer = match self.items.remove(&key) {
            Some(newer) => newer,
            None => {
                if !initial {
                    self.queue.push_back(key.clone());
                }
                Vec::new()
            }
        };
        self.deltas -= newer.len();
        let mut all = Vec::with_capacity(deltas.len() + newer.len());
        deltas
            .into_iter()
            .chain(newer)
            .for_each(|delta| append(&mut all, delta));
        self.deltas += all.len();
        self.items.insert(key, all);
    }

    /// Appends a whole list. Objects that the queue or `known` has and the list has not are deleted: after the listed
    /// objects, those of the queue first. Their last known state is the newest one of the queue, or that of `known`.
    ///
    /// The first list is the one that must be processed before the queue has [synced](Self::has_synced).
    pub fn replace(
        &mut self,
        objects: impl IntoIterator<Item = (ObjectKey, T)>,
        known: &impl KnownObjects<T>,
    ) where
        T: Clone,
    {
        let mut listed = HashSet::new();
        for (key, object) in objects {
            listed.insert(key.clone());
            self.push(key, ObjectDelta::of(DeltaKind::Replaced, object));
        }
        let queued: Vec<_> = self.queue.iter().cloned().collect();
        for key in queued.into_iter().filter(|key| !listed.contains(key)) {
            let newest = self.items.get(&key).and_then(|deltas| deltas.last());
            let tombstone = ObjectDelta::tombstone(newest.and_then(|delta| delta.object.clone()));
            self.push(key, tombstone);
        }
        for key in known.keys() {
            if !listed.contains(&key) && !self.items.contains_key(&key) {
                let tombstone = ObjectDelta::tombstone(known.get(&key));
                self.push(key, tombstone);
            }
        }
        if !std::mem::replace(&mut self.populated, true) {
            self.initial = self.queue.len();
        }
    }

    /// Appends all objects of `known` that the queue has no deltas of, so that they are processed again.
    pub fn resync(&mut self, known: &impl KnownObjects<T>) {
        for key in known.keys() {
            if !self.items.contains_key(&key)
                && let Some(object) = known.get(&key)
            {
                self.push(key, ObjectDelta::of(DeltaKind::Sync, object));
            }
        }
    }

    /// Takes out the oldest object with all its deltas. Returns `None` if the queue is empty.
    ///
    /// When they have been processed, the caller must call [`finish`](Self::finish), or [`requeue`](Self::requeue) if
    /// that failed.
    pub fn pop(&mut self) -> Option<Deltas<T>> {
        let key = self.queue.pop_front()?;
        let deltas = self.items.remove(&key).unwrap_or_default();
        self.deltas -= deltas.len();
        let initial = self.initial > 0;
        self.initial -= usize::from(initial);
        self.in_process |= initial;
        Some(Deltas {
            key,
            deltas,
            initial,
        })
    }

    /// Reports that the deltas taken out last have been processed.
    pub fn finish(&mut self) {
        self.in_process = false;
    }

    /// Whether the first list has been processed. A queue that was filled without a list counts as synced at once. Once
    /// `true`, it stays `true`.
    pub fn has_synced(&self) -> bool {
        self.populated && self.initial == 0 && !self.in_process
    }

    /// The deltas of an object that are in the queue, oldest first; empty if there are none.
    pub fn get(&self, key: &ObjectKey) -> &[ObjectDelta<T>] {
        self.items.get(key).map_or(&[], Vec::as_slice)
    }

    /// The keys of the objects in the queue, in their order.
    pub fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.queue.iter()
    }

    /// The number of objects in the queue.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// The number of deltas in the queue.
    pub fn deltas(&self) -> usize {
        self.deltas
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn push(&mut self, key: ObjectKey, delta: ObjectDelta<T>) {
        let of_key = match self.items.entry(key) {
            Entry::Occupied(of_key) => of_key.into_mut(),
            Entry::Vacant(absent) => {
                self.queue.push_back(absent.key().clone());
                absent.insert(Vec::new())
            }
        };
        let before = of_key.len();
        append(of_key, delta);
        self.deltas += of_key.len() - before;
    }
}

/// Appends a delta. A deletion after a deletion replaces it, unless only the first knows the final state.
fn append<T>(deltas: &mut Vec<ObjectDelta<T>>, delta: ObjectDelta<T>) {
    match deltas.last_mut() {
        Some(last) if last.is_deletion() && delta.is_deletion() => {
            if !delta.is_tombstone {
                *last = delta;
            }
        }
        _ => deltas.push(delta),
    }
}

impl<T> Default for DeltaFifo<T> {
    fn default() -> Self {
        Self::new()
    }
}
