use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, future::join_all};
use tokio::{task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{
    Action, Context, Controller, ControllerStatus, Environment, Failure, Reconciler,
    context::Shared,
    fingerprints::Fingerprints,
    hub::{Hub, message},
    key_states::KeyStates,
    readers::Readers,
    wiring::{Connection, Wiring, informer},
};
use crate::{
    queue::WorkQueue,
    resource::{ObjectKey, Resource},
};

/// Everything of a controller from its first listener to its last reconcile.
pub(super) async fn run<R: Reconciler>(
    controller: Controller<R>,
    environment: Environment,
    cancel: CancellationToken,
) {
    let Controller {
        reconciler,
        name,
        own,
        wirings,
        concurrency,
        timeout,
        limiter,
        status,
    } = controller;
    let _stopped = Stopped(status.clone());
    let metrics = environment.metrics.controller(&name);
    metrics.max_concurrent.set(concurrency as f64);
    let workqueue = environment.metrics.workqueue(&name);
    let hub = Arc::new(Hub {
        queue: WorkQueue::with(limiter, Some(workqueue)),
        states: KeyStates::default(),
        own: informer::<R::Resource>(&environment).lister(),
        metrics,
        name,
    });

    let own: Box<dyn Wiring<R::Resource>> = Box::new(own);
    let mut readers = Readers::default();
    let mut connections = Vec::new();
    for wiring in [own].into_iter().chain(wirings) {
        wiring.read(&environment, &mut readers);
        connections.push(wiring.connect(&environment, &hub));
    }
    let shared = Arc::new(Shared {
        hub: hub.clone(),
        readers,
        client: environment.client,
        field_manager: environment.field_manager,
        fingerprints: Fingerprints::new(),
    });

    if sync(&hub.name, &mut connections, &status, &cancel).await {
        status.working();
        tracing::info!(controller = hub.name, workers = concurrency, "working");
        work(&reconciler, &shared, concurrency, timeout, &cancel).await;
    }
    hub.queue.shut_down();
    let subscriptions = connections
        .iter()
        .filter_map(|one| one.subscription.as_ref());
    join_all(subscriptions.map(|subscription| subscription.remove())).await;
}

/// Waits until every wired kind has synced. `false` if that will not be.
async fn sync(
    name: &str,
    connections: &mut [Connection],
    status: &ControllerStatus,
    cancel: &CancellationToken,
) -> bool {
    let mut statuses = Vec::new();
    let mut synced = Vec::new();
    for connection in connections.iter_mut() {
        statuses.push(connection.status.clone());
        synced.push(std::mem::replace(
            &mut connection.synced,
            Box::pin(std::future::ready(true)),
        ));
    }
    status.syncing(statuses);
    match cancel.run_until_cancelled(join_all(synced)).await {
        Some(all) if all.iter().all(|synced| *synced) => true,
        Some(_) => {
            tracing::warn!(controller = name, "not started: its informers were stopped");
            false
        }
        None => false,
    }
}

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
                && let Some(Some(key)) = cancel.run_until_cancelled(queue.get()).await
            {
                let running = Running { queue: &queue, key };
                worker.handle(&running.key).await;
            }
        });
    }
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

/// How a call of the user's code ended.
enum Outcome {
    Done(Action),
    /// `deleted` ended well: nothing of the key is left.
    Gone,
    Failed(Failure),
    Panicked(String),
    TimedOut(Duration),
}

impl<R: Reconciler> Worker<R> {
    async fn handle(&self, key: &ObjectKey) {
        let hub = &self.shared.hub;
        // Level, not edge: what the cache has now is what counts.
        let object = match hub.own.get(key) {
            Ok(object) => object,
            // Its cache has told why. The next version that decodes leads here again.
            Err(_undecodable) => return,
        };
        match &object {
            Some(_) => hub.states.begin(key),
            None if hub.states.contains(key) => {}
            None => return hub.queue.forget(key),
        }
        let run = self.runs.fetch_add(1, Ordering::Relaxed) + 1;
        let span = tracing::info_span!(
            "reconcile",
            controller = hub.name,
            namespace = key.namespace(),
            name = key.name(),
            id = run,
        );
        let context = Context {
            key: key.clone(),
            object: object.clone(),
            run,
            shared: self.shared.clone(),
        };
        let verb = if object.is_some() {
            "reconcile"
        } else {
            "clean up after"
        };

        let _active = Active::new(hub);
        let start = Instant::now();
        let outcome = self.call(object, &context).instrument(span.clone()).await;
        hub.metrics.seconds.observe(start.elapsed().as_secs_f64());
        span.in_scope(|| self.settle(verb, &context, outcome));
    }

    /// Calls the user's code. When this returns the call is over: nothing of it runs any more.
    async fn call(
        &self,
        object: Option<Arc<R::Resource>>,
        context: &Context<R::Resource>,
    ) -> Outcome {
        let call = async {
            let ended = match object {
                Some(object) => {
                    let ended = self.reconciler.reconcile(object, context).await;
                    ended.map(Outcome::Done)
                }
                None => {
                    let ended = self.reconciler.deleted(&context.key, context).await;
                    ended.map(|()| Outcome::Gone)
                }
            };
            // The error is the user's code, too: here a panic of its text is caught.
            ended.unwrap_or_else(|failure| Outcome::Failed(failure.told()))
        };
        // Within it the call is dropped as well, so that a panic on the way out is caught.
        let limited = async {
            match self.timeout {
                Some(limit) => tokio::time::timeout(limit, call)
                    .await
                    .unwrap_or(Outcome::TimedOut(limit)),
                None => call.await,
            }
        };
        let ended = AssertUnwindSafe(limited).catch_unwind().await;
        ended.unwrap_or_else(|panic| Outcome::Panicked(message(&*panic).to_owned()))
    }

    fn settle(&self, verb: &str, context: &Context<R::Resource>, outcome: Outcome) {
        let hub = &self.shared.hub;
        let key = &context.key;
        let failure = match outcome {
            Outcome::Done(action) => {
                hub.queue.forget(key);
                // What an earlier run applied and this one did not is not ours to skip any more.
                hub.states.with(key, |state| {
                    state
                        .applied
                        .retain(|_, applied| applied.run == context.run);
                });
                match action.after {
                    Some(delay) => {
                        hub.metrics.requeue_after.inc();
                        hub.queue.add_after(key.clone(), delay);
                    }
                    None => hub.metrics.success.inc(),
                }
                return;
            }
            Outcome::Gone => {
                hub.metrics.success.inc();
                hub.states.remove(key);
                hub.queue.forget(key);
                return;
            }
            Outcome::Failed(failure) => failure,
            Outcome::Panicked(message) => {
                hub.metrics.panics.inc();
                Failure::new(format!("panicked: {message}"))
            }
            Outcome::TimedOut(limit) => {
                hub.metrics.timeouts.inc();
                Failure::new(format!("not done within {limit:?}"))
            }
        };
        hub.metrics.error.inc();
        hub.metrics.errors.inc();
        let kind = R::Resource::KIND;
        if failure.is_terminal() {
            hub.metrics.terminal_errors.inc();
            hub.queue.forget(key);
            if context.object.is_none() {
                hub.states.remove(key);
            }
            tracing::error!("{verb} {kind} {key} failed (not retried): {failure}");
            return;
        }
        let retry = hub.queue.retry(key.clone(), failure.at_least());
        tracing::warn!(
            "{verb} {kind} {key} failed (attempt {}, next in {}): {failure}",
            retry.attempt,
            Rounded(retry.delay),
        );
    }
}

/// `20ms`, `1.3s`, `5m0s`: as precise as a reader needs.
struct Rounded(Duration);

impl std::fmt::Display for Rounded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.0.as_secs_f64();
        match self.0.as_secs() {
            0 => write!(f, "{}ms", self.0.as_millis()),
            1..60 => write!(f, "{}s", (seconds * 10.0).round() / 10.0),
            whole => write!(f, "{}m{}s", whole / 60, whole % 60),
        }
    }
}

/// A key that is worked on, given back however the work ends.
struct Running<'a> {
    queue: &'a WorkQueue<ObjectKey>,
    key: ObjectKey,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.queue.done(&self.key);
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

/// Says in the status that the controller has ended, however it ends.
struct Stopped(ControllerStatus);

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.stopped();
    }
}
