//! What the task of an informer does.

use std::{
    collections::BTreeSet,
    sync::{Arc, atomic::Ordering},
};

use tokio::{
    sync::watch,
    task::yield_now,
    time::{Instant, sleep_until},
};

use super::{Shared, Source};
use crate::{
    cache::{
        Event, InformerMode, ListerWatcher, Reflector,
        follower::Reached,
        listener::Listener,
        origin::Origin,
        parts::{Changes, Parts},
        processor::Processor,
        progress::Progress,
        readiness::Ready,
        sizes::Sizes,
    },
    client::drop_elsewhere,
    resource::Object,
};

/// Of fewer deltas, the events are let go at once: to pass them on costs as much. And nobody waits for the task to
/// yield: more of them would already have come in one batch, so that it has nothing to do now, and a task that yields
/// wakes another thread of an idle runtime.
const FEW: usize = 16;

impl<K: Object> Shared<K> {
    pub(super) async fn work<L: ListerWatcher<K>>(
        self: Arc<Self>,
        mut source: Source<L>,
        mut processor: Processor<K>,
        mut sizes: Option<Sizes<K>>,
    ) {
        let mut parts = Parts::new();
        let mut listeners = Vec::new();
        let mut changes = self.scope.namespaces.changes();
        let mut follow = true;
        let started = Instant::now();
        loop {
            if std::mem::take(&mut follow) {
                let events = self.follow(&mut source, &mut parts, &mut processor);
                self.told(&mut processor, &mut listeners, &events, Origin::Watch);
            }
            if parts.have_synced() && !self.has_synced() {
                self.ready.send_replace(Ready::Yes);
                self.metrics.synced(started.elapsed());
                listeners.iter_mut().for_each(Listener::all_told);
            }
            processor.take_in_indexes();
            let arrivals =
                self.listeners
                    .take_in(&mut listeners, processor.store(), self.has_synced());
            arrivals.await;
            let resync_due = listeners.iter().filter_map(Listener::resync_due).min();
            // All branches are safe to lose: nothing is taken out before it is returned.
            let (part, batch) = tokio::select! {
                biased;
                () = self.listeners.changed() => continue,
                () = changed(&mut changes) => {
                    follow = true;
                    continue;
                }
                // Before the changes, which may not end; what is told at once is little.
                () = reached(resync_due) => {
                    self.listeners.resync(&mut listeners, processor.store().working());
                    continue;
                }
                batch = parts.next() => batch,
            };
            let taken = Instant::now();
            let origin = match batch.listed {
                true => Origin::List,
                false => Origin::Watch,
            };
            let is_little = batch.deltas.len() < FEW;
            let events = processor.process(part, batch);
            self.told(&mut processor, &mut listeners, &events, origin);
            // The versions that were replaced go with them.
            match is_little {
                true => drop(events),
                false => drop_elsewhere(events),
            }
            let took = taken.elapsed().as_secs_f64();
            self.metrics.processing.observe(took);
            if let Some(namespace) = parts.finish(part) {
                self.parts.synced(namespace);
            }
            if let Some(sizes) = sizes.as_mut().filter(|_| parts.have_synced()) {
                sizes.changed(processor.store().working());
            }
            if !is_little {
                // A batch is work for milliseconds: others come first.
                yield_now().await;
            }
        }
    }

    /// Begins to read the namespaces that are new, and lets go of those that are no longer wanted:
    /// gives the deletions that follow.
    fn follow<L: ListerWatcher<K>>(
        &self,
        source: &mut Source<L>,
        parts: &mut Parts<K>,
        processor: &mut Processor<K>,
    ) -> Vec<Event<K>> {
        self.progress.enter(InformerMode::Watching);
        let Changes { gone, new } = parts.changes(&self.scope.namespaces);
        let mut events = Vec::new();
        for namespace in gone {
            self.parts.remove(&namespace);
            if let Some(id) = parts.remove(&namespace) {
                events.extend(processor.remove(id));
            }
        }
        for namespace in new {
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
            let progress = self.parts.insert(namespace.clone(), progress);
            let (scope, budget) = (self.scope.clone(), self.budget.clone());
            let reflector = Reflector::with_progress(source, scope, progress, budget)
                .relisting(self.relist.subscribe());
            let id = parts.add(namespace.clone(), reflector);
            processor.add(id, namespace.clone());
        }
        events
    }

    fn told(
        &self,
        processor: &mut Processor<K>,
        listeners: &mut [Listener<K>],
        events: &[Event<K>],
        origin: Origin,
    ) {
        let how = Reached {
            went_back: processor.take_went_back(),
            listed: origin == Origin::List,
        };
        let snapshot = processor.store().working();
        self.progress.processed(events, snapshot);
        self.listeners.tell(listeners, events, origin);
        for listener in listeners {
            listener.batch_told(snapshot, how);
        }
    }

    fn has_synced(&self) -> bool {
        *self.ready.borrow() == Ready::Yes
    }
}

/// Waits for a time; for ever if there is none.
async fn reached(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Waits until the namespaces change; for ever if they cannot.
async fn changed(changes: &mut Option<watch::Receiver<BTreeSet<String>>>) {
    let told = match changes {
        Some(changes) => changes.changed().await.is_ok(),
        None => false,
    };
    if !told {
        std::future::pending().await
    }
}
