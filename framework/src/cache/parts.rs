use std::{collections::BTreeMap, convert::Infallible, future::pending, sync::Arc};

use futures_util::{
    FutureExt, StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream, FuturesUnordered, SelectAll},
};
use tokio_util::sync::CancellationToken;

use super::{Batch, DeltaQueue, ListerWatcher, Namespaces, Reflector};
use crate::resource::Object;

/// Which part of an informer something comes from; never used twice.
pub(super) type PartId = u64;

/// The namespaces that an informer reads: each has a reflector and a queue of its own.
pub(super) struct Parts<K> {
    /// By namespace; `None` is all of them.
    parts: BTreeMap<Option<String>, Part<K>>,
    next: PartId,
    pub(super) reading: Reading,
    pub(super) batches: Batches<K>,
}

struct Part<K> {
    id: PartId,
    queue: Arc<DeltaQueue<K>>,
    has_synced: bool,
    cancel: CancellationToken,
}

/// The reflectors at work.
#[derive(Default)]
pub(super) struct Reading(FuturesUnordered<BoxFuture<'static, ()>>);

/// What came out of the queues.
pub(super) struct Batches<K>(SelectAll<BoxStream<'static, (PartId, Batch<K>)>>);

impl<K: Object> Parts<K> {
    pub(super) fn new() -> Self {
        Self {
            parts: BTreeMap::new(),
            next: 0,
            reading: Reading::default(),
            batches: Batches(SelectAll::new()),
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
        let cancel = CancellationToken::new();
        let progress = reflector.progress.clone();
        let (read, end) = (queue.clone(), cancel.clone());
        self.reading.0.push(Box::pin(async move {
            end.run_until_cancelled(reflector.run(&read)).await;
        }));
        let waiting = (queue.clone(), progress);
        let batches = stream::unfold(waiting, move |(queue, progress)| async move {
            let batch = queue.pop().await;
            progress.queued(queue.len());
            Some(((id, batch), (queue, progress)))
        });
        let batches = batches.take_until(cancel.clone().cancelled_owned());
        self.batches.0.push(batches.boxed());
        let part = Part {
            id,
            queue,
            has_synced: false,
            cancel,
        };
        self.parts.insert(namespace, part);
        id
    }

    /// Reads a namespace no longer: what came of it and was not taken yet is gone.
    pub(super) fn remove(&mut self, namespace: &Option<String>) -> Option<PartId> {
        let part = self.parts.remove(namespace)?;
        part.cancel.cancel();
        // The reflector, with its watch, goes now.
        while let Some(Some(())) = self.reading.0.next().now_or_never() {}
        Some(part.id)
    }

    /// What it would take to read these.
    pub(super) fn changes(&self, wanted: &Namespaces) -> Changes {
        Changes::between(self.parts.keys().cloned().collect(), wanted)
    }

    /// The last batch of that part was worked on; gives its namespace if its first list now has been.
    pub(super) fn finish(&mut self, id: PartId) -> Option<&Option<String>> {
        let (namespace, part) = self.parts.iter_mut().find(|(_, part)| part.id == id)?;
        let is_first = !std::mem::replace(&mut part.has_synced, part.queue.finish());
        (is_first && part.has_synced).then_some(namespace)
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
    fn between(present: Vec<Option<String>>, wanted: &Namespaces) -> Self {
        let wanted: Vec<Option<String>> = match wanted.names() {
            None => vec![None],
            Some(names) => names.into_iter().map(Some).collect(),
        };
        let not_in = |others: &[Option<String>], all: &[Option<String>]| {
            let gone = all.iter().filter(|one| others.binary_search(one).is_err());
            gone.cloned().collect()
        };
        Self {
            gone: not_in(&wanted, &present),
            new: not_in(&present, &wanted),
        }
    }
}

impl Reading {
    /// Reads from the network as long as it is polled. Dropping the future loses nothing.
    pub(super) async fn run(&mut self) -> Infallible {
        while self.0.next().await.is_some() {}
        pending().await
    }
}

impl<K> Batches<K> {
    /// The next batch of any. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> (PartId, Batch<K>) {
        match self.0.next().await {
            Some(batch) => batch,
            None => pending().await,
        }
    }
}
