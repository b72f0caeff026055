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
    run,
    sources::{Connection, Inlet, Wiring},
};
use crate::resource::Resource;

/// Everything of a controller from its first listener to its last reconcile.
pub(super) async fn run<R: Reconciler>(
    controller: Controller<R>,
    environment: Environment,
    cancel: CancellationToken,
) {
    let client =
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

    #[cfg(test)]
    status.remembers({
        let hub = hub.clone();
        move || hub.states.len() + hub.queue.remembered()
    });

    let own: Box<dyn Wiring<R::Resource>> = Box::new(own);
    let inlet = Inlet::open_to(&hub);
    let wirings = [own].into_iter().chain(wirings);
    let mut connections: Vec<_> = wirings
        .map(|wiring| wiring.connect(&environment, &inlet))
        .collect();
    for readable in connections.iter().filter_map(|one| one.readable.as_ref()) {
        readable(&hub.readers, true);
    }
    children.connect(&environment);
    let added = sources.start(&environment, &hub);
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
    if synced && caught_up(&shared, environment.catch_up, &cancel).await {
        status.working();
        tracing::info!(controller = hub.name, workers = concurrency, "working");
        let pumps = connections.iter_mut().filter_map(|one| one.pump.take());
        let mut pumps: JoinSet<()> = pumps.collect();
        run::work(&reconciler, &shared, concurrency, timeout, &cancel).await;
        pumps.shutdown().await;
    }
    hub.queue.shut_down();
    added.stop().await;
    hub.writes.unfollow().await;
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
