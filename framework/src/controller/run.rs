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
    Context, Reconciler, annotations,
    call::{Outcome, call},
    cancellation::Cancellation,
    causes::Causes,
    context::{OwnCount, Shared},
    hub::Hub,
    last_status::LastStatus,
    publish::publish,
    settle::{Ended, settle},
    wanted::Wanted,
};
use crate::{
    client::Client,
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
    let begun = Instant::now();
    let mut workers = JoinSet::new();
    for number in 0..concurrency {
        let mut worker = Worker {
            reconciler: reconciler.clone(),
            shared: Arc::new(shared.clone()),
            run: number as u64,
            workers: concurrency as u64,
            active: None,
            timeout,
            begun,
        };
        // A token of its own: each token has a lock.
        let (cancel, permit) = (cancel.child_token(), permit.clone());
        workers.spawn(async move {
            let queue = worker.shared.hub.queue.clone();
            let mut hand = queue.hand();
            loop {
                let work = {
                    let mut next = pin!(hand.next());
                    match poll!(next.as_mut()) {
                        Poll::Ready(work) => work,
                        // Only who has to wait looks at the token and the gauge, which all workers share.
                        Poll::Pending => {
                            worker.active = None;
                            cancel.run_until_cancelled(next).await.flatten()
                        }
                    }
                };
                let Some(work) = work else {
                    break;
                };
                // Between two keys, never within one. What is queued then stays undone. The term by the clock, not by a
                // task that tells: a process that was stopped and goes on runs this first.
                let is_over = permit.as_ref().is_some_and(|permit| !permit.holds());
                if is_over || cancel.is_cancelled() {
                    break;
                }
                let done = {
                    let mut handled = pin!(worker.handle(work));
                    match poll!(handled.as_mut()) {
                        Poll::Ready(done) => done,
                        Poll::Pending => {
                            hand.lay_down();
                            handled.await
                        }
                    }
                };
                if let Some(work) = done {
                    hand.done(work);
                }
                // Reconciles that never wait leave the runtime's thread to others now and then.
                if !coop::has_budget_remaining() {
                    hand.lay_down();
                }
                coop::consume_budget().await;
            }
        });
    }
    let (hub, client) = (shared.hub.clone(), shared.client.clone());
    log_beside(&mut workers, hub.clone(), cancel.clone());
    settle_beside(&mut workers, hub, client, cancel);
    join(workers, abort).await;
}

/// Writes how failures go on and end, as long as the workers work.
fn log_beside(workers: &mut JoinSet<()>, hub: Arc<Hub>, stop: CancellationToken) {
    workers.spawn(async move {
        let log = hub.failures.run(&hub.name, hub.kind);
        stop.run_until_cancelled(log).await;
    });
}

/// Asks the API server what the caches do not tell, as long as the workers work.
fn settle_beside(
    workers: &mut JoinSet<()>,
    hub: Arc<Hub>,
    client: Client,
    stop: CancellationToken,
) {
    workers.spawn(async move {
        let settling = hub.writes.settle(&client);
        stop.run_until_cancelled(settling).await;
    });
}

/// Returns when the last worker has ended. Boxed, so that it is built in this crate and not in each program.
fn join(mut workers: JoinSet<()>, abort: CancellationToken) -> BoxFuture<'static, ()> {
    Box::pin(async move {
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
    })
}

struct Worker<R: Reconciler> {
    reconciler: Arc<R>,
    shared: OwnCount<Shared<R::Resource>>,
    /// The number of its last run, and what leads to the next: no two workers have the same.
    run: u64,
    workers: u64,
    /// From the first key that it takes until it has to wait for one.
    active: Option<Active>,
    timeout: Option<Duration>,
    /// What happened before did not have to wait for a worker, but for the caches or the lease.
    begun: Instant,
}

impl<R: Reconciler> Worker<R> {
    /// However it ends, the key is given back: by `work`, which is returned if all that is left is to say that it is done.
    async fn handle(
        &mut self,
        mut work: Work<ObjectKey, Causes>,
    ) -> Option<Work<ObjectKey, Causes>> {
        let hub = &self.shared.hub;
        hub.tell_room();
        if !hub.writes.admits(&mut work) {
            // It comes again when the caches have what it wrote.
            return None;
        }
        let key = &work.key;
        let generations = hub.generations.as_ref();
        let generation = generations.map(|generations| generations.begin(key));
        // Level, not edge: what the cache has now is what counts.
        let object = match self.shared.own.get(key) {
            Ok(object) => object,
            // Its cache has told why. The next version that decodes leads here again.
            Err(_undecodable) => return None,
        };
        if self.is_paused(key, object.as_deref()) {
            return Some(work);
        }
        match &object {
            // Without finalizers nothing comes before the user's code.
            Some(_) => hub.states.begin(key, self.shared.finalizers.is_empty()),
            None if hub.states.with(key, |state| state.called) == Some(true) => {}
            None if self.shared.children.has_orphans(&hub.readers, key) => {}
            None => {
                hub.states.remove(key);
                hub.writes.forget(key);
                return Some(work);
            }
        }
        self.run += self.workers;
        let run = self.run;
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
        let (verb, cleans_up) = match &object {
            Some(object) if self.shared.finalizers.cleans_up(&**object) => ("clean up", true),
            Some(_) => ("reconcile", false),
            None => ("clean up after", true),
        };

        if self.active.is_none() {
            self.active = Some(Active::new(&hub.metrics.active_workers));
        }
        let start = Instant::now();
        let outdated = generation.as_ref().map(|generation| &generation.outdated);
        let call = call(&*self.reconciler, object, &context, self.timeout, outdated);
        let outcome = call.instrument(span.clone()).await;
        hub.metrics.seconds.observe(start.elapsed().as_secs_f64());
        let outcome = match outcome {
            // Most calls have nothing to show.
            Outcome::Done(_) if hub.publishing.ready.is_none() => outcome,
            outcome => {
                let published = Box::pin(publish(&context, cleans_up, outcome));
                published.instrument(span.clone()).await
            }
        };
        let ended = Ended {
            verb,
            key: &context.key,
            run,
            exists: context.object.is_some(),
        };
        span.in_scope(|| settle(&self.shared.hub, &ended, outcome, work))
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

/// Counts an active worker, until it is dropped.
struct Active(Gauge);

impl Active {
    fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        self.0.dec();
    }
}
