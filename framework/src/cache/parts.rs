use std::{
    collections::{BTreeMap, BTreeSet},
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;

use super::{Batch, DeltaQueue, ListerWatcher, Namespaces, Reflector, progress::Progress};
use crate::{client::PartWaker, resource::Object};

/// Which part of an informer something comes from; never used twice.
pub(super) type PartId = u64;

/// The namespaces that an informer reads: each has a reflector and a queue of its own.
pub(super) struct Parts<K> {
    parts: BTreeMap<PartId, Part<K>>,
    next: PartId,
    /// Whose turn it is: after who gave something last, so that none waits for one that has much to give.
    turn: PartId,
}

struct Part<K> {
    /// `None` is all of them.
    namespace: Option<String>,
    waker: PartWaker,
    /// The reflector at work.
    reading: BoxFuture<'static, ()>,
    queue: Arc<DeltaQueue<K>>,
    progress: Arc<Progress>,
    has_synced: bool,
}

impl<K: Object> Part<K> {
    /// Reads from the network until there is a batch. Nobody else waits at the queue, so nobody is woken by what is put
    /// into it.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Batch<K>> {
        self.waker.poll(cx, |cx| {
            // It never ends.
            _ = self.reading.as_mut().poll(cx);
            let Some(batch) = self.queue.try_pop() else {
                return Poll::Pending;
            };
            let left = self.queue.len();
            self.progress.queued(left);
            Poll::Ready((batch, left > 0))
        })
    }
}

impl<K: Object> Parts<K> {
    pub(super) fn new() -> Self {
        Self {
            parts: BTreeMap::new(),
            next: 0,
            turn: 0,
        }
    }

    /// Begins to read a namespace.
    pub(super) fn add<L: ListerWatcher<K>>(
        &mut self,
        namespace: Option<String>,
        reflector: Reflector<L>,
    ) -> PartId {
        let (id, queue) = (self.next, Arc::new(DeltaQueue::new()));
        self.next += 1;
        let (progress, filled) = (reflector.progress.clone(), queue.clone());
        let part = Part {
            namespace,
            waker: PartWaker::new(),
            reading: Box::pin(async move { reflector.run(&filled).await }),
            queue,
            progress,
            has_synced: false,
        };
        self.parts.insert(id, part);
        id
    }

    /// Reads a namespace no longer: its watch ends, and what came of it and was not taken yet is gone.
    pub(super) fn remove(&mut self, namespace: &Option<String>) -> Option<PartId> {
        let mut parts = self.parts.iter();
        let (&id, _) = parts.find(|(_, part)| part.namespace == *namespace)?;
        self.parts.remove(&id);
        Some(id)
    }

    /// Reads all of them until there is a batch of one. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> (PartId, Batch<K>) {
        poll_fn(|cx| {
            let (before, from) = (0..self.turn, self.turn..self.next);
            for ids in [from, before] {
                for (&id, part) in self.parts.range_mut(ids) {
                    if let Poll::Ready(batch) = part.poll_next(cx) {
                        self.turn = id + 1;
                        return Poll::Ready((id, batch));
                    }
                }
            }
            Poll::Pending
        })
        .await
    }

    /// What it would take to read these.
    pub(super) fn changes(&self, wanted: &Namespaces) -> Changes {
        let present = self.parts.values().map(|part| part.namespace.clone());
        Changes::between(present.collect(), wanted)
    }

    /// The last batch of that part was worked on; gives its namespace if its first list now has been.
    pub(super) fn finish(&mut self, id: PartId) -> Option<&Option<String>> {
        let part = self.parts.get_mut(&id)?;
        let is_first = !std::mem::replace(&mut part.has_synced, part.queue.finish());
        (is_first && part.has_synced).then_some(&part.namespace)
    }

    /// Whether the first list of each was worked on.
    pub(super) fn have_synced(&self) -> bool {
        self.parts.values().all(|part| part.has_synced)
    }
}

/// Namespaces that are not read any more, and those that are to be read.
pub(super) struct Changes {
    pub(super) gone: Vec<Option<String>>,
    pub(super) new: Vec<Option<String>>,
}

impl Changes {
    fn between(present: BTreeSet<Option<String>>, wanted: &Namespaces) -> Self {
        let wanted: BTreeSet<Option<String>> = match wanted.names() {
            None => [None].into(),
            Some(names) => names.into_iter().map(Some).collect(),
        };
        Self {
            gone: present.difference(&wanted).cloned().collect(),
            new: wanted.difference(&present).cloned().collect(),
        }
    }
}
