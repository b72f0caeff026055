//! Children that no owner reference can reach.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use http::{Method, Request};
use pilothouse::{
    client::{Body, BoxError, Client},
    controller::{OWNER_ANNOTATION, OWNER_UID_LABEL},
    k8s::api::{apps::v1::Deployment, core::v1::ConfigMap},
    resource::Object,
};
use serde_json::json;

use crate::children::{Copies, LAST, World, deployment};

#[tokio::test(start_paused = true)]
async fn a_detached_child_maps_to_its_owner_and_is_deleted_before_the_last_finalizer() {
    let copies = Copies::default();
    copies.wants(&["team-a/page"]);
    let mut world = World::start(&copies).await;
    world.create("web").await;
    let elsewhere = world.cluster.in_namespace("team-a");
    let page = elsewhere.get::<ConfigMap>("page").await.unwrap().unwrap();
    let owner = world
        .cluster
        .get::<Deployment>("web")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(page.label(OWNER_UID_LABEL), owner.uid());
    assert!(page.metadata.owner_references.is_none());

    // After a manual deletion the operator creates it again.
    elsewhere.delete::<ConfigMap>("page").await.unwrap();
    world.cluster.settle().await;
    assert_eq!(world.maps().await, ["team-a/page"]);

    // A child that is not deleted holds its owner, also in another process.
    let held = json!({"metadata": {"finalizers": ["other.example.com/x"]}});
    elsewhere.patch::<ConfigMap>("page", held).await.unwrap();
    world.cluster.delete::<Deployment>("web").await.unwrap();
    world.restart(&copies).await;
    let web = world
        .cluster
        .get::<Deployment>("web")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(web.metadata.finalizers, Some(vec![LAST.to_owned()]));
    let freed = json!({"metadata": {"finalizers": null}});
    elsewhere.patch::<ConfigMap>("page", freed).await.unwrap();
    world.cluster.settle().await;
    assert!(
        world
            .cluster
            .get::<Deployment>("web")
            .await
            .unwrap()
            .is_none()
    );
    assert!(world.maps().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_detached_child_of_another_owner_is_not_taken_over() {
    let copies = Copies::default();
    copies.wants(&["team-a/page"]);
    let world = World::start(&copies).await;
    world.create("web").await;
    copies.take_log();
    world.create("zoo").await;
    let log = copies.take_log();
    let refused = "apply detached ConfigMap team-a/page: it belongs to Deployment default/web: ";
    assert!(log.iter().any(|line| line.starts_with(refused)), "{log:?}");
    let elsewhere = world.cluster.in_namespace("team-a");
    let page = elsewhere.get::<ConfigMap>("page").await.unwrap().unwrap();
    let owner = world
        .cluster
        .get::<Deployment>("web")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(page.label(OWNER_UID_LABEL), owner.uid());
}

/// Deletes the owner while no operator runs, and creates another owner with its name.
async fn recreate_owner(world: &mut World, copies: &Copies) {
    world.stop().await;
    world.cluster.delete::<Deployment>("web").await.unwrap();
    let none = json!({"metadata": {"finalizers": null}});
    let web = world.cluster.patch::<Deployment>("web", none).await;
    let old = web.unwrap().metadata.uid;
    world.create("web").await;
    let new = world.cluster.get::<Deployment>("web").await.unwrap();
    assert_ne!(new.unwrap().metadata.uid, old);
    world.restart(copies).await;
}

#[tokio::test(start_paused = true)]
async fn a_recreated_owner_takes_over_the_children_it_applies_and_prunes_the_others() {
    let copies = Copies::default();
    copies.wants(&["team-a/kept", "team-b/left"]);
    let mut world = World::start(&copies).await;
    world.create("web").await;
    // A child of another owner does not change.
    copies.wants(&["team-a/other"]);
    world.create("zoo").await;
    copies.wants(&["team-a/kept", "team-b/left"]);
    copies.keeps("zoo");
    let all = ["team-a/kept", "team-a/other", "team-b/left"];
    assert_eq!(world.maps().await, all);

    copies.wants(&["team-a/kept"]);
    recreate_owner(&mut world, &copies).await;
    assert_eq!(world.maps().await, ["team-a/kept", "team-a/other"]);
    let web = world.cluster.get::<Deployment>("web").await.unwrap();
    let elsewhere = world.cluster.in_namespace("team-a");
    let kept = elsewhere.get::<ConfigMap>("kept").await.unwrap().unwrap();
    assert_eq!(kept.label(OWNER_UID_LABEL), web.unwrap().uid());
}

#[tokio::test(start_paused = true)]
async fn children_of_a_former_owner_are_deleted_with_the_next_owner_of_that_name() {
    let copies = Copies::default();
    copies.wants(&["team-b/left"]);
    let mut world = World::start(&copies).await;
    world.create("web").await;
    copies.fails.store(true, Ordering::SeqCst);
    recreate_owner(&mut world, &copies).await;
    assert_eq!(world.maps().await, ["team-b/left"]);
    world.cluster.delete::<Deployment>("web").await.unwrap();
    world.cluster.forget_requests();
    copies.fails.store(false, Ordering::SeqCst);
    world.cluster.until_gone::<Deployment>("web").await.unwrap();
    // The child goes before its owner, not after it as an orphan.
    let writes = world.cluster.writes();
    let writes = writes.iter().filter(|one| one.resource != "events");
    let writes: Vec<_> = writes.map(|one| one.name.as_str()).collect();
    assert_eq!(writes.last(), Some(&"web"), "{writes:?}");
    assert!(world.maps().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_child_that_is_deleted_and_applied_again_exists() {
    let copies = Copies::default();
    copies.wants(&["default/a"]);
    let world = World::start(&copies).await;
    world.create("web").await;
    copies.deletes_first.store(true, Ordering::SeqCst);
    let before = world.cluster.get::<ConfigMap>("a").await.unwrap().unwrap();
    world.touch("web").await;
    let log = copies.take_log();
    assert!(log.contains(&"made again: true".to_owned()), "{log:?}");
    let after = world.cluster.get::<ConfigMap>("a").await.unwrap().unwrap();
    assert_ne!(before.uid(), after.uid());
}

#[tokio::test(start_paused = true)]
async fn only_one_of_two_owners_gets_a_child_that_both_apply() {
    let copies = Copies::default();
    copies.wants(&["team-a/page"]);
    let world = World::start(&copies).await;
    world.cluster.settle().await;
    let (web, zoo) = (deployment("web"), deployment("zoo"));
    let both = tokio::join!(world.cluster.create(&web), world.cluster.create(&zoo));
    both.0.unwrap();
    both.1.unwrap();
    world.cluster.settle().await;
    let there = world.cluster.in_namespace("team-a");
    let writes = world.cluster.writes();
    let applies = writes.iter().filter(|one| one.name == "page");
    assert_eq!(applies.count(), 1);
    let page = there.get::<ConfigMap>("page").await.unwrap().unwrap();
    let mut owners = Vec::new();
    for name in ["web", "zoo"] {
        let owner = world
            .cluster
            .get::<Deployment>(name)
            .await
            .unwrap()
            .unwrap();
        owners.extend(owner.metadata.uid);
    }
    let owner = page.label(OWNER_UID_LABEL).unwrap().to_owned();
    assert!(owners.contains(&owner));
    let log = copies.take_log();
    let refused = "apply detached ConfigMap team-a/page: it belongs to ";
    assert!(log.iter().any(|line| line.starts_with(refused)), "{log:?}");
}

#[tokio::test(start_paused = true)]
async fn a_child_that_changes_before_the_takeover_is_read_again() {
    let copies = Copies::default();
    copies.wants(&["team-a/page"]);
    let mut world = World::start(&copies).await;
    world.stop().await;
    copies.adopts.store(true, Ordering::SeqCst);
    let there = world.cluster.in_namespace("team-a");
    let page = there.create(&ConfigMap::named("page")).await.unwrap();
    let mark = json!({"group": "apps", "kind": "Other", "namespace": "default", "name": "zoo", "uid": "1"});
    let mark = json!({"metadata": {
        "labels": {OWNER_UID_LABEL: "1"}, "annotations": {OWNER_ANNOTATION: mark.to_string()},
    }});
    // Another process gives it to another owner between the read and the apply.
    let (cluster, again) = (there.clone(), Arc::new(AtomicBool::new(false)));
    let client = Client::from_service(tower::service_fn(move |request: Request<Body>| {
        let (cluster, again, mark) = (cluster.clone(), again.clone(), mark.clone());
        async move {
            let is_page = request.uri().path().ends_with("/configmaps/page");
            if is_page && request.method() == Method::PATCH && !again.swap(true, Ordering::SeqCst) {
                cluster.patch::<ConfigMap>("page", mark).await?;
            }
            Ok::<_, BoxError>(cluster.client().send(request).await?)
        }
    }));
    world.process_with(copies.clone(), client);
    world.create("web").await;
    let now = there.get::<ConfigMap>("page").await.unwrap().unwrap();
    assert_eq!(now.uid(), page.uid());
    assert_eq!(now.label(OWNER_UID_LABEL), Some("1"));
}

#[tokio::test(start_paused = true)]
async fn a_child_in_an_unwatched_namespace_is_refused() {
    let copies = Copies::default();
    copies.wants(&["team-a/page"]);
    let mut world = World::start(&copies).await;
    world.stop().await;
    let client = world.cluster.client().clone();
    world.process_in(copies.clone(), client, &["default"]);
    world.create("web").await;
    let log = copies.take_log();
    let refused = "apply detached ConfigMap team-a/page: ";
    assert!(log.iter().any(|line| line.starts_with(refused)), "{log:?}");
    assert!(world.maps().await.is_empty());
}

/// Copies a child as `kubectl get -o yaml`, an editor and `kubectl apply` do. The copy has a finalizer.
async fn copy(world: &World, name: &str) {
    let from = world.cluster.in_namespace("team-a");
    let mut copy = from.get::<ConfigMap>("page").await.unwrap().unwrap();
    copy.metadata.name = Some(name.into());
    copy.metadata.namespace = Some("team-b".into());
    copy.metadata.uid = None;
    copy.metadata.resource_version = None;
    copy.metadata.finalizers = Some(vec!["other.example.com/x".into()]);
    let to = world.cluster.in_namespace("team-b");
    to.create(&copy).await.unwrap();
}

fn reads_of(world: &World, name: &str) -> usize {
    let requests = world.cluster.requests();
    let reads = requests.iter();
    reads
        .filter(|one| one.verb == "get" && one.name == name)
        .count()
}

#[tokio::test(start_paused = true)]
async fn a_copy_of_a_detached_child_is_neither_deleted_nor_waited_for() {
    let copies = Copies::default();
    copies.wants(&["team-a/page"]);
    let world = World::start(&copies).await;
    world.create("web").await;
    world.cluster.forget_requests();
    copy(&world, "copy").await;
    for _ in 0..3 {
        world.touch("web").await;
    }
    assert_eq!(reads_of(&world, "copy"), 1, "pruning asks once per version");
    world.cluster.delete::<Deployment>("web").await.unwrap();
    world.cluster.until_gone::<Deployment>("web").await.unwrap();
    assert_eq!(world.maps().await, ["team-b/copy"]);
    assert_eq!(reads_of(&world, "copy"), 1);
    let there = world.cluster.in_namespace("team-b");
    let copy = there.get::<ConfigMap>("copy").await.unwrap().unwrap();
    assert!(!copy.is_deleting());
}

#[tokio::test(start_paused = true)]
async fn the_requests_of_a_deletion_grow_linearly_with_the_children() {
    let copies = Copies::default();
    let all: Vec<String> = (0..10).map(|number| format!("team-a/{number}")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    copies.wants(&all);
    let world = World::start(&copies).await;
    world.create("web").await;
    let there = world.cluster.in_namespace("team-a");
    let held = json!({"metadata": {"finalizers": ["other.example.com/x"]}});
    for number in 0..10 {
        let name = number.to_string();
        let held = there.patch::<ConfigMap>(&name, held.clone()).await;
        held.unwrap();
    }
    world.cluster.settle().await;
    world.cluster.forget_requests();
    world.cluster.delete::<Deployment>("web").await.unwrap();
    world.cluster.settle().await;
    for number in 0..10 {
        let free = json!({"metadata": {"finalizers": null}});
        let name = number.to_string();
        let freed = there.patch::<ConfigMap>(&name, free).await;
        freed.unwrap();
        world.cluster.settle().await;
    }
    world.cluster.until_gone::<Deployment>("web").await.unwrap();
    let reads: usize = (0..10)
        .map(|number| reads_of(&world, &number.to_string()))
        .sum();
    // One before each deletion, and one for each event of a child while others still exist.
    assert!((10..=40).contains(&reads), "{reads}");
}
