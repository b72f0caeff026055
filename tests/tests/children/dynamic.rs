//! Children of kinds known only at run time.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use pilothouse::{
    controller::{
        Action, Cleanup, Context, Controller, Error, OWNER_UID_LABEL, Reconciler, Result,
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

use crate::{World, deployment};

fn maps() -> ApiResource {
    ApiResource::of::<ConfigMap>()
}

fn secrets() -> ApiResource {
    ApiResource::of::<Secret>()
}

fn roles() -> ApiResource {
    ApiResource::of::<ClusterRole>()
}

/// Keeps ConfigMaps and ClusterRoles of these names, and knows neither kind.
#[derive(Clone, Default)]
struct Unknown {
    maps: Arc<Mutex<Vec<&'static str>>>,
    roles: Arc<Mutex<Vec<&'static str>>>,
    value: Arc<Mutex<&'static str>>,
    /// Each ConfigMap has a Secret of its name.
    has_secrets: Arc<AtomicBool>,
    /// Deletes this ConfigMap itself.
    deletes: Arc<Mutex<Option<&'static str>>>,
    /// What the cache held of the first ConfigMap at each call.
    saw: Arc<Mutex<Vec<String>>>,
}

impl Unknown {
    fn keeping(maps: &[&'static str], roles: &[&'static str]) -> Self {
        let unknown = Self::default();
        unknown.keeps(maps, roles);
        unknown
    }

    fn keeps(&self, maps: &[&'static str], roles: &[&'static str]) {
        *self.maps.lock().unwrap() = maps.to_vec();
        *self.roles.lock().unwrap() = roles.to_vec();
    }
}

impl Reconciler for Unknown {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .owns_of::<DynamicObject>(maps())
            .prunes_of::<DynamicObject>(maps())
            .owns_of::<DynamicObject>(secrets())
            .owns_detached_of::<DynamicObject>(roles())
            .prunes_of::<DynamicObject>(roles())
            .finalizer("dynamic.example.com/roles")
    }

    async fn reconcile(&self, _: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        let cached = cx.get_of::<DynamicObject>(&maps(), "one")?;
        let saw = cached.map(|map| map.data["data"]["value"].as_str().unwrap().to_owned());
        self.saw.lock().unwrap().push(saw.unwrap_or_default());
        let (wanted, value) = (
            self.maps.lock().unwrap().clone(),
            *self.value.lock().unwrap(),
        );
        for name in wanted {
            let mut map = DynamicObject::new(&maps(), name);
            map.data.insert("data".into(), json!({"value": value}));
            let applied = cx.apply_of(&maps(), map).await?;
            assert!(applied.uid().is_some());
            if self.has_secrets.load(Ordering::SeqCst) {
                let secret = DynamicObject::new(&secrets(), name);
                cx.apply_of(&secrets(), secret).await?;
            }
            let deletes = *self.deletes.lock().unwrap();
            if deletes == Some(name) {
                cx.delete_of(&maps(), &applied).await?;
            }
        }
        let wanted = self.roles.lock().unwrap().clone();
        for name in wanted {
            let role = DynamicObject::new(&roles(), name);
            cx.apply_detached_of(&roles(), role).await?;
        }
        Ok(Action::wait())
    }
}

impl Cleanup for Unknown {}

/// The writes of children, as the server was asked for them.
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
async fn they_are_applied_owned_skipped_pruned_and_removed_as_others_are() {
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

    // Nothing changed: nothing is sent.
    world.touch("web").await;
    assert!(writes(&world).await.is_empty());
    // What somebody changes comes back.
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
async fn two_kinds_that_are_read_as_one_type_are_not_mixed_up() {
    let unknown = Unknown::keeping(&["one"], &[]);
    unknown.has_secrets.store(true, Ordering::SeqCst);
    let world = World::of(unknown.clone()).await;
    world.create("web").await;
    world.cluster.settle().await;
    assert!(world.cluster.get::<Secret>("one").await.unwrap().is_some());
    world.cluster.forget_requests();
    let called = unknown.saw.lock().unwrap().len();
    world.touch("web").await;
    assert!(unknown.saw.lock().unwrap().len() > called);
    let writes = world.cluster.writes();
    assert!(!writes.iter().any(|one| one.name == "one"));
}

#[tokio::test(start_paused = true)]
async fn r5_what_was_applied_or_deleted_is_in_the_cache_of_the_next_reconcile() {
    let unknown = Unknown::keeping(&["one"], &[]);
    let world = World::of(unknown.clone()).await;
    *unknown.value.lock().unwrap() = "first";
    world.create("web").await;
    unknown.saw.lock().unwrap().clear();

    let faults = world.cluster.faults();
    let hold = || faults.hold_watches(RequestMatcher::any().verb("watch").resource("configmaps"));
    hold();
    *unknown.value.lock().unwrap() = "second";
    world.touch("web").await;
    world.touch("web").await;
    assert_eq!(*unknown.saw.lock().unwrap(), ["first"]);
    faults.release_watches();
    world.cluster.settle().await;
    assert_eq!(unknown.saw.lock().unwrap()[1], "second");

    unknown.saw.lock().unwrap().clear();
    *unknown.deletes.lock().unwrap() = Some("one");
    hold();
    world.touch("web").await;
    unknown.keeps(&[], &[]);
    world.touch("web").await;
    assert_eq!(*unknown.saw.lock().unwrap(), ["second"]);
    faults.release_watches();
    world.cluster.settle().await;
    assert_eq!(unknown.saw.lock().unwrap()[1], "");
}

/// Does one thing that is refused.
struct Wrong(fn(&Context<Deployment>) -> futures_util::future::BoxFuture<'_, Error>);

impl Reconciler for Wrong {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .owns_of::<DynamicObject>(maps())
            .reads_of::<DynamicObject>(roles())
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
async fn what_is_wrong_with_one_is_told_with_the_way_out() {
    let told = [
        refused(|cx| {
            Box::pin(async move {
                let role = DynamicObject::new(&roles(), "readers");
                cx.apply_of(&roles(), role).await.unwrap_err()
            })
        })
        .await,
        refused(|cx| {
            Box::pin(async move {
                let map = DynamicObject::new(&ApiResource::of::<Secret>(), "one");
                cx.apply_of(&maps(), map).await.unwrap_err()
            })
        })
        .await,
        refused(|cx| {
            Box::pin(async move {
                let secret = DynamicObject::new(&secrets(), "one");
                cx.apply_of(&secrets(), secret).await.unwrap_err()
            })
        })
        .await,
        refused(|cx| {
            Box::pin(async move {
                let role = DynamicObject::new(&roles(), "readers");
                cx.apply_detached_of(&roles(), role).await.unwrap_err()
            })
        })
        .await,
        refused(|cx| {
            Box::pin(async move {
                let map = DynamicObject::new(&maps(), "one").within("team-a");
                cx.apply_of(&maps(), map).await.unwrap_err()
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
        told,
        [
            "apply_of ClusterRole readers: it is cluster-scoped and its owner default/web is not, so that no owner reference reaches it: use `apply_detached_of`, and add `.owns_detached_of(..)` to `wire`",
            "apply_of ConfigMap default/one: it says that it is v1 Secret: give it with the `ApiResource` of its own kind",
            "apply_of secrets/v1: `wire` does not name this kind, read as DynamicObject: add `.owns_of::<DynamicObject>(..)` there, with its `ApiResource`",
            "apply_detached_of clusterroles.rbac.authorization.k8s.io/v1: `wire` does not name this kind, read as DynamicObject: add `.owns_detached_of::<DynamicObject>(..)` there, with its `ApiResource`",
            "apply_of ConfigMap team-a/one: it is not in the namespace of its owner default/web, where alone it can be owned: leave its namespace empty, or use `apply_detached`",
            "delete ConfigMap default/one: not declared: add `.deletes::<ConfigMap>()` to wire",
        ]
    );
}

/// Says that it owns what it cannot own.
#[derive(Clone)]
struct Owner;

impl Reconciler for Owner {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns_of::<DynamicObject>(roles())
    }

    async fn reconcile(&self, _: Arc<Deployment>, _: &Context<Deployment>) -> Result {
        Ok(Action::wait())
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_cannot_be_owned_is_refused_at_the_start() {
    let why = "owns_of clusterroles.rbac.authorization.k8s.io/v1: it is cluster-scoped and Deployment is not, so that no owner reference reaches it: use `owns_detached_of` in `wire`, and `apply_detached_of`";
    let controller = Controller::new(Owner);
    assert_eq!(controller.check().unwrap_err().to_string(), why);
    let status = controller.status();
    let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
    let started = cluster.run(Operator::new("owner").controller(Owner)).await;
    let refused = started.err().map(|error| error.to_string());
    let expected = format!("cannot build the reconciler of Deployment: {why}");
    assert_eq!(refused, Some(expected));

    // By itself it ends at once.
    let world = World::of(Owner).await;
    world.create("web").await;
    assert!(!status.is_working());
}
