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

use crate::{Copies, LAST, World, deployment};

#[tokio::test(start_paused = true)]
async fn a_detached_child_leads_back_to_its_owner_and_goes_before_the_last_finalizer() {
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

    // Deleted by hand, it comes again.
    elsewhere.delete::<ConfigMap>("page").await.unwrap();
    world.cluster.settle().await;
    assert_eq!(world.maps().await, ["team-a/page"]);

    // A child that does not go holds its owner, also in another process.
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
    copies.told();
    world.create("zoo").await;
    let said = copies.told();
    let refused = "apply_detached ConfigMap team-a/page: it belongs to Deployment default/web: ";
    assert!(
        said.iter().any(|line| line.starts_with(refused)),
        "{said:?}"
    );
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

/// Deletes the owner while nobody is there to clean up, and creates another one of its name.
async fn created_anew(world: &mut World, copies: &Copies) {
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
async fn an_owner_that_was_created_anew_takes_over_what_it_wants_and_prunes_what_it_does_not() {
    let copies = Copies::default();
    copies.wants(&["team-a/kept", "team-b/left"]);
    let mut world = World::start(&copies).await;
    world.create("web").await;
    // Another owner's child stays what it is.
    copies.wants(&["team-a/other"]);
    world.create("zoo").await;
    copies.wants(&["team-a/kept", "team-b/left"]);
    copies.keeps("zoo");
    let all = ["team-a/kept", "team-a/other", "team-b/left"];
    assert_eq!(world.maps().await, all);

    copies.wants(&["team-a/kept"]);
    created_anew(&mut world, &copies).await;
    assert_eq!(world.maps().await, ["team-a/kept", "team-a/other"]);
    let web = world.cluster.get::<Deployment>("web").await.unwrap();
    let elsewhere = world.cluster.in_namespace("team-a");
    let kept = elsewhere.get::<ConfigMap>("kept").await.unwrap().unwrap();
    assert_eq!(kept.label(OWNER_UID_LABEL), web.unwrap().uid());
}

#[tokio::test(start_paused = true)]
async fn what_a_former_owner_left_goes_with_the_one_that_bears_its_name() {
    let copies = Copies::default();
    copies.wants(&["team-b/left"]);
    let mut world = World::start(&copies).await;
    world.create("web").await;
    copies.fails.store(true, Ordering::SeqCst);
    created_anew(&mut world, &copies).await;
    assert_eq!(world.maps().await, ["team-b/left"]);
    world.cluster.delete::<Deployment>("web").await.unwrap();
    world.cluster.forget_requests();
    copies.fails.store(false, Ordering::SeqCst);
    world.cluster.until_gone::<Deployment>("web").await.unwrap();
    // Not after it, as an orphan.
    let writes = world.cluster.writes();
    let writes = writes.iter().filter(|one| one.resource != "events");
    let writes: Vec<_> = writes.map(|one| one.name.as_str()).collect();
    assert_eq!(writes.last(), Some(&"web"), "{writes:?}");
    assert!(world.maps().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_one_deletes_and_applies_again_is_there_again() {
    let copies = Copies::default();
    copies.wants(&["default/a"]);
    let world = World::start(&copies).await;
    world.create("web").await;
    copies.deletes_first.store(true, Ordering::SeqCst);
    let before = world.cluster.get::<ConfigMap>("a").await.unwrap().unwrap();
    world.touch("web").await;
    let told = copies.told();
    assert!(told.contains(&"made again: true".to_owned()), "{told:?}");
    let after = world.cluster.get::<ConfigMap>("a").await.unwrap().unwrap();
    assert_ne!(before.uid(), after.uid());
}

#[tokio::test(start_paused = true)]
async fn of_two_owners_that_want_a_child_at_the_same_time_one_gets_it() {
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
    let told = copies.told();
    let refused = "apply_detached ConfigMap team-a/page: it belongs to ";
    assert!(
        told.iter().any(|line| line.starts_with(refused)),
        "{told:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_child_that_somebody_changes_before_it_is_taken_over_is_looked_at_again() {
    let copies = Copies::default();
    copies.wants(&["team-a/page"]);
    let mut world = World::start(&copies).await;
    world.stop().await;
    let there = world.cluster.in_namespace("team-a");
    let page = there.create(&ConfigMap::named("page")).await.unwrap();
    let zoo = world.cluster.create(&deployment("zoo")).await.unwrap();
    let mark = json!({"group": "apps", "kind": "Deployment", "namespace": "default", "name": "zoo", "uid": zoo.uid()});
    let mark = json!({"metadata": {
        "labels": {OWNER_UID_LABEL: zoo.uid()}, "annotations": {OWNER_ANNOTATION: mark.to_string()},
    }});
    // Another process gives it to another owner between the question and the apply.
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
    copies.keeps("zoo");
    world.process_with(copies.clone(), client);
    world.create("web").await;
    let now = there.get::<ConfigMap>("page").await.unwrap().unwrap();
    assert_eq!(now.uid(), page.uid());
    assert_eq!(now.label(OWNER_UID_LABEL), zoo.uid());
}

#[tokio::test(start_paused = true)]
async fn a_child_in_a_namespace_that_is_not_watched_is_refused() {
    let copies = Copies::default();
    copies.wants(&["team-a/page"]);
    let mut world = World::start(&copies).await;
    world.stop().await;
    let client = world.cluster.client().clone();
    world.process_in(copies.clone(), client, &["default"]);
    world.create("web").await;
    let told = copies.told();
    let refused = "apply_detached ConfigMap team-a/page: ";
    assert!(
        told.iter().any(|line| line.starts_with(refused)),
        "{told:?}"
    );
    assert!(world.maps().await.is_empty());
}
