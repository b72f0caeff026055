//! Finalizers, from before the first reconcile until the object is deleted.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use http::{Method, Request};
use parking_lot::Mutex;
use pilothouse::{
    client::{Body, BoxError, Client},
    controller::{Action, Cleanup, Context, Controller, Predicate, Reconciler, Result},
    k8s::api::apps::v1::Deployment,
    resource::ObjectKey,
    testing::{Answer, Cluster, RequestMatcher},
};
use serde_json::{Value, json};

use crate::children::{Copies, FIRST, LAST, World, deployment};

#[tokio::test(start_paused = true)]
async fn finalizers_are_set_before_the_first_reconcile_and_removed_one_by_one() {
    let copies = Copies::default();
    let world = World::start(&copies).await;
    world.create("web").await;
    assert_eq!(copies.take_log(), ["reconcile with 2"]);

    world.cluster.delete::<Deployment>("web").await.unwrap();
    world.cluster.settle().await;
    let first = format!("clean up {FIRST} of 2");
    let last = format!("clean up {LAST} of 1");
    assert_eq!(copies.take_log(), [first.as_str(), &last, "deleted"]);
    assert!(
        world
            .cluster
            .get::<Deployment>("web")
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test(start_paused = true)]
async fn a_failed_cleanup_keeps_the_object_and_the_finalizers_of_others() {
    let copies = Copies::default();
    let world = World::start(&copies).await;
    let mut web = deployment("web");
    web.metadata.finalizers = Some(vec!["other.example.com/x".into()]);
    world.cluster.create(&web).await.unwrap();
    world.cluster.settle().await;
    copies.fails.store(true, Ordering::SeqCst);
    world.cluster.delete::<Deployment>("web").await.unwrap();
    world.cluster.settle().await;
    let web = world
        .cluster
        .get::<Deployment>("web")
        .await
        .unwrap()
        .unwrap();
    let all = ["other.example.com/x", FIRST, LAST]
        .map(str::to_owned)
        .to_vec();
    assert_eq!(web.metadata.finalizers, Some(all));

    copies.fails.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(600)).await;
    let web = world
        .cluster
        .get::<Deployment>("web")
        .await
        .unwrap()
        .unwrap();
    let others = vec!["other.example.com/x".to_owned()];
    assert_eq!(web.metadata.finalizers, Some(others));
}

#[tokio::test(start_paused = true)]
async fn a_predicate_cannot_hide_an_object_that_waits_for_our_finalizers() {
    let copies = Copies::default();
    let mut world = World::start(&copies).await;
    world.create("web").await;
    world.stop().await;
    world.cluster.delete::<Deployment>("web").await.unwrap();
    copies.take_log();
    copies.hides_deletions.store(true, Ordering::SeqCst);
    world.restart(&copies).await;
    let first = format!("clean up {FIRST} of 2");
    let last = format!("clean up {LAST} of 1");
    assert_eq!(copies.take_log(), [first.as_str(), &last, "deleted"]);
}

/// Its predicate hides every change.
struct Hidden(Copies);

impl Reconciler for Hidden {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let hides = Predicate::changes(|_| Some(false));
        controller.when(hides).finalizer(FIRST)
    }

    async fn reconcile(&self, object: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        self.0.reconcile(object, cx).await
    }
}

impl Cleanup for Hidden {
    async fn cleanup(&self, object: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        self.0.cleanup(object, cx).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_predicate_cannot_hide_the_deletion_of_an_object_that_was_never_reconciled() {
    let copies = Copies::default();
    let world = World::of(Hidden(copies.clone())).await;
    let mut web = deployment("web");
    web.metadata.finalizers = Some(vec![FIRST.into()]);
    world.cluster.create(&web).await.unwrap();
    world.cluster.settle().await;
    world.cluster.delete::<Deployment>("web").await.unwrap();
    world.cluster.settle().await;
    assert_eq!(copies.take_log(), [format!("clean up {FIRST} of 1")]);
}

#[tokio::test(start_paused = true)]
async fn an_object_without_our_finalizers_gets_no_cleanup() {
    let copies = Copies::default();
    let mut world = World::start(&copies).await;
    world.stop().await;
    let mut web = deployment("web");
    web.metadata.finalizers = Some(vec!["other.example.com/x".into()]);
    world.cluster.create(&web).await.unwrap();
    world.cluster.delete::<Deployment>("web").await.unwrap();
    world.restart(&copies).await;
    assert!(copies.take_log().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_object_deleted_before_its_finalizers_are_set_triggers_no_call() {
    let copies = Copies::default();
    let world = World::start(&copies).await;
    let deployments = RequestMatcher::any().resource("deployments");
    let faults = world.cluster.faults();
    let refused = Answer::status(500, "InternalError");
    faults.answer(deployments.clone().verb("patch"), refused, 8);
    world.cluster.create(&deployment("web")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    faults.hold_watches(deployments.verb("watch"));
    world.cluster.delete::<Deployment>("web").await.unwrap();
    // The next attempt finds no object.
    tokio::time::sleep(Duration::from_secs(5)).await;
    faults.release_watches();
    world.cluster.settle().await;
    assert_eq!(copies.take_log(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_object_whose_kind_was_not_served_when_its_finalizers_were_set_is_reconciled_later() {
    let copies = Copies::default();
    let world = World::start(&copies).await;
    let patches = RequestMatcher::any().resource("deployments").verb("patch");
    // It names no object, so only the kind is missing.
    let not_served = Answer::status(404, "NotFound");
    world.cluster.faults().answer(patches, not_served, 1);
    world.create("web").await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(copies.take_log(), ["reconcile with 2"]);
}

#[tokio::test(start_paused = true)]
async fn forced_removal_of_finalizers_only_calls_deleted() {
    let copies = Copies::default();
    let world = World::start(&copies).await;
    copies.fails.store(true, Ordering::SeqCst);
    world.create("web").await;
    world.cluster.delete::<Deployment>("web").await.unwrap();
    let none = json!({"metadata": {"finalizers": null}});
    world
        .cluster
        .patch::<Deployment>("web", none)
        .await
        .unwrap();
    world.cluster.settle().await;
    assert_eq!(
        copies.take_log().last().map(String::as_str),
        Some("deleted")
    );
}

/// Returns a client of the same server. Before it sends its first patch of finalizers, somebody else changes the
/// Deployment `web`.
fn interrupted(cluster: &Cluster, change: Value) -> Client {
    let (cluster, again) = (cluster.clone(), Arc::new(AtomicBool::new(false)));
    Client::from_service(tower::service_fn(move |request: Request<Body>| {
        let (cluster, change, again) = (cluster.clone(), change.clone(), again.clone());
        async move {
            if request.method() == Method::PATCH && !again.swap(true, Ordering::SeqCst) {
                cluster.patch::<Deployment>("web", change).await?;
            }
            Ok::<_, BoxError>(cluster.client().send(request).await?)
        }
    }))
}

#[tokio::test(start_paused = true)]
async fn concurrent_finalizer_changes_of_others_are_not_lost() {
    let copies = Copies::default();
    let mut world = World::start(&copies).await;
    world.stop().await;
    let theirs = json!({"metadata": {"finalizers": ["other.example.com/x"]}});
    world.create("web").await;
    world.process_with(copies.clone(), interrupted(&world.cluster, theirs));
    world.cluster.settle().await;
    // The other change triggers another reconcile.
    assert_eq!(copies.take_log(), ["reconcile with 3", "reconcile with 3"]);

    // Others remove their finalizer while we remove ours, or replace it with another one.
    world.stop().await;
    world.cluster.delete::<Deployment>("web").await.unwrap();
    let gone = json!({"metadata": {"annotations": {"seen": "true"}, "finalizers": [FIRST, LAST]}});
    world.process_with(copies.clone(), interrupted(&world.cluster, gone));
    world.cluster.settle().await;
    let first = format!("clean up {FIRST} of 3");
    let last = format!("clean up {LAST} of 1");
    assert_eq!(copies.take_log(), [first.as_str(), &last, "deleted"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_whose_deletion_begins_meanwhile_gets_no_finalizers() {
    let copies = Copies::default();
    let mut world = World::start(&copies).await;
    world.stop().await;
    let mut web = deployment("web");
    web.metadata.finalizers = Some(vec!["other.example.com/x".into()]);
    world.cluster.create(&web).await.unwrap();
    let (cluster, patches) = (world.cluster.clone(), Arc::new(AtomicUsize::new(0)));
    let counter = patches.clone();
    let client = Client::from_service(tower::service_fn(move |request: Request<Body>| {
        let (cluster, patches) = (cluster.clone(), counter.clone());
        async move {
            if request.method() == Method::PATCH && patches.fetch_add(1, Ordering::SeqCst) == 0 {
                cluster.delete::<Deployment>("web").await?;
            }
            Ok::<_, BoxError>(cluster.client().send(request).await?)
        }
    }));
    world.process_with(copies.clone(), client);
    world.cluster.settle().await;
    assert!(copies.take_log().is_empty());
    assert_eq!(patches.load(Ordering::SeqCst), 1);
    let web = world.cluster.get::<Deployment>("web").await.unwrap();
    let left = web.unwrap().metadata.finalizers;
    assert_eq!(left, Some(vec!["other.example.com/x".to_owned()]));
}

/// A slow reconciler that records whether calls overlap.
#[derive(Clone, Default)]
struct Slow {
    active: Arc<AtomicUsize>,
    overlaps: Arc<AtomicUsize>,
    calls: Arc<Mutex<BTreeSet<&'static str>>>,
}

impl Slow {
    async fn call(&self, name: &'static str) {
        let others = self.active.fetch_add(1, Ordering::SeqCst);
        self.overlaps.fetch_add(others, Ordering::SeqCst);
        self.calls.lock().insert(name);
        let _leaves = Leaves(&self.active);
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
}

/// Records the end of a call, also if the call is dropped.
struct Leaves<'a>(&'a AtomicUsize);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Reconciler for Slow {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let timeout = Duration::from_millis(3500);
        controller.concurrency(8).timeout(timeout).finalizer(FIRST)
    }

    async fn reconcile(&self, _: Arc<Deployment>, _: &Context<Deployment>) -> Result {
        self.call("reconcile").await;
        Ok(Action::wait())
    }

    async fn deleted(&self, _: &ObjectKey, _: &Context<Deployment>) -> Result<()> {
        self.call("deleted").await;
        Ok(())
    }
}

impl Cleanup for Slow {
    async fn cleanup(&self, object: Arc<Deployment>, _: &Context<Deployment>) -> Result {
        self.call("cleanup").await;
        if object.metadata.annotations.is_none() {
            // Longer than the time limit.
            self.call("cleanup").await;
        }
        Ok(Action::wait())
    }
}

#[tokio::test(start_paused = true)]
async fn r1_reconcile_cleanup_and_deleted_of_one_key_never_overlap() {
    let slow = Slow::default();
    let world = World::of(slow.clone()).await;
    let pass = |millis| tokio::time::sleep(Duration::from_millis(millis));
    for round in 0..4 {
        // The object is deleted during its reconcile, and changed and created again during its cleanup.
        world.cluster.create(&deployment("web")).await.unwrap();
        pass(2500).await;
        world.cluster.delete::<Deployment>("web").await.unwrap();
        pass(3000).await;
        // The object may already be deleted.
        let touched = json!({"metadata": {"annotations": {"touched": "true"}}});
        let none = json!({"metadata": {"finalizers": null}});
        for (change, after) in [(touched, 900 * round), (none, 0)] {
            let _gone = world.cluster.patch::<Deployment>("web", change).await;
            pass(after).await;
        }
        world.cluster.until_gone::<Deployment>("web").await.unwrap();
    }
    pass(60_000).await;
    let calls = slow.calls.lock().clone();
    assert_eq!(calls, BTreeSet::from(["cleanup", "deleted", "reconcile"]));
    assert_eq!(slow.overlaps.load(Ordering::SeqCst), 0);
    assert_eq!(slow.active.load(Ordering::SeqCst), 0);
}
