use std::{
    collections::{BTreeMap, BTreeSet},
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;

use crate::{
    cache::{Batch, DeltaQueue, ListerWatcher, Namespaces, Reflector, status::Progress},
    client::PartWaker,
    resource::Object,
};

/// Identifies a partition. A number is never used twice.
pub(super) type PartitionId = u64;

/// The namespaces that an informer reads. Each of them has a reflector and a queue of its own.
pub(super) struct NamespacePartitions<K> {
    partitions: BTreeMap<PartitionId, NamespacePartition<K>>,
    next: PartitionId,
    /// The partition that is polled first: the one after the partition that returned the last batch, so that a busy
    /// partition does not delay the others.
    turn: PartitionId,
    /// Whether the queues gather the deltas of each object.
    delta_fifo: bool,
}

/// One namespace that the informer reads.
struct NamespacePartition<K> {
    /// `None` means all namespaces.
    namespace: Option<String>,
    waker: PartWaker,
    /// Runs the reflector.
    reflecting: BoxFuture<'static, ()>,
    queue: Arc<DeltaQueue<K>>,
    progress: Arc<Progress>,
    has_synced: bool,
}

impl<K: Object> NamespacePartition<K> {
    /// Runs the reflector until there is a batch. Nothing else waits on the queue, so that filling it wakes nobody.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Batch<K>> {
        self.waker.poll(cx, |cx| {
            // It never ends.
            _ = self.reflecting.as_mut().poll(cx);
            if self.queue.is_gathering() {
                return Poll::Pending;
            }
            let Some(batch) = self.queue.try_pop() else {
                return Poll::Pending;
            };
            let left = self.queue.len();
            self.progress.set_queued(left);
            Poll::Ready((batch, left > 0))
        })
    }
}

impl<K: Object> NamespacePartitions<K> {
    pub(super) fn new(delta_fifo: bool) -> Self {
        Self {
            delta_fifo,
            partitions: BTreeMap::new(),
            next: 0,
            turn: 0,
        }
    }

    /// Begins to read a namespace.
    pub(super) fn add<L: ListerWatcher<K>>(
        &mut self,
        namespace: Option<String>,
        reflector: Reflector<L>,
    ) -> PartitionId {
        let queue = match self.delta_fifo {
            true => DeltaQueue::by_key(),
            false => DeltaQueue::new(),
        };
        let (id, queue) = (self.next, Arc::new(queue));
        self.next += 1;
        let (progress, filled) = (reflector.progress.clone(), queue.clone());
        let partition = NamespacePartition {
            namespace,
            waker: PartWaker::new(),
            reflecting: Box::pin(async move { reflector.run(&filled).await }),
            queue,
            progress,
            has_synced: false,
        };
        self.partitions.insert(id, partition);
        id
    }

    /// Stops reading a namespace: its watch ends, and its queued deltas are dropped.
    pub(super) fn remove(&mut self, namespace: &Option<String>) -> Option<PartitionId> {
        let mut partitions = self.partitions.iter();
        let (&id, _) = partitions.find(|(_, partition)| partition.namespace == *namespace)?;
        self.partitions.remove(&id);
        Some(id)
    }

    /// Runs all reflectors until one of them has a batch. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> (PartitionId, Batch<K>) {
        poll_fn(|cx| {
            let (before, from) = (0..self.turn, self.turn..self.next);
            for ids in [from, before] {
                for (&id, partition) in self.partitions.range_mut(ids) {
                    if let Poll::Ready(batch) = partition.poll_next(cx) {
                        self.turn = id + 1;
                        return Poll::Ready((id, batch));
                    }
                }
            }
            Poll::Pending
        })
        .await
    }

    /// The namespaces to remove and to add so that exactly `wanted` is read.
    pub(super) fn changes(&self, wanted: &Namespaces) -> PartitionChanges {
        let present = self
            .partitions
            .values()
            .map(|partition| partition.namespace.clone());
        PartitionChanges::between(present.collect(), wanted)
    }

    /// Reports that the last batch of the partition has been processed. Returns its namespace if that completed its
    /// first list.
    pub(super) fn finish(&mut self, id: PartitionId) -> Option<&Option<String>> {
        let partition = self.partitions.get_mut(&id)?;
        let is_first = !std::mem::replace(&mut partition.has_synced, partition.queue.finish());
        (is_first && partition.has_synced).then_some(&partition.namespace)
    }

    /// Whether the first list of each partition has been processed.
    pub(super) fn have_synced(&self) -> bool {
        self.partitions
            .values()
            .all(|partition| partition.has_synced)
    }
}

/// Namespaces to remove and to add.
pub(in crate::cache) struct PartitionChanges {
    pub(super) removed: Vec<Option<String>>,
    pub(super) added: Vec<Option<String>>,
}

impl PartitionChanges {
    fn between(present: BTreeSet<Option<String>>, wanted: &Namespaces) -> Self {
        let wanted: BTreeSet<Option<String>> = match wanted.names() {
            None => [None].into(),
            Some(names) => names.into_iter().map(Some).collect(),
        };
        Self {
            removed: present.difference(&wanted).cloned().collect(),
            added: wanted.difference(&present).cloned().collect(),
        }
    }
}
