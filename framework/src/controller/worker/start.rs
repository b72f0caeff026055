use std::sync::Arc;

use futures_util::future::{BoxFuture, join_all};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{
    invoke::{Invoker, UserCode},
    worker::{WorkerConfig, run_workers},
};
use crate::{
    client::Client,
    controller::{
        builder::{Controller, Reconciler},
        environment::Environment,
        finalizers::Finalizers,
        sources::{Connection, Enqueuer, Wiring, informer},
        state::{BlockingWork, ControllerState, Generations, ResyncPeriod, WriteLimit},
        status::ControllerStatus,
    },
    election::{LeadershipGate, Permit},
    resource::{AccessRule, Object, ObjectKey},
};

impl<R: Reconciler> Controller<R> {
    /// Runs the controller until `cancel`, and returns when no reconcile runs any more. If the future is dropped, running
    /// reconciles are dropped at their next await.
    ///
    /// The owner of `environment` has to run the informers. No reconcile starts before all wired kinds have synced (R4).
    pub fn run(
        self,
        environment: Environment,
        cancel: CancellationToken,
    ) -> impl Future<Output = ()> + Send {
        run(self, environment, cancel)
    }
}

/// A controller from its first listener to its last call.
async fn run<R: Reconciler>(
    controller: Controller<R>,
    mut environment: Environment,
    cancel: CancellationToken,
) {
    if let Err(error) = controller.check() {
        tracing::error!(
            controller = controller.name(),
            "the controller does not start: {error}"
        );
        controller.status().stopped();
        return;
    }
    let (client, guard) =
        controller
            .access_use()
            .guard(&environment, &controller.needs(), &controller.wired());
    for pruned in controller.children.pruned_kinds() {
        // Whether a child has to go is decided by the framework. So nobody could remove this permission from `wire`.
        guard.note_use(&AccessRule::of_resource(&pruned, ["delete"]).into());
    }
    let Controller {
        reconciler,
        name,
        own,
        wirings,
        indexes,
        concurrency,
        timeout,
        every,
        newest_only,
        limiter,
        write_limit,
        failure_events,
        ready_condition,
        sources,
        status,
        children,
        cleanup,
        ..
    } = controller;
    let _stopped = Stopped(status.clone());
    let mut state = ControllerState::new(name, own.resource().clone(), limiter, &environment);
    state.metrics.max_concurrent.set(concurrency as f64);
    let time_limit = timeout.unwrap_or_default();
    state.metrics.time_limit.set(time_limit.as_secs_f64());
    state.write_limit = WriteLimit::new(write_limit);
    state.blocking = BlockingWork::new(concurrency);
    state.resync = every.map(ResyncPeriod::new);
    state.generations = newest_only.then(Generations::default);
    state.history = status.history();
    let state = Arc::new(state);

    status.reports(&state);
    #[cfg(test)]
    status.remembers({
        let state = state.clone();
        move || state.key_states.len() + state.queue.remembered() + state.writes.len()
    });

    let leadership_gate = environment.leadership_gate.clone();
    let abort = environment.abort.clone();
    let finalizers = Finalizers::new(&own.rules, cleanup);
    let own: Box<dyn Wiring<R::Resource>> = Box::new(own);
    let cache = informer::<R::Resource>(&environment, &state.resource).lister();
    if state.history.is_some() {
        let cache = cache.clone();
        let metadata = move |key: &ObjectKey| {
            let object = cache.get(key).ok().flatten();
            object.map(|object| object.metadata().clone())
        };
        state.own_metadata.set(Box::new(metadata)).ok();
    }
    let enqueuer = Enqueuer::open(&state, &cache);
    // Before the first event, so that no mapping misses an index.
    let indexed = indexes.into_iter();
    let indexed: Vec<_> = indexed
        .map(|index| index.connect(&environment, &state.caches))
        .collect();
    let wirings = [own].into_iter().chain(wirings);
    let mut connections: Vec<_> = wirings
        .map(|wiring| wiring.connect(&environment, &enqueuer))
        .collect();
    drop(indexed);
    for connection in &mut connections {
        connection.make_readable(&state.caches);
    }
    children.connect(&environment);
    let added = sources.start(&environment, &enqueuer, &guard);
    let reporter = format!("{}/{}", environment.field_manager, state.name);
    environment.events = environment.events.named(&reporter);
    let user = UserCode {
        reconciler,
        finalizers,
        children,
        sources,
        failure_events,
        ready_condition,
    };
    let invoker = Invoker::new(
        user,
        state.clone(),
        cache,
        client,
        environment,
        cancel.clone(),
    );
    let invoker = Arc::new(invoker);

    let synced = wait_for_caches(&state.name, &mut connections, &status, &cancel).await;
    let permit = if synced {
        state.caches.set_synced();
        wait_for_leadership(leadership_gate.as_ref(), &status, &cancel).await
    } else {
        None
    };
    if let Some(permit) = permit
        && catch_up(
            &state,
            &status,
            &invoker.shared.client,
            leadership_gate.as_ref(),
            &cancel,
        )
        .await
    {
        status.working();
        tracing::info!(controller = state.name, workers = concurrency, "working");
        let mut streams = spawn_streams(&mut connections);
        let config = WorkerConfig {
            concurrency,
            timeout,
            permit,
            cancel: cancel.clone(),
            abort,
        };
        run_workers(&invoker, config).await;
        streams.shutdown().await;
    }
    state.queue.shut_down();
    added.stop().await;
    end(connections, &state).await;
}

// The following is boxed, so that it is compiled in this crate and not in each program.

/// Waits until every wired kind has synced. Returns `false` if the controller is cancelled, or its informers stop, before that.
fn wait_for_caches<'a>(
    name: &'a str,
    connections: &mut [Connection],
    status: &ControllerStatus,
    cancel: &'a CancellationToken,
) -> BoxFuture<'a, bool> {
    let mut statuses = Vec::new();
    let mut synced = Vec::new();
    for connection in connections.iter_mut() {
        statuses.extend(connection.status.clone());
        synced.push(std::mem::replace(
            &mut connection.synced,
            Box::pin(std::future::ready(true)),
        ));
    }
    status.syncing(statuses);
    Box::pin(async move {
        match cancel.run_until_cancelled(join_all(synced)).await {
            Some(all) if all.iter().all(|synced| *synced) => true,
            Some(_) => {
                tracing::warn!(
                    controller = name,
                    "the controller does not start: its informers were stopped"
                );
                false
            }
            None => false,
        }
    })
}

/// Waits until this process is the leader, if the operator has an election. Returns the permit to check before each call, or
/// `None` if the controller is cancelled before.
fn wait_for_leadership<'a>(
    leadership_gate: Option<&'a LeadershipGate>,
    status: &'a ControllerStatus,
    cancel: &'a CancellationToken,
) -> BoxFuture<'a, Option<Option<Permit>>> {
    Box::pin(async move {
        let Some(leadership_gate) = leadership_gate else {
            return Some(None);
        };
        status.standing_by();
        cancel
            .run_until_cancelled(leadership_gate.opened())
            .await
            .map(Some)
    })
}

/// Waits until the caches have reached a consistent list of the API server; with an election, one that was made after this
/// process became the leader. Returns `false` if the controller is cancelled before.
///
/// This is needed without an election too: a first list from an outdated replica would lead to deletions of wanted objects.
fn catch_up<'a>(
    controller: &ControllerState,
    status: &ControllerStatus,
    client: &'a Client,
    leadership_gate: Option<&LeadershipGate>,
    cancel: &'a CancellationToken,
) -> BoxFuture<'a, bool> {
    status.catching_up();
    let catch_up = controller
        .writes
        .catch_up(client, leadership_gate.and_then(LeadershipGate::opened_at));
    Box::pin(async move { cancel.run_until_cancelled(catch_up).await.is_some() })
}

/// Starts to read the streams of the user.
fn spawn_streams(connections: &mut [Connection]) -> JoinSet<()> {
    let streams = connections.iter_mut();
    streams.filter_map(|one| one.stream.take()).collect()
}

fn end(connections: Vec<Connection>, controller: &ControllerState) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        join_all(connections.into_iter().map(|one| one.end(controller))).await;
    })
}

/// Sets the status to stopped when the controller ends, also by a panic.
struct Stopped(ControllerStatus);

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.stopped();
    }
}
