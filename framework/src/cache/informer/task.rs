//! The loop of an informer's task.

use std::{
    collections::BTreeSet,
    sync::{Arc, atomic::Ordering},
};

use tokio::{
    sync::watch,
    task::yield_now,
    time::{Instant, sleep_until},
};

use super::{
    namespace_partitions::{NamespacePartitions, PartitionChanges},
    object_sizes::ObjectSizes,
    processor::Processor,
    shared_informer::{InformerInner, SourceFactory},
};
use crate::{
    cache::{
        BatchInfo, Event, EventOrigin, InformerMode, ListerWatcher, Reflector, listener::Listener,
        readiness::ReadyState, status::Progress,
    },
    resource::Object,
};

/// The events of a smaller batch are dropped on this task, because dropping them elsewhere costs as much. After a
/// smaller batch the task does not yield either: nothing waits for it (more deltas would already have come in the
/// same batch), and a task that yields wakes another thread of an idle runtime.
const SMALL_BATCH: usize = 16;

impl<K: Object> InformerInner<K> {
    pub(super) async fn run_task<L: ListerWatcher<K>>(
        self: Arc<Self>,
        mut source: SourceFactory<L>,
        mut processor: Processor<K>,
        mut sizes: Option<ObjectSizes<K>>,
    ) {
        let mut partitions = NamespacePartitions::new(self.delta_fifo);
        let mut listeners = Vec::new();
        let mut changes = self.scope.namespaces.changes();
        let mut has_changed_namespaces = true;
        let started = Instant::now();
        loop {
            if std::mem::take(&mut has_changed_namespaces) {
                let events = self.update_namespaces(&mut source, &mut partitions, &mut processor);
                self.deliver(&mut processor, &mut listeners, &events, EventOrigin::Watch);
            }
            if partitions.have_synced() && !self.has_synced() {
                self.ready.send_replace(ReadyState::Ready);
                self.metrics.synced(started.elapsed());
                let is_listing = processor.is_listing();
                listeners
                    .iter_mut()
                    .for_each(|listener| listener.initial_list_delivered(is_listing));
            }
            processor.take_in_indexes();
            let (has_synced, is_listing) = (self.has_synced(), processor.is_listing());
            let arrivals =
                self.listeners
                    .admit(&mut listeners, processor.store(), has_synced, is_listing);
            arrivals.await;
            let resync_due = listeners.iter().filter_map(Listener::resync_due).min();
            // Losing any of the branches is safe: nothing is taken out before it is returned.
            let (partition, batch) = tokio::select! {
                biased;
                () = self.listeners.changed() => continue,
                () = namespaces_changed(&mut changes) => {
                    has_changed_namespaces = true;
                    continue;
                }
                // Before the deltas, which may never end. A part of a resync is small.
                () = sleep_until_due(resync_due) => {
                    self.listeners.resync(&mut listeners, processor.store().working());
                    continue;
                }
                () = self.encoded_objects_have_work() => {
                    self.mark_undecodable(&mut processor, &[]);
                    if let Some(encoded) = &self.encoded {
                        encoded.forms.step();
                    }
                    continue;
                }
                batch = partitions.next() => batch,
            };
            let taken = Instant::now();
            let origin = match batch.listed {
                true => EventOrigin::List,
                false => EventOrigin::Watch,
            };
            let is_small = batch.deltas.len() < SMALL_BATCH;
            let events = processor.process(partition, batch);
            self.deliver(&mut processor, &mut listeners, &events, origin);
            self.mark_undecodable(&mut processor, &events);
            // The replaced versions are dropped with the events.
            match is_small {
                true => drop(events),
                false => {
                    let bytes = events.iter().map(Event::replaced_bytes).sum();
                    self.decoder.drop_there(events, bytes);
                }
            }
            let took = taken.elapsed().as_secs_f64();
            self.metrics.processing.observe(took);
            if let Some(namespace) = partitions.finish(partition) {
                self.namespaces.synced(namespace);
            }
            if let Some(sizes) = sizes.as_mut().filter(|_| partitions.have_synced()) {
                sizes.changed(processor.store().working());
            }
            if !is_small {
                // A batch is work for milliseconds: let other tasks run first.
                yield_now().await;
            }
        }
    }

    /// Begins to read new namespaces and stops reading those that are no longer wanted. Returns the deletions that
    /// follow.
    fn update_namespaces<L: ListerWatcher<K>>(
        &self,
        source: &mut SourceFactory<L>,
        partitions: &mut NamespacePartitions<K>,
        processor: &mut Processor<K>,
    ) -> Vec<Event<K>> {
        self.progress.enter(InformerMode::Watching);
        let PartitionChanges { removed, added } = partitions.changes(&self.scope.namespaces);
        let mut events = Vec::new();
        for namespace in removed {
            self.namespaces.remove(&namespace);
            if let Some(id) = partitions.remove(&namespace) {
                events.extend(processor.remove(id));
            }
        }
        for namespace in added {
            let Some(source) = source(namespace.as_deref()) else {
                continue;
            };
            let reads_api_server = source.reads_api_server();
            self.reads_api_server
                .store(reads_api_server, Ordering::Relaxed);
            let progress = Progress::new(
                self.resource.clone(),
                namespace.clone(),
                self.metrics.clone(),
            );
            let progress = progress.reporting_to(self.failure_handlers.clone());
            let progress = self.namespaces.insert(namespace.clone(), progress);
            let (scope, budget) = (self.scope.clone(), self.budget.clone());
            let reflector = Reflector::with_progress(source, scope, progress, budget)
                .relisting(self.relist.subscribe());
            let id = partitions.add(namespace.clone(), reflector);
            processor.add(id, namespace.clone());
        }
        events
    }

    fn deliver(
        &self,
        processor: &mut Processor<K>,
        listeners: &mut [Listener<K>],
        events: &[Event<K>],
        origin: EventOrigin,
    ) {
        let info = BatchInfo {
            went_back: processor.take_went_back(),
            listed: origin == EventOrigin::List,
            is_listing: processor.is_listing(),
        };
        let snapshot = processor.store().working();
        self.progress.processed(events, snapshot);
        self.listeners.deliver(listeners, events, origin);
        for listener in listeners {
            listener.batch_delivered(snapshot, info);
        }
    }

    /// Waits until an object of the store turns out not to decode, or until decoded forms may sleep.
    async fn encoded_objects_have_work(&self) {
        match &self.encoded {
            Some(encoded) => encoded.has_work().await,
            None => std::future::pending().await,
        }
    }

    /// Marks and reports the objects that turned out not to decode.
    fn mark_undecodable(&self, processor: &mut Processor<K>, events: &[Event<K>]) {
        let Some(encoded) = &self.encoded else {
            return;
        };
        let failed = encoded.take_failed();
        if !failed.is_empty() {
            let count = failed.len();
            let marked = processor.mark_undecodable(failed, events);
            encoded.note_marked(count);
            self.progress
                .found_undecodable(&marked, processor.store().working());
        }
    }

    fn has_synced(&self) -> bool {
        *self.ready.borrow() == ReadyState::Ready
    }
}

/// Waits until a time. `None` waits forever.
async fn sleep_until_due(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Waits until the namespaces change; forever if they cannot.
async fn namespaces_changed(changes: &mut Option<watch::Receiver<BTreeSet<String>>>) {
    let is_changed = match changes {
        Some(changes) => changes.changed().await.is_ok(),
        None => false,
    };
    if !is_changed {
        std::future::pending().await
    }
}
