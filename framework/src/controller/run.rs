use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{
    Context, Reconciler, annotations, call::call, cancellation::Cancellation, causes::Causes,
    context::Shared, hub::Hub, settle::settle, wanted::Wanted,
};
use crate::{
    queue::Work,
    resource::{ObjectKey, Resource},
};

/// Runs the workers until `cancel`, and then until the last reconcile has ended.
pub(super) async fn work<R: Reconciler>(
    reconciler: &Arc<R>,
    shared: &Arc<Shared<R::Resource>>,
    concurrency: usize,
    timeout: Option<Duration>,
    cancel: &CancellationToken,
) {
    let runs = Arc::new(AtomicU64::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..concurrency {
        let worker = Worker {
            reconciler: reconciler.clone(),
            shared: shared.clone(),
            runs: runs.clone(),
            timeout,
        };
        let cancel = cancel.clone();
        workers.spawn(async move {
            let queue = worker.shared.hub.queue.clone();
            // Cancelled between two keys, never within one. What is queued then stays undone.
            while !cancel.is_cancelled()
                && let Some(Some(work)) = cancel.run_until_cancelled(queue.get()).await
            {
                worker.handle(work).await;
            }
        });
    }
    let (settler, stop) = (shared.clone(), cancel.clone());
    workers.spawn(async move {
        let settling = settler.hub.writes.settle(&settler.client);
        stop.run_until_cancelled(settling).await;
    });
    while let Some(ended) = workers.join_next().await {
        if let Err(error) = ended
            && error.is_panic()
        {
            // The user's code is caught further in: this is a defect of ours.
            tracing::error!(controller = shared.hub.name, %error, "a worker ended");
        }
    }
}

struct Worker<R: Reconciler> {
    reconciler: Arc<R>,
    shared: Arc<Shared<R::Resource>>,
    runs: Arc<AtomicU64>,
    timeout: Option<Duration>,
}

impl<R: Reconciler> Worker<R> {
    /// However it ends, the key is given back: by `work`.
    async fn handle(&self, mut work: Work<ObjectKey, Causes>) {
        let hub = &self.shared.hub;
        hub.taken.notify_waiters();
        if !hub.writes.admits(&mut work) {
            // It comes again when the caches have what it wrote.
            return;
        }
        let key = &work.key;
        let generations = hub.generations.as_ref();
        let generation = generations.map(|generations| generations.begin(key));
        // Level, not edge: what the cache has now is what counts.
        let object = match hub.own.get(key) {
            Ok(object) => object,
            // Its cache has told why. The next version that decodes leads here again.
            Err(_undecodable) => return,
        };
        if self.is_paused(key, object.as_deref()) {
            return work.done();
        }
        match &object {
            Some(_) => hub.states.begin(key),
            None if hub.states.contains(key) => {}
            None => {
                hub.writes.forget(key);
                return work.done();
            }
        }
        let run = self.runs.fetch_add(1, Ordering::Relaxed) + 1;
        let span = tracing::info_span!(
            "reconcile",
            controller = hub.name,
            namespace = key.namespace(),
            name = key.name(),
            reconcile_id = run,
            attempt = work.attempt,
            cause = %work.note,
        );
        if let Some(since) = work.note.since() {
            let lag = since.elapsed().as_secs_f64();
            hub.metrics.event_seconds.observe(lag);
        }
        let context = Context {
            key: key.clone(),
            object: object.clone(),
            run,
            cancellation: Cancellation::default(),
            shared: self.shared.clone(),
            uncached: false,
            wanted: Wanted::default(),
            finalizer: None,
        };
        let verb = match &object {
            Some(object) if self.shared.finalizers.cleans_up(&**object) => "clean up",
            Some(_) => "reconcile",
            None => "clean up after",
        };

        let _active = Active::new(hub);
        let start = Instant::now();
        let outdated = generation.as_ref().map(|generation| &generation.outdated);
        let call = call(&*self.reconciler, object, &context, self.timeout, outdated);
        let outcome = call.instrument(span.clone()).await;
        hub.metrics.seconds.observe(start.elapsed().as_secs_f64());
        span.in_scope(|| settle(verb, &context, outcome, work));
    }

    /// Whether nothing is to be done for the object, by its annotation.
    fn is_paused(&self, key: &ObjectKey, object: Option<&R::Resource>) -> bool {
        let paused = object.is_some_and(annotations::is_paused);
        if self.shared.hub.paused.set(key, paused) && object.is_some() {
            let (name, kind) = (&self.shared.hub.name, R::Resource::KIND);
            match paused {
                true => tracing::info!(
                    controller = name,
                    "{kind} {key} is paused: nothing is done for it while it bears the annotation {}",
                    annotations::PAUSED
                ),
                false => tracing::info!(controller = name, "{kind} {key} goes on after a pause"),
            }
        }
        paused
    }
}

/// Counts an active worker, however its work ends.
struct Active<'a, K>(&'a Hub<K>);

impl<'a, K> Active<'a, K> {
    fn new(hub: &'a Hub<K>) -> Self {
        hub.metrics.active_workers.inc();
        Self(hub)
    }
}

impl<K> Drop for Active<'_, K> {
    fn drop(&mut self) {
        self.0.metrics.active_workers.dec();
    }
}
