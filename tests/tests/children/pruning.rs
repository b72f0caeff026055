//! Children that the reconciler does not apply any more.

use std::sync::atomic::Ordering;

use pilothouse::{
    operator::Operator,
    prelude::*,
    resource::set_controller,
    testing::{Cluster, RequestMatcher},
};
use serde_json::json;

use crate::children::{Copies, World, deployment, script::Script};

#[tokio::test(start_paused = true)]
async fn a_child_that_is_not_applied_any_more_is_pruned_after_a_restart_but_not_after_a_failure() {
    let copies = Copies::default();
    copies.wants(&["default/a", "default/b", "team-a/c", "team-b/d"]);
    let mut world = World::start(&copies).await;
    world
        .cluster
        .create(&ConfigMap::named("foreign"))
        .await
        .unwrap();
    world.create("web").await;
    let all = [
        "default/a",
        "default/b",
        "default/foreign",
        "team-a/c",
        "team-b/d",
    ];
    assert_eq!(world.maps().await, all);

    world.stop().await;
    copies.wants(&["default/a", "team-b/d"]);
    copies.fails.store(true, Ordering::SeqCst);
    world.restart(&copies).await;
    assert_eq!(world.maps().await, all);

    copies.fails.store(false, Ordering::SeqCst);
    world.touch("web").await;
    assert_eq!(
        world.maps().await,
        ["default/a", "default/foreign", "team-b/d"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_child_with_another_owner_is_not_pruned() {
    let copies = Copies::default();
    copies.wants(&["default/a"]);
    let world = World::start(&copies).await;
    world.create("web").await;
    world.create("zoo").await;
    let web = world
        .cluster
        .get::<Deployment>("web")
        .await
        .unwrap()
        .unwrap();
    let zoo = world
        .cluster
        .get::<Deployment>("zoo")
        .await
        .unwrap()
        .unwrap();
    let owner = |of: &Deployment, controller: bool| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": of.name(), "uid": of.uid(),
               "controller": controller, "blockOwnerDeletion": controller})
    };
    let shared = json!({"metadata": {"ownerReferences": [owner(&web, true), owner(&zoo, false)]}});
    world.cluster.patch::<ConfigMap>("a", shared).await.unwrap();
    copies.wants(&[]);
    world.touch("web").await;
    assert_eq!(world.maps().await, ["default/a"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_being_deleted_does_not_prune() {
    let script = Script::pruning();
    let world = World::of(script.clone()).await;
    let mut web = deployment("web");
    web.metadata.finalizers = Some(vec!["other.example.com/x".into()]);
    script.then("web", |cx| {
        Box::pin(async move {
            cx.apply(ConfigMap::named("page")).await?;
            Ok("applied".into())
        })
    });
    world.cluster.create(&web).await.unwrap();
    world.cluster.settle().await;
    world.cluster.delete::<Deployment>("web").await.unwrap();
    script
        .run(&world, "web", |_| {
            Box::pin(async move { Ok("wants nothing".into()) })
        })
        .await;
    assert_eq!(script.results(), ["applied", "wants nothing"]);
    assert_eq!(world.maps().await, ["default/page"]);
}

/// Returns a world in which the child is not applied any more, and the cache misses a change of it.
async fn behind(change: serde_json::Value) -> World {
    let copies = Copies::default();
    copies.wants(&["default/a"]);
    let world = World::start(&copies).await;
    world.create("web").await;
    let maps = RequestMatcher::any().verb("watch").resource("configmaps");
    world.cluster.faults().hold_watches(maps);
    world.cluster.patch::<ConfigMap>("a", change).await.unwrap();
    copies.wants(&[]);
    world.cluster.forget_requests();
    world.touch("web").await;
    world
}

#[tokio::test(start_paused = true)]
async fn a_child_whose_release_the_cache_missed_is_not_pruned() {
    let world = behind(json!({"metadata": {"ownerReferences": null}})).await;
    assert_eq!(world.maps().await, ["default/a"]);
}

#[tokio::test(start_paused = true)]
async fn a_child_whose_change_the_cache_missed_is_pruned_at_once() {
    let world = behind(json!({"data": {"a": "b"}})).await;
    assert!(world.maps().await.is_empty());
    let deletes = world.cluster.writes();
    let deletes = deletes.iter().filter(|one| one.verb == "delete");
    assert_eq!(deletes.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_is_being_deleted_is_not_deleted_again() {
    let copies = Copies::default();
    copies.wants(&["default/a"]);
    let world = World::start(&copies).await;
    world.create("web").await;
    let held = json!({"metadata": {"finalizers": ["other.example.com/x"]}});
    world.cluster.patch::<ConfigMap>("a", held).await.unwrap();
    copies.wants(&[]);
    world.touch("web").await;
    world.cluster.forget_requests();
    world.touch("web").await;
    let writes = world.cluster.writes();
    assert!(!writes.iter().any(|one| one.verb == "delete"));
}

#[tokio::test(start_paused = true)]
async fn a_child_with_a_generated_name_is_not_pruned_by_the_reconcile_that_creates_it() {
    let script = Script::pruning();
    let world = World::of(script.clone()).await;
    world.create("web").await;
    script
        .run(&world, "web", |cx| {
            Box::pin(async move {
                let web = cx.get::<Deployment>("web")?.unwrap();
                let mut map = ConfigMap::default();
                map.metadata.generate_name = Some("page-".into());
                map.metadata.namespace = Some("default".into());
                set_controller(&*web, &mut map).unwrap();
                let created = cx.create(map).await?;
                // The cache has it before the reconcile ends.
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                let cached = cx.get::<ConfigMap>(created.name())?.is_some();
                Ok(format!("cached: {cached}"))
            })
        })
        .await;
    assert_eq!(script.results(), ["cached: true"]);
    assert_eq!(world.maps().await.len(), 1);
}

/// Applies one child, and would prune others.
struct Prunes;

impl Reconciler for Prunes {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<ConfigMap>().prunes::<ConfigMap>()
    }

    async fn reconcile(&self, _: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        cx.apply(ConfigMap::named("page")).await?;
        Ok(Action::wait())
    }
}

/// Nobody could take the permission out of `wire`, so it counts as used without a child that goes.
#[tokio::test(start_paused = true)]
async fn the_permission_to_prune_is_no_unused_access() {
    let cluster = Cluster::start().unwrap();
    let operator = Operator::new("prunes").controller(Prunes);
    let running = cluster.run(operator).await.unwrap();
    cluster.create(&deployment("web")).await.unwrap();
    cluster.settle().await;
    assert_eq!(running.unused_access().to_string(), "");
    running.stop().await;
}
