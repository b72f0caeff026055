use std::{collections::HashMap, mem, sync::Arc};

use super::{Bucket, Change};

/// The other versions of the buckets of all tables. They belong to the writer, and no reader gets one.
///
/// Between two publications a back buffer lacks what the writer has changed meanwhile.
pub(in crate::cache::store) struct BackBuffers<V> {
    /// By namespace, and then by the index of the bucket.
    tables: HashMap<Arc<str>, Vec<Option<BackBuffer<V>>>>,
    /// The buckets that have changed since the last publication.
    changed: Vec<(Arc<str>, usize)>,
}

/// Another version of a bucket.
struct BackBuffer<V> {
    bucket: Arc<Bucket<V>>,
    /// The changes that it lacks.
    pending: Vec<Change<V>>,
}

impl<V> BackBuffers<V> {
    /// A bucket with so few rows has no back buffer: it is copied. So a namespace with few objects takes little memory.
    const FEW_ROWS: usize = 8;

    /// Changes a bucket. If a snapshot has it, its back buffer is changed and takes its place, or a copy.
    ///
    /// The writer of a table must make all changes with the same `BackBuffers`, or those in use would lack some.
    pub(super) fn change(
        &mut self,
        namespace: &Arc<str>,
        index: usize,
        bucket: &mut Arc<Bucket<V>>,
        change: Change<V>,
    ) {
        let is_shared = Arc::get_mut(bucket).is_none();
        let is_small = bucket.len() <= Self::FEW_ROWS;
        let buffers = match is_shared && !is_small {
            true => {
                self.changed.push((namespace.clone(), index));
                let buffers = self.tables.entry(namespace.clone()).or_default();
                buffers.resize_with(buffers.len().max(index + 1), || None);
                Some(buffers)
            }
            false => self.tables.get_mut(namespace),
        };
        if let Some(buffer) = buffers.and_then(|buffers| buffers.get_mut(index)) {
            match (is_shared, is_small) {
                (true, true) => *buffer = None,
                (true, false) => BackBuffer::swap(buffer, bucket),
                (false, _) => {}
            }
            BackBuffer::note(buffer, &change);
        }
        // If a snapshot still has the bucket, this copies it.
        Arc::make_mut(bucket).apply(change);
    }

    /// Discards the back buffer of a bucket whose rows have moved.
    pub(super) fn discard(&mut self, namespace: &str, index: usize) {
        let buffers = self.tables.get_mut(namespace);
        if let Some(buffer) = buffers.and_then(|buffers| buffers.get_mut(index)) {
            *buffer = None;
        }
    }

    /// Discards the back buffers of a table.
    pub(in crate::cache::store) fn discard_table(&mut self, namespace: &str) {
        self.tables.remove(namespace);
    }

    /// Applies the pending changes. Call this after the publication: only readers can have the snapshot before then. A back buffer
    /// that one of them has is left to it.
    pub(in crate::cache::store) fn apply_pending(&mut self) {
        for (namespace, index) in mem::take(&mut self.changed) {
            let buffers = self.tables.get_mut(&namespace);
            if let Some(buffer) = buffers.and_then(|buffers| buffers.get_mut(index))
                && !buffer.as_mut().is_some_and(BackBuffer::apply_pending)
            {
                *buffer = None;
            }
        }
    }

    /// The number of back buffers, and of their pending changes.
    #[cfg(test)]
    pub(in crate::cache::store) fn sizes(&self) -> (usize, usize) {
        let buffers = self.tables.values().flatten().flatten();
        buffers.fold((0, 0), |(buffers, changes), buffer| {
            (buffers + 1, changes + buffer.pending.len())
        })
    }
}

impl<V> BackBuffer<V> {
    /// The memory of so many changes stays for the next ones.
    const RETAINED_CAPACITY: usize = 16;

    /// Swaps a bucket that a snapshot has with its back buffer. Without a usable back buffer, a copy takes the place of the bucket.
    fn swap(buffer: &mut Option<Self>, bucket: &mut Arc<Bucket<V>>) {
        // Nobody else has one without pending changes: it could be changed when they were applied.
        if let Some(buffer) = buffer
            && buffer.pending.is_empty()
        {
            return mem::swap(&mut buffer.bucket, bucket);
        }
        let copy = Arc::new(Bucket::clone(bucket));
        *buffer = Some(Self {
            bucket: mem::replace(bucket, copy),
            pending: Vec::new(),
        });
    }

    /// Notes a change of the bucket. When there are more than rows, a copy of the bucket costs less.
    fn note(buffer: &mut Option<Self>, change: &Change<V>) {
        if let Some(used) = buffer {
            match used.pending.len() <= used.bucket.len() {
                true => used.pending.push(change.clone()),
                false => *buffer = None,
            }
        }
    }

    /// Returns `false` if a reader has the bucket.
    fn apply_pending(&mut self) -> bool {
        let Some(bucket) = Arc::get_mut(&mut self.bucket) else {
            return false;
        };
        for change in self.pending.drain(..) {
            bucket.apply(change);
        }
        self.pending.shrink_to(Self::RETAINED_CAPACITY);
        true
    }
}

impl<V> Default for BackBuffers<V> {
    fn default() -> Self {
        Self {
            tables: HashMap::new(),
            changed: Vec::new(),
        }
    }
}
