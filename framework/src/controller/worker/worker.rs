use std::{pin::pin, sync::Arc, task::Poll, time::Duration};

use futures_util::{future::BoxFuture, poll};
use prometheus::Gauge;
use tokio::{
    task::{JoinSet, coop},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{
    invoke::{Invoker, Outcome},
    outcome::{FinishedCall, finish},
    publish::publish,
};
use crate::{
    client::Client,
    controller::{
        annotations,
        builder::Reconciler,
        cause::{Cause, Causes},
        context::{Context, SharedContext},
        state::ControllerState,
    },
    election::Permit,
    queue::{PerWorkerArc, Work},
    resource::{Object, ObjectKey},
};

/// How many workers run, and until when.
pub(crate) struct WorkerConfig {
    pub(crate) concurrency: usize,
    pub(crate) timeout: Option<Duration>,
    /// Checked before each call, if the controller needs leadership.
    pub(crate) permit: Option<Permit>,
    /// Once it is cancelled, no call begins.
    pub(crate) cancel: CancellationToken,
    /// Once it is cancelled, the running calls are dropped.
    pub(crate) abort: CancellationToken,
}

/// Runs the workers until they are cancelled, and then until the last call has ended.
pub(crate) async fn run_workers<R: Reconciler>(invoker: &Arc<Invoker<R>>, config: WorkerConfig) {
    let WorkerConfig {
        concurrency,
        timeout,
        permit,
        cancel,
        abort,
    } = config;
    let started = Instant::now();
    let mut workers = JoinSet::new();
    for number in 0..concurrency {
        let mut worker = Worker {
            shared: Arc::new(invoker.shared.clone()),
            invoker: invoker.clone(),
            run: number as u64,
            workers: concurrency as u64,
            active: None,
            timeout,
            started,
        };
        // A token per worker: each token has a lock.
        let (cancel, permit) = (cancel.child_token(), permit.clone());
        workers.spawn(async move {
            let queue = worker.shared.controller.queue.clone();
            let mut batch = queue.batch();
            loop {
                let work = {
                    let mut next = pin!(batch.next());
                    match poll!(next.as_mut()) {
                        Poll::Ready(work) => work,
                        // Only a worker that has to wait touches the token and the gauge, which all workers share.
                        Poll::Pending => {
                            worker.active = None;
                            cancel.run_until_cancelled(next).await.flatten()
                        }
                    }
                };
                let Some(work) = work else {
                    break;
                };
                // Checked between two keys, never within one. The queued keys then stay undone. The permit reads the clock: a
                // process that was suspended runs this code first when it continues, before any task could cancel it.
                let is_over = permit.as_ref().is_some_and(|permit| !permit.holds());
                if is_over || cancel.is_cancelled() {
                    break;
                }
                let done = {
                    let mut handled = pin!(worker.handle(work));
                    match poll!(handled.as_mut()) {
                        Poll::Ready(done) => done,
                        Poll::Pending => {
                            batch.return_unstarted();
                            handled.await
                        }
                    }
                };
                if let Some(work) = done {
                    batch.done(work);
                }
                // Calls that never wait must still leave the runtime's thread to other tasks now and then.
                if !coop::has_budget_remaining() {
                    batch.return_unstarted();
                }
                coop::consume_budget().await;
            }
        });
    }
    let shared = &invoker.shared;
    let (controller, client) = (shared.controller.clone(), shared.client.clone());
    spawn_failure_log(&mut workers, controller.clone(), cancel.clone());
    spawn_server_checks(&mut workers, controller.clone(), client, cancel);
    join(workers, abort, controller).await;
}

/// Writes the log lines about series of failures, as long as the workers run.
fn spawn_failure_log(
    workers: &mut JoinSet<()>,
    controller: Arc<ControllerState>,
    stop: CancellationToken,
) {
    workers.spawn(async move {
        let log = controller
            .failures
            .run(&controller.name, &controller.resource.kind);
        stop.run_until_cancelled(log).await;
    });
}

/// Asks the API server about writes that the caches do not show, as long as the workers run.
fn spawn_server_checks(
    workers: &mut JoinSet<()>,
    controller: Arc<ControllerState>,
    client: Client,
    stop: CancellationToken,
) {
    workers.spawn(async move {
        let checks = controller.writes.check_server(&client);
        stop.run_until_cancelled(checks).await;
    });
}

/// Returns when the last worker has ended, and the last blocking closure, which an abort does not end. Boxed, so that it is compiled in this crate and not in each program.
fn join(
    mut workers: JoinSet<()>,
    abort: CancellationToken,
    controller: Arc<ControllerState>,
) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let (mut panicked, mut aborted) = (None, false);
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
                    // A panic of the user's code is caught further in. This one is a defect of the framework, after which too
                    // few workers are left to go on.
                    workers.abort_all();
                    panicked = Some(error.into_panic());
                }
                Some(_) => {}
            }
        }
        controller.blocking.ended().await;
        if let Some(panic) = panicked {
            std::panic::resume_unwind(panic);
        }
    })
}

struct Worker<R: Reconciler> {
    invoker: Arc<Invoker<R>>,
    shared: PerWorkerArc<SharedContext<R::Resource>>,
    /// The number of its last run. The next one is `workers` higher, so that no two workers use one number.
    run: u64,
    workers: u64,
    /// Set from the first key that it takes until it has to wait for one.
    active: Option<ActiveWorker>,
    timeout: Option<Duration>,
    /// An event before this time did not wait for a worker, but for the caches or for leadership.
    started: Instant,
}

impl<R: Reconciler> Worker<R> {
    /// The life of one key from the queue to its outcome.
    ///
    /// Returns the work if the only remaining step is to mark it done. Otherwise the work has gone back to the queue.
    async fn handle(
        &mut self,
        mut work: Work<ObjectKey, Causes>,
    ) -> Option<Work<ObjectKey, Causes>> {
        let controller = &self.shared.controller;
        controller.notify_capacity();
        if !controller.writes.admits(&mut work) {
            // The key comes again when the caches have what it wrote.
            if let Some(history) = &controller.history {
                history.parked(&work.key);
            }
            return None;
        }
        if controller.hold_back(&mut work) {
            return None;
        }
        let key = &work.key;
        let generations = controller.generations.as_ref();
        let generation = generations.map(|generations| generations.begin(key));
        // Level, not edge: the call gets the object that the cache has now.
        let object = match self.shared.own.get(key) {
            Ok(object) => object,
            // The cache has reported it. The next version that decodes adds the key again.
            Err(_undecodable) => return None,
        };
        if self.is_paused(key, object.as_deref()) {
            return Some(work);
        }
        match &object {
            // Without finalizers the user's code is the first that is called.
            Some(_) => {
                let is_called = self.invoker.finalizers.rules.change_nothing();
                controller.key_states.begin(key, is_called);
            }
            None if controller.key_states.with(key, |state| state.called) == Some(true) => {}
            None if self.invoker.has_orphans(key) => {}
            None => {
                controller.key_states.remove(key);
                controller.writes.forget(key);
                return Some(work);
            }
        }
        self.run += self.workers;
        let run = self.run;
        // A span of the highest level, so that a filter that lets only warnings pass keeps its fields.
        let span = tracing::error_span!(
            "reconcile",
            controller = controller.name,
            namespace = key.namespace(),
            name = key.name(),
            reconcile_id = run,
            attempt = work.attempt,
            cause = %work.note,
        );
        if let Some(history) = &controller.history {
            history.began(key, work.note, work.attempt);
        }
        if let Some(since) = work.note.since() {
            let lag = since.max(self.started).elapsed().as_secs_f64();
            controller.metrics.event_seconds.observe(lag);
        }
        let (verb, cleans_up) = match &object {
            Some(object) if self.invoker.finalizers.cleans_up(&**object) => ("clean up", true),
            Some(_) => ("reconcile", false),
            None => ("clean up after", true),
        };
        let mut context = Context::new(&self.shared, key.clone(), object, run);
        context.only_finalizers = work.note.are_only(Cause::Finalizers);

        if self.active.is_none() {
            self.active = Some(ActiveWorker::new(&controller.metrics.active_workers));
        }
        let start = Instant::now();
        let outdated = generation.as_ref().map(|generation| &generation.outdated);
        let call = self.invoker.invoke(&context, self.timeout, outdated);
        let outcome = call.instrument(span.clone()).await;
        let seconds = start.elapsed().as_secs_f64();
        controller.metrics.seconds.observe(seconds);
        let outcome = match outcome {
            // Most calls have nothing to show.
            Outcome::Done(_) if self.shared.ready.is_none() => outcome,
            outcome => {
                let published = Box::pin(publish(&context, cleans_up, outcome));
                published.instrument(span.clone()).await
            }
        };
        if let Some(history) = &self.shared.controller.history {
            history.ended(context.key(), outcome.for_history());
        }
        context.end(matches!(outcome, Outcome::Done(_)));
        let call = FinishedCall {
            verb,
            key: context.key(),
            run,
            exists: context.object().is_some(),
        };
        span.in_scope(|| finish(&self.shared.controller, &call, outcome, work))
    }

    /// Whether the object is paused by its annotation.
    fn is_paused(&self, key: &ObjectKey, object: Option<&R::Resource>) -> bool {
        let paused = object.is_some_and(|object| annotations::is_paused(object.metadata()));
        if self.shared.controller.paused.set(key, paused) && object.is_some() {
            let controller = &self.shared.controller;
            let (name, kind) = (&controller.name, &controller.resource.kind);
            match paused {
                true => tracing::info!(
                    controller = name,
                    "{kind} {key} is paused: it is not reconciled while it has the annotation {}",
                    annotations::PAUSED
                ),
                false => tracing::info!(controller = name, "{kind} {key} is no longer paused"),
            }
        }
        paused
    }
}

/// Counts an active worker, until it is dropped.
struct ActiveWorker(Gauge);

impl ActiveWorker {
    fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for ActiveWorker {
    fn drop(&mut self) {
        self.0.dec();
    }
}
