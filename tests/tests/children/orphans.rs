//! Detached children of an owner that was deleted without a cleanup.

use std::{sync::Arc, time::Duration};

use pilothouse::{
    controller::{
        Action, Cleanup, Context, Controller, OWNER_ANNOTATION, OWNER_UID_LABEL, Owned, Reconciler,
        Result,
    },
    k8s::api::{apps::v1::Deployment, core::v1::ConfigMap},
    operator::Operator,
    resource::Object,
    testing::{Answer, Cluster, RequestMatcher, Sandbox},
};
use serde_json::json;

use crate::children::{Copies, LAST, World, applied, deployment};

/// Removes the object and its finalizers without a cleanup.
async fn force_delete(world: &World, name: &str) {
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

/// Returns a ConfigMap that is marked as the child of a Deployment.
pub(crate) fn child(name: &str, owner: &str, uid: &str) -> ConfigMap {
    let mark = json!({"group": "apps", "kind": "Deployment", "namespace": "default", "name": owner, "uid": uid});
    let mut map = ConfigMap::named(name);
    map.metadata.labels = Some([(OWNER_UID_LABEL.to_owned(), uid.to_owned())].into());
    map.metadata.annotations = Some([(OWNER_ANNOTATION.to_owned(), mark.to_string())].into());
    map
}

#[tokio::test(start_paused = true)]
async fn children_of_an_owner_that_is_gone_are_deleted_at_the_next_start() {
    let copies = Copies::default();
    copies.wants(&["team-a/page", "team-b/page"]);
    let mut world = World::start(&copies).await;
    world.create("web").await;
    world.stop().await;
    force_delete(&world, "web").await;
    assert_eq!(world.maps().await, ["team-a/page", "team-b/page"]);
    copies.take_log();

    world.restart(&copies).await;
    assert!(world.maps().await.is_empty());
    // This process made no call for it.
    assert!(copies.take_log().is_empty());
}

#[tokio::test(start_paused = true)]
async fn children_of_an_owner_removed_by_force_are_deleted_at_once() {
    let copies = Copies::default();
    copies.wants(&["team-a/page"]);
    let world = World::start(&copies).await;
    world.create("web").await;
    copies
        .fails
        .store(true, std::sync::atomic::Ordering::SeqCst);
    force_delete(&world, "web").await;
    assert!(world.maps().await.is_empty());
    assert_eq!(
        copies.take_log().last().map(String::as_str),
        Some("deleted")
    );
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_the_cache_lacks_keeps_its_children() {
    let copies = Copies::default();
    copies.wants(&["team-a/page"]);
    let world = World::start(&copies).await;
    world.cluster.settle().await;
    let faults = world.cluster.faults();
    faults.hold_watches(RequestMatcher::any().verb("watch").resource("deployments"));
    let late = world.cluster.create(&deployment("late")).await.unwrap();
    let there = world.cluster.in_namespace("team-a");
    let mut page = child("page", "late", late.uid().unwrap());
    page.metadata.namespace = Some("team-a".into());
    world.applied(&page).await;
    let page = there.get::<ConfigMap>("page").await.unwrap().unwrap();
    world.cluster.settle().await;
    assert_eq!(world.maps().await, ["team-a/page"]);
    faults.release_watches();
    world.cluster.settle().await;
    let kept = there.get::<ConfigMap>("page").await.unwrap().unwrap();
    assert_eq!(kept.uid(), page.uid());
}

#[tokio::test(start_paused = true)]
async fn orphans_that_are_released_copied_or_owned_by_others_stay() {
    let copies = Copies::default();
    let mut world = World::start(&copies).await;
    world.stop().await;
    let there = world.cluster.in_namespace("team-a");
    there.create(&child("copied", "gone", "1")).await.unwrap();
    let owner = there.create(&ConfigMap::named("owner")).await.unwrap();
    let mut owned = child("owned", "gone", "1");
    let reference =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid()}]);
    owned.metadata.owner_references = serde_json::from_value(reference).unwrap();
    let mut unlabelled = child("unlabelled", "gone", "1");
    unlabelled.metadata.labels = None;
    let mut of_another = child("of-another", "gone", "1");
    of_another.metadata.labels = Some([(OWNER_UID_LABEL.to_owned(), "2".to_owned())].into());
    for mut map in [owned, unlabelled, of_another, child("orphan", "gone", "1")] {
        map.metadata.namespace = Some("team-a".into());
        world.applied(&map).await;
    }
    world.restart(&copies).await;
    let kept = ["copied", "of-another", "owned", "owner", "unlabelled"];
    assert_eq!(
        world.maps().await,
        kept.map(|name| format!("team-a/{name}"))
    );
}

/// Like [`Copies`], but prunes nothing.
#[derive(Clone)]
struct Keeping(Copies);

impl Reconciler for Keeping {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let controller = controller.owns::<ConfigMap>();
        controller
            .watch(Owned::<ConfigMap>::new().detached())
            .finalizer(LAST)
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
async fn a_controller_without_pruning_deletes_no_orphans() {
    let keeping = Keeping(Copies::default());
    keeping.0.wants(&["team-a/page"]);
    let mut world = World::of(keeping.clone()).await;
    world.create("web").await;
    world.stop().await;
    force_delete(&world, "web").await;
    world.process_with(keeping, world.cluster.client().clone());
    world.cluster.settle().await;
    assert_eq!(world.maps().await, ["team-a/page"]);
}

#[tokio::test(start_paused = true)]
async fn a_child_of_an_unwatched_owner_stays() {
    let copies = Copies::default();
    let mut world = World::start(&copies).await;
    world.stop().await;
    let mut page = child("page", "gone", "1");
    page.metadata.namespace = Some("team-a".into());
    world.applied(&page).await;
    let client = world.cluster.client().clone();
    world.process_in(copies.clone(), client.clone(), &["team-a", "team-b"]);
    world.cluster.settle().await;
    assert_eq!(world.maps().await, ["team-a/page"]);
    world.stop().await;
    world.process_in(copies, client, &["team-a", "default"]);
    world.cluster.settle().await;
    assert!(world.maps().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_forged_mark_leads_to_no_event_and_one_with_an_impossible_name_to_no_request() {
    let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
    let operator = Operator::new("copies").controller(Copies::default());
    let running = cluster.run(operator).await.unwrap();
    cluster.forget_requests();
    for (name, owner) in [("a", ".."), ("b", "web/scale"), ("c", "a%2fb")] {
        cluster.create(&child(name, owner, "1")).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(600)).await;
    let sent = cluster.requests();
    let owners = sent.iter().filter(|one| one.path.contains("/deployments/"));
    assert_eq!(owners.count(), 0, "{sent:?}");

    let owner = RequestMatcher::any().verb("get").resource("deployments");
    // A failure that is shown at once.
    let answer = Answer::status(403, "Forbidden");
    cluster.faults().answer(owner, answer, 3);
    applied(&cluster, &child("d", "ghost", "1")).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(cluster.get::<ConfigMap>("d").await.unwrap(), None);
    let sent = cluster.writes();
    let events = sent.iter().filter(|one| one.path.contains("/events"));
    assert_eq!(events.count(), 0, "{sent:?}");
    running.stop().await;
}
