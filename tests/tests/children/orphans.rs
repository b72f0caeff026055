//! Detached children of an owner that went without having been cleaned up.

use std::sync::Arc;

use pilothouse::{
    controller::{
        Action, Cleanup, Context, Controller, OWNER_ANNOTATION, OWNER_UID_LABEL, Reconciler, Result,
    },
    k8s::api::{apps::v1::Deployment, core::v1::ConfigMap},
    resource::Object,
    testing::RequestMatcher,
};
use serde_json::json;

use crate::{Copies, LAST, World, deployment};

/// Removes the object though nobody has cleaned up after it.
async fn force_away(world: &World, name: &str) {
    world.cluster.delete::<Deployment>(name).await.unwrap();
    let free = json!({"metadata": {"finalizers": null}});
    let freed = world.cluster.patch::<Deployment>(name, free).await;
    freed.unwrap();
    world.cluster.settle().await;
    assert!(
        world
            .cluster
            .get::<Deployment>(name)
            .await
            .unwrap()
            .is_none()
    );
}

/// A ConfigMap that says that it is the child of a Deployment.
fn child(name: &str, owner: &str, uid: &str) -> ConfigMap {
    let mark = json!({"group": "apps", "kind": "Deployment", "namespace": "default", "name": owner, "uid": uid});
    let mut map = ConfigMap::named(name);
    map.metadata.labels = Some([(OWNER_UID_LABEL.to_owned(), uid.to_owned())].into());
    map.metadata.annotations = Some([(OWNER_ANNOTATION.to_owned(), mark.to_string())].into());
    map
}

#[tokio::test(start_paused = true)]
async fn what_is_left_of_an_owner_that_never_returns_goes_with_the_next_start() {
    let copies = Copies::default();
    copies.wants(&["team-a/page", "team-b/page"]);
    let mut world = World::start(&copies).await;
    world.create("web").await;
    world.stop().await;
    force_away(&world, "web").await;
    assert_eq!(world.maps().await, ["team-a/page", "team-b/page"]);
    copies.told();

    world.restart(&copies).await;
    assert!(world.maps().await.is_empty());
    // This process had not called anything for it.
    assert!(copies.told().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_is_left_of_an_owner_that_is_forced_away_before_our_eyes_goes_at_once() {
    let copies = Copies::default();
    copies.wants(&["team-a/page"]);
    let world = World::start(&copies).await;
    world.create("web").await;
    copies
        .fails
        .store(true, std::sync::atomic::Ordering::SeqCst);
    force_away(&world, "web").await;
    assert!(world.maps().await.is_empty());
    assert_eq!(copies.told().last().map(String::as_str), Some("deleted"));
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_only_the_server_knows_keeps_its_children() {
    let copies = Copies::default();
    copies.wants(&["team-a/page"]);
    let world = World::start(&copies).await;
    world.cluster.settle().await;
    let faults = world.cluster.faults();
    faults.hold_watches(RequestMatcher::any().verb("watch").resource("deployments"));
    let late = world.cluster.create(&deployment("late")).await.unwrap();
    let there = world.cluster.in_namespace("team-a");
    let page = child("page", "late", late.uid().unwrap());
    let page = there.create(&page).await.unwrap();
    world.cluster.settle().await;
    assert_eq!(world.maps().await, ["team-a/page"]);
    faults.release_watches();
    world.cluster.settle().await;
    let kept = there.get::<ConfigMap>("page").await.unwrap().unwrap();
    assert_eq!(kept.uid(), page.uid());
}

#[tokio::test(start_paused = true)]
async fn what_others_own_or_what_was_let_go_stays() {
    let copies = Copies::default();
    let mut world = World::start(&copies).await;
    world.stop().await;
    let there = world.cluster.in_namespace("team-a");
    let owner = there.create(&ConfigMap::named("owner")).await.unwrap();
    let mut owned = child("owned", "gone", "1");
    let reference =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid()}]);
    owned.metadata.owner_references = serde_json::from_value(reference).unwrap();
    let mut unlabelled = child("unlabelled", "gone", "1");
    unlabelled.metadata.labels = None;
    let mut of_another = child("of-another", "gone", "1");
    of_another.metadata.labels = Some([(OWNER_UID_LABEL.to_owned(), "2".to_owned())].into());
    for map in [owned, unlabelled, of_another, child("orphan", "gone", "1")] {
        there.create(&map).await.unwrap();
    }
    world.restart(&copies).await;
    let kept = ["of-another", "owned", "owner", "unlabelled"];
    assert_eq!(
        world.maps().await,
        kept.map(|name| format!("team-a/{name}"))
    );
}

/// As [`Copies`], and prunes nothing.
#[derive(Clone)]
struct Keeping(Copies);

impl Reconciler for Keeping {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let controller = controller.owns::<ConfigMap>();
        controller.owns_detached::<ConfigMap>().finalizer(LAST)
    }

    async fn reconcile(&self, object: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        self.0.reconcile(object, cx).await
    }
}

impl Cleanup for Keeping {
    async fn cleanup(&self, _: Arc<Deployment>, _: &Context<Deployment>) -> Result {
        Ok(Action::wait())
    }
}

#[tokio::test(start_paused = true)]
async fn who_does_not_prune_deletes_no_orphans() {
    let keeping = Keeping(Copies::default());
    keeping.0.wants(&["team-a/page"]);
    let mut world = World::of(keeping.clone()).await;
    world.create("web").await;
    world.stop().await;
    force_away(&world, "web").await;
    world.process_with(keeping, world.cluster.client().clone());
    world.cluster.settle().await;
    assert_eq!(world.maps().await, ["team-a/page"]);
}

#[tokio::test(start_paused = true)]
async fn a_child_of_an_owner_that_is_not_watched_stays() {
    let copies = Copies::default();
    let mut world = World::start(&copies).await;
    world.stop().await;
    let there = world.cluster.in_namespace("team-a");
    there.create(&child("page", "gone", "1")).await.unwrap();
    let client = world.cluster.client().clone();
    world.process_in(copies.clone(), client.clone(), &["team-a", "team-b"]);
    world.cluster.settle().await;
    assert_eq!(world.maps().await, ["team-a/page"]);
    world.stop().await;
    world.process_in(copies, client, &["team-a", "default"]);
    world.cluster.settle().await;
    assert!(world.maps().await.is_empty());
}
