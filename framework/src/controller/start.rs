use std::sync::Arc;

use futures_util::future::join_all;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{
    Controller, ControllerStatus, Environment, Reconciler,
    apply_detached::Claims,
    context::Shared,
    fingerprints::Fingerprints,
    generations::Generations,
    hub::Hub,
    pace::Pace,
    run::{self, Course},
    sources::{Connection, Inlet, Wiring},
};
use crate::{
    election::{Permit, Turn},
    resource::Resource,
};

/// Everything of a controller from its first listener to its last reconcile.
pub(super) async fn run<R: Reconciler>(
    controller: Controller<R>,
    environment: Environment,
    cancel: CancellationToken,
) {
    if let Err(error) = controller.check() {
        tracing::error!(controller = controller.name, "not started: {error}");
        controller.status.stopped();
        return;
    }
    let (client, guard) =
        controller
            .access_use
            .guard(&environment, &controller.needs(), &controller.wired());
    let Controller {
        reconciler,
        name,
        own,
        wirings,
        concurrency,
        timeout,
        every,
        newest_only,
        limiter,
        sources,
        status,
        children,
        finalizers,
        ..
    } = controller;
    let _stopped = Stopped(status.clone());
    let mut hub = Hub::new(name, limiter, &environment);
    hub.metrics.max_concurrent.set(concurrency as f64);
    hub.pace = every.map(Pace::new);
    hub.generations = newest_only.then(Generations::default);
    let hub = Arc::new(hub);

    status.reports(&hub);
    #[cfg(test)]
    status.remembers({
        let hub = hub.clone();
        move || hub.states.len() + hub.queue.remembered() + hub.writes.len()
    });

    let (turn, catch_up) = (environment.turn.clone(), environment.catch_up);
    let abort = environment.abort.clone();
    let own: Box<dyn Wiring<R::Resource>> = Box::new(own);
    let inlet = Inlet::open_to(&hub);
    let wirings = [own].into_iter().chain(wirings);
    let mut connections: Vec<_> = wirings
        .map(|wiring| wiring.connect(&environment, &inlet))
        .collect();
    for connection in &mut connections {
        connection.make_readable(&hub.readers);
    }
    children.connect(&environment);
    let added = sources.start(&environment, &hub, &guard);
    let shared = Arc::new(Shared {
        hub: hub.clone(),
        client,
        events: environment
            .events
            .named(&format!("{}/{}", environment.field_manager, hub.name)),
        field_manager: environment.field_manager,
        fingerprints: Fingerprints::new(),
        children,
        finalizers,
        claims: Claims::default(),
        namespaces: environment.namespaces,
        sources,
        stop: cancel.clone(),
    });

    let synced = sync(&hub.name, &mut connections, &status, &cancel).await;
    let permit = if synced {
        its_turn(turn, &status, &cancel).await
    } else {
        None
    };
    if let Some(permit) = permit
        && caught_up(&shared, catch_up, &cancel).await
    {
        status.working();
        tracing::info!(controller = hub.name, workers = concurrency, "working");
        let pumps = connections.iter_mut().filter_map(|one| one.pump.take());
        let mut pumps: JoinSet<()> = pumps.collect();
        let course = Course {
            concurrency,
            timeout,
            permit,
            cancel: cancel.clone(),
            abort,
        };
        run::work(&reconciler, &shared, course).await;
        pumps.shutdown().await;
    }
    hub.queue.shut_down();
    added.stop().await;
    join_all(connections.into_iter().map(|one| one.end(&hub))).await;
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
        statuses.extend(connection.status.clone());
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

/// Waits, where it has to be, until this process leads, and gives what to ask then before each reconcile. `None`
/// if that will not be.
async fn its_turn(
    turn: Option<Turn>,
    status: &ControllerStatus,
    cancel: &CancellationToken,
) -> Option<Option<Permit>> {
    let Some(turn) = turn else {
        return Some(None);
    };
    status.standing_by();
    cancel.run_until_cancelled(turn.come()).await.map(Some)
}

/// Waits, where it has to be, until the caches have what another process wrote. `false` if that will
/// not be.
async fn caught_up<K: Resource>(
    shared: &Shared<K>,
    needed: bool,
    cancel: &CancellationToken,
) -> bool {
    let catch_up = shared.hub.writes.catch_up(&shared.client);
    !needed || cancel.run_until_cancelled(catch_up).await.is_some()
}

/// Says in the status that the controller has ended, however it ends.
struct Stopped(ControllerStatus);

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.stopped();
    }
}
