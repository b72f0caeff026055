//! Finalizers, from before the first reconcile until the object goes.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use http::{Method, Request};
use pilothouse::{
    client::{Body, BoxError, Client},
    controller::{Action, Cleanup, Context, Controller, Reconciler, Result},
    k8s::api::apps::v1::Deployment,
    resource::ObjectKey,
    testing::{Answer, Cluster, RequestMatcher},
};
use serde_json::{Value, json};

use crate::{Copies, FIRST, LAST, World, deployment};

#[tokio::test(start_paused = true)]
async fn the_finalizers_stand_before_the_first_reconcile_and_go_one_after_the_other() {
    let copies = Copies::default();
    let world = World::start(&copies).await;
    world.create("web").await;
    assert_eq!(copies.told(), ["reconcile with 2"]);

    world.cluster.delete::<Deployment>("web").await.unwrap();
    world.cluster.settle().await;
    let first = format!("clean up {FIRST} of 2");
    let last = format!("clean up {LAST} of 1");
    assert_eq!(copies.told(), [first.as_str(), &last, "deleted"]);
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
async fn a_cleanup_that_fails_keeps_the_object_and_others_finalizers_are_not_touched() {
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
async fn no_predicate_swallows_that_an_object_waits_for_our_finalizers() {
    let copies = Copies::default();
    let mut world = World::start(&copies).await;
    world.create("web").await;
    world.stop().await;
    world.cluster.delete::<Deployment>("web").await.unwrap();
    copies.told();
    copies.looks_away.store(true, Ordering::SeqCst);
    world.restart(&copies).await;
    let first = format!("clean up {FIRST} of 2");
    let last = format!("clean up {LAST} of 1");
    assert_eq!(copies.told(), [first.as_str(), &last, "deleted"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_goes_without_our_finalizers_is_not_cleaned_up() {
    let copies = Copies::default();
    let mut world = World::start(&copies).await;
    world.stop().await;
    let mut web = deployment("web");
    web.metadata.finalizers = Some(vec!["other.example.com/x".into()]);
    world.cluster.create(&web).await.unwrap();
    world.cluster.delete::<Deployment>("web").await.unwrap();
    world.restart(&copies).await;
    assert!(copies.told().is_empty());
}

#[tokio::test(start_paused = true)]
async fn of_an_object_that_goes_before_the_finalizers_stand_nothing_is_told() {
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
    // The next try finds no object.
    tokio::time::sleep(Duration::from_secs(5)).await;
    faults.release_watches();
    world.cluster.settle().await;
    assert_eq!(copies.told(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn finalizers_that_were_removed_by_force_lead_to_deleted_alone() {
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
    assert_eq!(copies.told().last().map(String::as_str), Some("deleted"));
}

/// A client of the same server that lets somebody else change Deployment `web` before its first patch of
/// finalizers goes on its way.
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
async fn what_others_do_to_the_finalizers_at_the_same_time_is_not_lost() {
    let copies = Copies::default();
    let mut world = World::start(&copies).await;
    world.stop().await;
    let theirs = json!({"metadata": {"finalizers": ["other.example.com/x"]}});
    world.create("web").await;
    world.process_with(copies.clone(), interrupted(&world.cluster, theirs));
    world.cluster.settle().await;
    // Their change leads to another one.
    assert_eq!(copies.told(), ["reconcile with 3", "reconcile with 3"]);

    // They take it back while we remove ours, or put another one in its place.
    world.stop().await;
    world.cluster.delete::<Deployment>("web").await.unwrap();
    let gone = json!({"metadata": {"annotations": {"seen": "true"}, "finalizers": [FIRST, LAST]}});
    world.process_with(copies.clone(), interrupted(&world.cluster, gone));
    world.cluster.settle().await;
    let first = format!("clean up {FIRST} of 3");
    let last = format!("clean up {LAST} of 1");
    assert_eq!(copies.told(), [first.as_str(), &last, "deleted"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_of_which_the_deletion_begins_meanwhile_gets_no_finalizers() {
    let copies = Copies::default();
    let mut world = World::start(&copies).await;
    world.stop().await;
    let mut web = deployment("web");
    web.metadata.finalizers = Some(vec!["other.example.com/x".into()]);
    world.cluster.create(&web).await.unwrap();
    let (cluster, again) = (world.cluster.clone(), Arc::new(AtomicBool::new(false)));
    let client = Client::from_service(tower::service_fn(move |request: Request<Body>| {
        let (cluster, again) = (cluster.clone(), again.clone());
        async move {
            if request.method() == Method::PATCH && !again.swap(true, Ordering::SeqCst) {
                cluster.delete::<Deployment>("web").await?;
            }
            Ok::<_, BoxError>(cluster.client().send(request).await?)
        }
    }));
    world.process_with(copies.clone(), client);
    world.cluster.settle().await;
    assert!(copies.told().is_empty());
    let web = world.cluster.get::<Deployment>("web").await.unwrap();
    let left = web.unwrap().metadata.finalizers;
    assert_eq!(left, Some(vec!["other.example.com/x".to_owned()]));
}

/// Takes its time, and notes whether anybody else is there at the same time.
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
        self.calls.lock().unwrap().insert(name);
        let _leaves = Leaves(&self.active);
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
}

/// However a call ends, dropped included.
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
            // Longer than is allowed.
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
        // Deleted while it is reconciled, changed and created anew while it is cleaned up.
        world.cluster.create(&deployment("web")).await.unwrap();
        pass(2500).await;
        world.cluster.delete::<Deployment>("web").await.unwrap();
        pass(3000).await;
        // By now it may be gone.
        let touched = json!({"metadata": {"annotations": {"touched": "true"}}});
        let none = json!({"metadata": {"finalizers": null}});
        for (change, after) in [(touched, 900 * round), (none, 0)] {
            let _gone = world.cluster.patch::<Deployment>("web", change).await;
            pass(after).await;
        }
        world.cluster.until_gone::<Deployment>("web").await.unwrap();
    }
    pass(60_000).await;
    let calls = slow.calls.lock().unwrap().clone();
    assert_eq!(calls, BTreeSet::from(["cleanup", "deleted", "reconcile"]));
    assert_eq!(slow.overlaps.load(Ordering::SeqCst), 0);
    assert_eq!(slow.active.load(Ordering::SeqCst), 0);
}
