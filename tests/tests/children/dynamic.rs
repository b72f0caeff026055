//! Children of kinds known only at run time.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use parking_lot::Mutex;
use pilothouse::{
    controller::{
        Action, Child, Cleanup, Context, Controller, Error, OWNER_UID_LABEL, Owned, Read,
        Reconciler, Result,
    },
    k8s::api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Secret},
        rbac::v1::ClusterRole,
    },
    operator::Operator,
    resource::{ApiResource, DynamicObject, Object},
    testing::{Cluster, Offline, RequestMatcher, Sandbox},
};
use serde_json::json;

use crate::children::{World, deployment};

fn maps() -> ApiResource {
    ApiResource::of::<ConfigMap>()
}

fn secrets() -> ApiResource {
    ApiResource::of::<Secret>()
}

fn roles() -> ApiResource {
    ApiResource::of::<ClusterRole>()
}

/// Keeps ConfigMaps and ClusterRoles with these names without having a type for either kind.
#[derive(Clone, Default)]
struct Unknown {
    maps: Arc<Mutex<Vec<&'static str>>>,
    roles: Arc<Mutex<Vec<&'static str>>>,
    value: Arc<Mutex<&'static str>>,
    /// Whether each ConfigMap has a Secret with its name.
    has_secrets: Arc<AtomicBool>,
    /// The name of a ConfigMap that the reconciler deletes itself.
    deletes: Arc<Mutex<Option<&'static str>>>,
    /// The state of the first ConfigMap in the cache at each call.
    saw: Arc<Mutex<Vec<String>>>,
}

impl Unknown {
    fn keeping(maps: &[&'static str], roles: &[&'static str]) -> Self {
        let unknown = Self::default();
        unknown.keeps(maps, roles);
        unknown
    }

    fn keeps(&self, maps: &[&'static str], roles: &[&'static str]) {
        *self.maps.lock() = maps.to_vec();
        *self.roles.lock() = roles.to_vec();
    }
}

impl Reconciler for Unknown {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .watch(Owned::<DynamicObject>::dynamic(maps()).pruned())
            .watch(Owned::<DynamicObject>::dynamic(secrets()))
            .watch(Owned::<DynamicObject>::dynamic(roles()).detached().pruned())
            .finalizer("dynamic.example.com/roles")
    }

    async fn reconcile(&self, _: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        let cached = cx.get_of::<DynamicObject>(&maps(), "one")?;
        let saw = cached.map(|map| map.data["data"]["value"].as_str().unwrap().to_owned());
        self.saw.lock().push(saw.unwrap_or_default());
        let (wanted, value) = (self.maps.lock().clone(), *self.value.lock());
        for name in wanted {
            let mut map = DynamicObject::new(&maps(), name);
            map.data.insert("data".into(), json!({"value": value}));
            let applied = cx.apply_child(Child::dynamic(&maps(), map)).await?;
            assert!(applied.uid().is_some());
            if self.has_secrets.load(Ordering::SeqCst) {
                let secret = DynamicObject::new(&secrets(), name);
                cx.apply_child(Child::dynamic(&secrets(), secret)).await?;
            }
            let deletes = *self.deletes.lock();
            if deletes == Some(name) {
                cx.delete_of(&maps(), &applied).await?;
            }
        }
        let wanted = self.roles.lock().clone();
        for name in wanted {
            let role = DynamicObject::new(&roles(), name);
            cx.apply_child(Child::dynamic(&roles(), role).detached())
                .await?;
        }
        Ok(Action::wait())
    }
}

impl Cleanup for Unknown {}

/// Returns the writes of children that reached the server.
async fn writes(world: &World) -> Vec<String> {
    world.cluster.settle().await;
    let writes = world.cluster.writes();
    let writes = writes
        .iter()
        .filter(|one| matches!(&*one.resource, "configmaps" | "clusterroles"));
    let writes = writes.map(|one| format!("{} {} {}", one.verb, one.resource, one.name));
    let writes = writes.collect();
    world.cluster.forget_requests();
    writes
}

#[tokio::test(start_paused = true)]
async fn dynamic_children_are_applied_owned_skipped_pruned_and_deleted_like_typed_children() {
    let unknown = Unknown::keeping(&["one", "two"], &["readers"]);
    let world = World::of(unknown.clone()).await;
    world.create("web").await;
    let mut seen = writes(&world).await;
    seen.sort();
    let expected = [
        "patch clusterroles readers",
        "patch configmaps one",
        "patch configmaps two",
    ];
    assert_eq!(seen, expected);
    let web = world
        .cluster
        .get::<Deployment>("web")
        .await
        .unwrap()
        .unwrap();
    let one = world
        .cluster
        .get::<ConfigMap>("one")
        .await
        .unwrap()
        .unwrap();
    let owner = &one.metadata.owner_references.as_ref().unwrap()[0];
    assert_eq!(
        (Some(&*owner.uid), owner.controller),
        (web.uid(), Some(true))
    );
    let readers = world.cluster.get::<ClusterRole>("readers").await.unwrap();
    assert_eq!(readers.unwrap().label(OWNER_UID_LABEL), web.uid());

    // Without a change the operator sends nothing.
    world.touch("web").await;
    assert!(writes(&world).await.is_empty());
    // The operator repairs what somebody changes.
    let change = json!({"data": {"value": "theirs"}});
    world
        .cluster
        .patch::<ConfigMap>("one", change)
        .await
        .unwrap();
    assert_eq!(
        writes(&world).await,
        ["patch configmaps one", "patch configmaps one"]
    );

    unknown.keeps(&["two"], &[]);
    world.touch("web").await;
    assert_eq!(
        writes(&world).await,
        ["delete configmaps one", "delete clusterroles readers"]
    );
    unknown.keeps(&["two"], &["writers"]);
    world.touch("web").await;
    world.cluster.delete::<Deployment>("web").await.unwrap();
    world.cluster.settle().await;
    assert!(
        world
            .cluster
            .get::<Deployment>("web")
            .await
            .unwrap()
            .is_none()
    );
    assert!(
        world
            .cluster
            .get::<ClusterRole>("writers")
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test(start_paused = true)]
async fn two_kinds_with_one_rust_type_stay_separate() {
    let unknown = Unknown::keeping(&["one"], &[]);
    unknown.has_secrets.store(true, Ordering::SeqCst);
    let world = World::of(unknown.clone()).await;
    world.create("web").await;
    world.cluster.settle().await;
    assert!(world.cluster.get::<Secret>("one").await.unwrap().is_some());
    world.cluster.forget_requests();
    let called = unknown.saw.lock().len();
    world.touch("web").await;
    assert!(unknown.saw.lock().len() > called);
    let writes = world.cluster.writes();
    assert!(!writes.iter().any(|one| one.name == "one"));
}

#[tokio::test(start_paused = true)]
async fn r5_the_next_reconcile_sees_dynamic_applies_and_deletions_in_its_cache() {
    let unknown = Unknown::keeping(&["one"], &[]);
    let world = World::of(unknown.clone()).await;
    *unknown.value.lock() = "first";
    world.create("web").await;
    unknown.saw.lock().clear();

    let faults = world.cluster.faults();
    let hold = || faults.hold_watches(RequestMatcher::any().verb("watch").resource("configmaps"));
    hold();
    *unknown.value.lock() = "second";
    world.touch("web").await;
    world.touch("web").await;
    assert_eq!(*unknown.saw.lock(), ["first"]);
    faults.release_watches();
    world.cluster.settle().await;
    assert_eq!(unknown.saw.lock()[1], "second");

    unknown.saw.lock().clear();
    *unknown.deletes.lock() = Some("one");
    hold();
    world.touch("web").await;
    unknown.keeps(&[], &[]);
    world.touch("web").await;
    assert_eq!(*unknown.saw.lock(), ["second"]);
    faults.release_watches();
    world.cluster.settle().await;
    assert_eq!(unknown.saw.lock()[1], "");
}

/// Makes one call that is refused.
struct Wrong(fn(&Context<Deployment>) -> futures_util::future::BoxFuture<'_, Error>);

impl Reconciler for Wrong {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .watch(Owned::<DynamicObject>::dynamic(maps()))
            .watch(Read::<DynamicObject>::dynamic(roles()))
    }

    async fn reconcile(&self, _: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        Err(self.0(cx).await.into())
    }
}

async fn refused(
    does: fn(&Context<Deployment>) -> futures_util::future::BoxFuture<'_, Error>,
) -> String {
    let offline = Offline::new(Wrong(does));
    offline.seed(deployment("web"));
    offline.reconcile("web").await.unwrap_err().to_string()
}

#[tokio::test]
async fn errors_about_dynamic_children_name_the_fix() {
    let errors = [
        refused(|cx| {
            Box::pin(async move {
                let role = DynamicObject::new(&roles(), "readers");
                cx.apply_child(Child::dynamic(&roles(), role))
                    .await
                    .unwrap_err()
            })
        })
        .await,
        refused(|cx| {
            Box::pin(async move {
                let map = DynamicObject::new(&ApiResource::of::<Secret>(), "one");
                cx.apply_child(Child::dynamic(&maps(), map))
                    .await
                    .unwrap_err()
            })
        })
        .await,
        refused(|cx| {
            Box::pin(async move {
                let secret = DynamicObject::new(&secrets(), "one");
                cx.apply_child(Child::dynamic(&secrets(), secret))
                    .await
                    .unwrap_err()
            })
        })
        .await,
        refused(|cx| {
            Box::pin(async move {
                let role = DynamicObject::new(&roles(), "readers");
                cx.apply_child(Child::dynamic(&roles(), role).detached())
                    .await
                    .unwrap_err()
            })
        })
        .await,
        refused(|cx| {
            Box::pin(async move {
                let map = DynamicObject::new(&maps(), "one").within("team-a");
                cx.apply_child(Child::dynamic(&maps(), map))
                    .await
                    .unwrap_err()
            })
        })
        .await,
        refused(|cx| {
            Box::pin(async move {
                let map = DynamicObject::new(&maps(), "one").within("default");
                cx.delete_of(&maps(), &map).await.unwrap_err()
            })
        })
        .await,
    ];
    assert_eq!(
        errors,
        [
            "apply ClusterRole readers: the child is cluster-scoped and its owner default/web is namespaced, so no owner reference can reach it: apply the child with `Child::detached`, and declare its kind with `Owned::detached` in `wire`",
            "apply ConfigMap default/one: the object names another kind, v1 Secret: pass the `ApiResource` of that kind, or leave `apiVersion` and `kind` empty",
            "apply secrets/v1: `wire` does not declare this kind: add `.watch(Owned::<DynamicObject>::dynamic(..))` there",
            "apply detached clusterroles.rbac.authorization.k8s.io/v1: `wire` does not declare this kind: add `.watch(Owned::<DynamicObject>::dynamic(..).detached())` there",
            "apply ConfigMap team-a/one: the child is not in the namespace of its owner default/web, so no owner reference can reach it: leave the namespace empty, or apply `Child::new(..).detached()`",
            "delete ConfigMap default/one: not declared: add `.deletes::<ConfigMap>()` to wire",
        ]
    );
}

/// Declares a kind that it cannot own.
#[derive(Clone)]
struct Owner;

impl Reconciler for Owner {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.watch(Owned::<DynamicObject>::dynamic(roles()))
    }

    async fn reconcile(&self, _: Arc<Deployment>, _: &Context<Deployment>) -> Result {
        Ok(Action::wait())
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_cannot_be_owned_is_refused_at_startup() {
    let why = "own clusterroles.rbac.authorization.k8s.io/v1: it is cluster-scoped and Deployment is namespaced, so no owner reference can reach it: declare it with `Owned::detached` in `wire`, and apply its objects with `Child::detached`";
    let controller = Controller::new(Owner);
    assert_eq!(controller.check().unwrap_err().to_string(), why);
    let status = controller.status();
    let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
    let started = cluster.run(Operator::new("owner").controller(Owner)).await;
    let refused = started.err().map(|error| error.to_string());
    let expected = format!("cannot build the reconciler of Deployment: {why}");
    assert_eq!(refused, Some(expected));

    // The operator ends at once by itself.
    let world = World::of(Owner).await;
    world.create("web").await;
    assert!(!status.is_working());
}
