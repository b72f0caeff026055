//! How often an informer's task is woken. A task that wakes itself is queued behind others, and makes the runtime
//! wake a thread that finds nothing to do.

use std::{pin::pin, task::Context};

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{
    cache::InformerScope, cache::ListBudget, client::woken::Woken, metrics::Metrics,
    resource::ApiResource,
};

const NAMES: [&str; 3] = ["blue", "green", "red"];

/// A server for each namespace, and an informer of them.
fn three() -> ([FakeServer; 3], SharedInformer<ConfigMap>) {
    let servers = NAMES.map(|name| FakeServer::new().in_namespace(name));
    let source = {
        let servers = servers.clone();
        move |name: Option<&str>| {
            let place = NAMES.iter().position(|one| Some(*one) == name);
            servers[place.unwrap()].clone()
        }
    };
    let informer = SharedInformer::in_namespaces(
        ApiResource::of::<ConfigMap>(),
        InformerScope::all().namespaces(NAMES),
        Metrics::new().informer("", "v1", "configmaps"),
        ListBudget::default(),
        source,
    );
    (servers, informer)
}

#[tokio::test(start_paused = true)]
async fn a_change_wakes_the_informer_once() {
    let (servers, informer) = three();
    let recorded = RecordingListener::at(&informer);
    let woken = Arc::<Woken>::default();
    let waker = woken.waker();
    let mut run = pin!(informer.run(CancellationToken::new()));
    let mut poll = || run.poll_unpin(&mut Context::from_waker(&waker));
    while !informer.has_synced() {
        assert!(poll().is_pending());
        run_ready_tasks().await;
    }
    while woken.take() > 0 {
        assert!(poll().is_pending());
        run_ready_tasks().await;
    }
    recorded.lines();
    for server in servers.iter().chain(&servers) {
        server.put("a");
        assert_eq!(woken.take(), 1, "it changed");
        assert!(poll().is_pending());
        assert_eq!(recorded.lines().len(), 1);
        run_ready_tasks().await;
        assert_eq!(woken.take(), 0, "nothing is left to do");
    }
}

#[tokio::test(start_paused = true)]
async fn busy_namespaces_take_turns() {
    let (servers, informer) = three();
    let recorded = RecordingListener::at(&informer);
    let running = Running::of(informer);
    run_ready_tasks().await;
    assert!(running.informer.has_synced());
    for (server, name) in servers.iter().zip(NAMES) {
        (0..200).for_each(|number| server.put(&format!("{name}{number}")));
    }
    run_ready_tasks().await;
    let lines = recorded.lines();
    assert_eq!(lines.len(), 600);
    let last = NAMES.map(|name| lines.iter().rposition(|line| line.contains(name)));
    assert!(last.iter().all(|last| *last > Some(400)), "{last:?}");
}

/// More objects than the store takes at once, and fewer than the queue has room for, so that nothing waits for room.
#[tokio::test(start_paused = true)]
async fn the_rest_of_a_page_waits_for_nothing_else() {
    let server = FakeServer::new();
    (0..200).for_each(|number| server.put(&number.to_string()));
    let running = Running::of(server.informer());
    run_ready_tasks().await;
    assert!(running.informer.has_synced());
}
