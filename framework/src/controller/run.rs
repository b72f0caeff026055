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
    context::Shared, hub::Hub, last_status::LastStatus, settle::settle, wanted::Wanted,
};
use crate::{
    election::Permit,
    queue::Work,
    resource::{ObjectKey, Resource},
};

/// How many reconciles there are at once, and until when.
pub(super) struct Course {
    pub(super) concurrency: usize,
    pub(super) timeout: Option<Duration>,
    /// Asked before each reconcile, where it needs leadership.
    pub(super) permit: Option<Permit>,
    /// None begins any more.
    pub(super) cancel: CancellationToken,
    /// Those that run are dropped.
    pub(super) abort: CancellationToken,
}

/// Runs the workers until they are cancelled, and then until the last reconcile has ended.
pub(super) async fn work<R: Reconciler>(
    reconciler: &Arc<R>,
    shared: &Arc<Shared<R::Resource>>,
    course: Course,
) {
    let Course {
        concurrency,
        timeout,
        permit,
        cancel,
        abort,
    } = course;
    let (runs, begun) = (Arc::new(AtomicU64::new(0)), Instant::now());
    let mut workers = JoinSet::new();
    for _ in 0..concurrency {
        let worker = Worker {
            reconciler: reconciler.clone(),
            shared: shared.clone(),
            runs: runs.clone(),
            timeout,
            begun,
        };
        let (cancel, permit) = (cancel.clone(), permit.clone());
        workers.spawn(async move {
            let queue = worker.shared.hub.queue.clone();
            // Cancelled between two keys, never within one. What is queued then stays undone.
            while !cancel.is_cancelled()
                && let Some(Some(work)) = cancel.run_until_cancelled(queue.get()).await
            {
                // By the clock, not by a task that tells: a process that was stopped and goes on runs this first.
                if permit.as_ref().is_some_and(|permit| !permit.holds()) {
                    break;
                }
                worker.handle(work).await;
            }
        });
    }
    let (settler, stop) = (shared.clone(), cancel.clone());
    workers.spawn(async move {
        let settling = settler.hub.writes.settle(&settler.client);
        stop.run_until_cancelled(settling).await;
    });
    let (mut broken, mut aborted) = (None, false);
    loop {
        let ended = tokio::select! {
            ended = workers.join_next() => ended,
            () = abort.cancelled(), if !aborted => {
                aborted = true;
                workers.abort_all();
                continue;
            }
        };
        match ended {
            None => break,
            Some(Err(error)) if error.is_panic() => {
                // The user's code is caught further in: this is a defect of ours, and too few are left to go on.
                workers.abort_all();
                broken = Some(error.into_panic());
            }
            Some(_) => {}
        }
    }
    if let Some(panic) = broken {
        std::panic::resume_unwind(panic);
    }
}

struct Worker<R: Reconciler> {
    reconciler: Arc<R>,
    shared: Arc<Shared<R::Resource>>,
    runs: Arc<AtomicU64>,
    timeout: Option<Duration>,
    /// What happened before did not have to wait for a worker, but for the caches or the lease.
    begun: Instant,
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
            None if hub.states.with(key, |state| state.called) == Some(true) => {}
            None if self.shared.children.has_orphans(&hub.readers, key) => {}
            None => {
                hub.states.remove(key);
                hub.writes.forget(key);
                return work.done();
            }
        }
        let run = self.runs.fetch_add(1, Ordering::Relaxed) + 1;
        // Of the highest level, so that a filter that lets only warnings pass leaves them their fields.
        let span = tracing::error_span!(
            "reconcile",
            controller = hub.name,
            namespace = key.namespace(),
            name = key.name(),
            reconcile_id = run,
            attempt = work.attempt,
            cause = %work.note,
        );
        if let Some(since) = work.note.since() {
            let lag = since.max(self.begun).elapsed().as_secs_f64();
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
            last_status: LastStatus::default(),
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
