use std::sync::Arc;

use futures_util::future::{BoxFuture, join_all};
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
    publish::Publishing,
    run::{self, Course},
    sources::{Connection, Inlet, Wiring, informer},
};
use crate::{
    client::Client,
    election::{Permit, Turn},
    resource::{ApiResource, Resource},
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
    let publishing = Publishing::of(&controller, &environment.field_manager);
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
    let mut hub = Hub::new(name, R::Resource::KIND, limiter, &environment);
    hub.metrics.max_concurrent.set(concurrency as f64);
    hub.pace = every.map(Pace::new);
    hub.publishing = publishing;
    hub.generations = newest_only.then(Generations::default);
    let hub = Arc::new(hub);

    status.reports(&hub);
    #[cfg(test)]
    status.remembers({
        let hub = hub.clone();
        move || hub.states.len() + hub.queue.remembered() + hub.writes.len()
    });

    let turn = environment.turn.clone();
    let abort = environment.abort.clone();
    let own: Box<dyn Wiring<R::Resource>> = Box::new(own);
    let cache = informer::<R::Resource>(&environment, &ApiResource::of::<R::Resource>()).lister();
    let inlet = Inlet::open_to(&hub, &cache);
    let wirings = [own].into_iter().chain(wirings);
    let mut connections: Vec<_> = wirings
        .map(|wiring| wiring.connect(&environment, &inlet))
        .collect();
    for connection in &mut connections {
        connection.make_readable(&hub.readers);
    }
    children.connect(&environment);
    let added = sources.start(&environment, &inlet, &guard);
    let shared = Arc::new(Shared {
        hub: hub.clone(),
        own: cache,
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
        its_turn(turn.as_ref(), &status, &cancel).await
    } else {
        None
    };
    if let Some(permit) = permit
        && caught_up(&hub, &shared.client, turn.as_ref(), &cancel).await
    {
        status.working();
        tracing::info!(controller = hub.name, workers = concurrency, "working");
        let mut pumps = pump(&mut connections);
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
    end(connections, &hub).await;
}

// What follows is boxed, so that it is built in this crate and not in each program.

/// Waits until every wired kind has synced. `false` if that will not be.
fn sync<'a>(
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
                tracing::warn!(controller = name, "not started: its informers were stopped");
                false
            }
            None => false,
        }
    })
}

/// Waits, where it has to be, until this process leads, and gives what to ask then before each reconcile. `None`
/// if that will not be.
fn its_turn<'a>(
    turn: Option<&'a Turn>,
    status: &'a ControllerStatus,
    cancel: &'a CancellationToken,
) -> BoxFuture<'a, Option<Option<Permit>>> {
    Box::pin(async move {
        let Some(turn) = turn else {
            return Some(None);
        };
        status.standing_by();
        cancel.run_until_cancelled(turn.come()).await.map(Some)
    })
}

/// Waits until the caches have reached a consistent list: one that was made after this process's turn came, if it has to
/// wait for its turn. `false` if the controller is cancelled before.
///
/// Without an election, too: a first list that an old replica answered would lead to deletions of what is wanted.
fn caught_up<'a>(
    hub: &Hub,
    client: &'a Client,
    turn: Option<&Turn>,
    cancel: &'a CancellationToken,
) -> BoxFuture<'a, bool> {
    let catch_up = hub.writes.catch_up(client, turn.and_then(Turn::since));
    Box::pin(async move { cancel.run_until_cancelled(catch_up).await.is_some() })
}

/// Starts what has to run while the controller works.
fn pump(connections: &mut [Connection]) -> JoinSet<()> {
    let pumps = connections.iter_mut();
    pumps.filter_map(|one| one.pump.take()).collect()
}

fn end(connections: Vec<Connection>, hub: &Hub) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        join_all(connections.into_iter().map(|one| one.end(hub))).await;
    })
}

/// Says in the status that the controller has ended, however it ends.
struct Stopped(ControllerStatus);

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.stopped();
    }
}
