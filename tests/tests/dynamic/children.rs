//! The children of objects of a dynamic kind, whose scope the compiler does not know.

use pilothouse::{
    controller::{Child, Owned, Read},
    k8s::api::rbac::v1::ClusterRole,
    resource::OwnerReference,
};

use super::*;

/// Keeps a ClusterRole and a ConfigMap for each object.
struct Roles;

impl Reconciler for Roles {
    type Resource = DynamicObject;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<ClusterRole>().owns::<ConfigMap>()
    }

    async fn reconcile(
        &self,
        object: Arc<DynamicObject>,
        cx: &Context<DynamicObject>,
    ) -> Result<Action> {
        cx.apply(ClusterRole::named(object.name())).await?;
        let mut map = ConfigMap::named(object.name());
        map.metadata.namespace = Some("default".into());
        cx.apply(map).await?;
        Ok(Action::wait())
    }
}

#[tokio::test(start_paused = true)]
async fn a_cluster_scoped_dynamic_kind_owns_children_of_both_scopes() {
    let cluster = start();
    install(&cluster, REGIONS).await;
    let operator = Operator::new("roles").dynamic_controller(regions(), Roles);
    let running = cluster.run(operator).await.unwrap();
    create(&cluster, &regions(), "north", json!({})).await;
    let role = async || cluster.get::<ClusterRole>("north").await.unwrap();
    assert!(role().await.is_some());
    assert_eq!(maps(&cluster).await, ["north"]);

    // The change of a child in a namespace leads to its owner, which has none.
    cluster.delete::<ConfigMap>("north").await.unwrap();
    cluster.delete::<ClusterRole>("north").await.unwrap();
    cluster.settle().await;
    assert!(role().await.is_some());
    assert_eq!(maps(&cluster).await, ["north"]);

    delete(&cluster, &regions(), "north").await;
    cluster.settle().await;
    assert!(role().await.is_none());
    assert!(maps(&cluster).await.is_empty());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_namespaced_dynamic_kind_that_owns_a_cluster_scoped_one_is_refused_at_the_start() {
    let cluster = start();
    install(&cluster, ALBUMS).await;
    let operator = Operator::new("roles").dynamic_controller(albums(), Roles);
    let error = cluster.run(operator).await.err().unwrap();
    assert_eq!(
        error.to_string(),
        "the controller of Album cannot start: own clusterroles.rbac.authorization.k8s.io/v1: it is cluster-scoped and Album is namespaced, so no owner reference can reach it: declare `.watch(Owned::<..>::dynamic(..).detached())` and a finalizer in `wire`, and apply `Child::dynamic(..).detached()`"
    );
}

/// Keeps a detached ClusterRole for each album, and prunes what a former version applied.
struct Detached;

impl Reconciler for Detached {
    type Resource = DynamicObject;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let maps = ApiResource::of::<ConfigMap>();
        controller
            .watch(Owned::<ClusterRole>::new().detached())
            .watch(Read::<DynamicObject>::dynamic(maps).pruned())
            .finalizer("media.example.com/detached")
    }

    async fn reconcile(
        &self,
        object: Arc<DynamicObject>,
        cx: &Context<DynamicObject>,
    ) -> Result<Action> {
        let role = ClusterRole::named(object.name());
        cx.apply_child(Child::new(role).detached()).await?;
        Ok(Action::wait())
    }
}

impl Cleanup for Detached {}

#[tokio::test(start_paused = true)]
async fn detached_children_of_a_dynamic_kind_are_kept_and_deleted_with_their_owner() {
    let cluster = start();
    install(&cluster, ALBUMS).await;
    let operator = Operator::new("roles").dynamic_controller(albums(), Detached);
    let running = cluster.run(operator).await.unwrap();
    create(&cluster, &albums(), "a", json!({"pages": []})).await;
    let role = async || cluster.get::<ClusterRole>("a").await.unwrap();
    assert!(role().await.is_some());
    // Its mark leads to the owner.
    let change = json!({"metadata": {"labels": {"pilothouse.dev/owner-uid": null}}});
    cluster.patch::<ClusterRole>("a", change).await.unwrap();
    cluster.settle().await;
    assert!(
        role()
            .await
            .unwrap()
            .label("pilothouse.dev/owner-uid")
            .is_some()
    );

    delete(&cluster, &albums(), "a").await;
    assert!(role().await.is_none());
    assert!(read(&cluster, &albums(), "a").await.is_none());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn another_kind_of_the_same_rust_type_is_pruned_without_being_owned() {
    let cluster = start();
    install(&cluster, ALBUMS).await;
    let album = create(&cluster, &albums(), "a", json!({"pages": []})).await;
    let mut left = ConfigMap::named("left");
    left.metadata.owner_references = Some(vec![OwnerReference {
        api_version: "media.example.com/v1".into(),
        kind: "Album".into(),
        name: "a".into(),
        uid: album.uid().unwrap().into(),
        controller: Some(true),
        block_owner_deletion: None,
    }]);
    cluster.create(&left).await.unwrap();
    let operator = Operator::new("roles").dynamic_controller(albums(), Detached);
    let running = cluster.run(operator).await.unwrap();
    cluster.settle().await;
    assert!(maps(&cluster).await.is_empty());
    running.stop().await;
}
