//! Sources that are added and removed at run time, and kinds that are read as another type than their own: over the whole
//! client and the sandbox, on the paused clock.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicUsize, Ordering},
};

use parking_lot::Mutex;
use pilothouse::{
    cache::Informers,
    client::{Api, ListParams},
    controller::{
        Action, Context, Controller, Environment, Failure, Mapping, Owned, Reconciler, Result,
        Sources, Watched,
    },
    k8s::api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Secret},
    },
    metrics::Metrics,
    resource::{ApiResource, DynamicObject, Object, PartialObject, set_controller},
    testing::{Cluster, Sandbox},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

struct World {
    cluster: Cluster,
    informers: Informers,
    environment: Environment,
    cancel: CancellationToken,
}

impl World {
    fn new() -> Self {
        let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
        let metrics = Metrics::new();
        let informers = Informers::new(cluster.client().clone(), metrics.clone());
        let cancel = CancellationToken::new();
        informers.start(&cancel);
        let client = cluster.client().clone();
        let environment = Environment::new(informers.clone(), client, metrics, "sources");
        Self {
            cluster,
            informers,
            environment,
            cancel,
        }
    }

    /// Starts a controller that works on the Deployment `web`.
    async fn start(
        &self,
        reconciler: impl Reconciler<Resource = Deployment>,
    ) -> Sources<Deployment> {
        let controller = Controller::new(reconciler);
        let sources = controller.sources();
        tokio::spawn(controller.run(self.environment.clone(), self.cancel.clone()));
        if self
            .cluster
            .get::<Deployment>("web")
            .await
            .unwrap()
            .is_none()
        {
            self.cluster.create(&deployment("web")).await.unwrap();
        }
        self.cluster.settle().await;
        sources
    }

    fn plurals(&self) -> Vec<String> {
        let statuses = self.informers.statuses();
        statuses
            .iter()
            .map(|one| one.resource.plural.to_string())
            .collect()
    }

    async fn label<K: pilothouse::resource::Resource>(&self, name: &str, value: &str) {
        let patch = pilothouse::client::Patch::Merge(json!({"metadata": {"labels": {"x": value}}}));
        let params = pilothouse::client::PatchParams::default();
        self.cluster
            .api::<K>()
            .patch(name, &params, &patch)
            .await
            .unwrap();
        self.cluster.settle().await;
    }

    fn writes(&self) -> Vec<String> {
        let writes = self.cluster.writes();
        let lines = writes
            .iter()
            .map(|one| format!("{} {}", one.method, one.path));
        lines.collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

fn deployment(name: &str) -> Deployment {
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": "nginx"}]},
            },
        },
    }))
    .unwrap()
}

/// Records what it can read of the Secret `web`, from the cache and directly.
#[derive(Clone, Default)]
struct Reads {
    wired: bool,
    cached: Arc<Mutex<Weak<Secret>>>,
    log: Arc<Mutex<Vec<String>>>,
}

impl Reads {
    fn take_log(&self) -> Vec<String> {
        std::mem::take(&mut self.log.lock())
    }
}

impl Reconciler for Reads {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        match self.wired {
            true => controller.named("other").reads::<Secret>(),
            false => controller,
        }
    }

    async fn reconcile(&self, _: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        let cached = cx.get::<Secret>("web");
        if let Ok(Some(secret)) = &cached {
            *self.cached.lock() = Arc::downgrade(secret);
        }
        let secrets = Api::<Secret>::namespaced(cx.live(), "default");
        let live = secrets.list(&ListParams::default()).await;
        let live = live
            .map(|secrets| !secrets.items.is_empty())
            .map_err(|error| error.to_string());
        let line = format!("{:?} {live:?}", cached.is_ok());
        self.log.lock().push(line);
        Ok(Action::wait())
    }
}

const UNREADABLE: &str =
    r#"false Err("list secrets in default: not declared: add `.reads::<Secret>()` to wire")"#;

#[tokio::test(start_paused = true)]
async fn removing_the_last_source_of_a_kind_ends_its_watch_its_cache_and_its_access() {
    let (world, reads) = (World::new(), Reads::default());
    world.cluster.create(&Secret::named("web")).await.unwrap();
    let sources = world.start(reads.clone()).await;
    assert_eq!(reads.take_log(), [UNREADABLE]);

    let first = sources.watches::<Secret>(|secret| vec![secret.key()]);
    let second = sources.reads::<Secret>();
    assert!(first.synced().await && second.synced().await);
    world.cluster.settle().await;
    assert_eq!(reads.take_log(), ["true Ok(true)"]);
    assert_eq!(world.plurals(), ["secrets", "deployments"]);
    assert!(reads.cached.lock().upgrade().is_some());

    first.remove().await;
    world.label::<Deployment>("web", "1").await;
    assert_eq!(
        reads.take_log(),
        ["true Ok(true)"],
        "the other one needs it still"
    );
    second.remove().await;
    assert_eq!(world.plurals(), ["deployments"]);
    assert!(reads.cached.lock().upgrade().is_none(), "the cache is gone");
    world.label::<Deployment>("web", "2").await;
    assert_eq!(reads.take_log(), [UNREADABLE]);

    let again = sources.watches::<Secret>(|secret| vec![secret.key()]);
    assert!(again.synced().await);
    world.label::<Secret>("web", "1").await;
    assert_eq!(reads.take_log().last().unwrap(), "true Ok(true)");
}

#[tokio::test(start_paused = true)]
async fn removing_a_source_does_not_affect_another_controller_of_its_kind() {
    let (world, reads) = (World::new(), Reads::default());
    world.cluster.create(&Secret::named("web")).await.unwrap();
    let sources = world.start(Reads::default()).await;
    let added = sources.reads::<Secret>();
    let other = Reads {
        wired: true,
        ..reads
    };
    world.start(other.clone()).await;
    assert!(added.synced().await);
    added.remove().await;
    assert_eq!(world.plurals(), ["secrets", "deployments"]);
    other.take_log();
    world.label::<Deployment>("web", "1").await;
    assert_eq!(other.take_log(), ["true Ok(true)"]);
}

/// Declares kinds that are values, and records what it reads of them.
#[derive(Clone, Default)]
struct Dynamic {
    at_run_time: bool,
    log: Arc<Mutex<Vec<String>>>,
}

fn maps() -> ApiResource {
    ApiResource::of::<ConfigMap>()
}

fn secrets() -> ApiResource {
    ApiResource::of::<Secret>()
}

impl Reconciler for Dynamic {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        if self.at_run_time {
            return controller;
        }
        controller
            .watch(Owned::<DynamicObject>::dynamic(maps()))
            .watch(Watched::dynamic(
                secrets(),
                Mapping::objects(|secret: &PartialObject| vec![secret.key()]),
            ))
    }

    async fn reconcile(&self, _: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        let map = cx.get_of::<DynamicObject>(&maps(), "map")?;
        let data = map.and_then(|map| Some(map.data.get("data")?.get("a")?.to_string()));
        let secret = cx.get_of::<PartialObject>(&secrets(), "web")?;
        let label = secret.and_then(|secret| secret.label("x").map(str::to_owned));
        self.log.lock().push(format!("{data:?} {label:?}"));
        let error = cx.get_of::<DynamicObject>(&secrets(), "web").unwrap_err();
        assert_eq!(
            error.to_string(),
            "get secrets/v1: `wire` does not declare this kind: add \
             `.watch(Read::<DynamicObject>::dynamic(..))` there"
        );
        Ok(Action::wait())
    }
}

async fn changes_lead_to_reconciles(world: &World, dynamic: &Dynamic) {
    let web: Deployment = world.cluster.get("web").await.unwrap().unwrap();
    let take_log = || {
        std::mem::take(&mut *dynamic.log.lock())
            .pop()
            .unwrap_or_default()
    };
    take_log();
    let mut map = ConfigMap::named("map");
    map.data = Some([("a".to_owned(), "1".to_owned())].into());
    set_controller(&web, &mut map).unwrap();
    world.cluster.create(&map).await.unwrap();
    world.cluster.settle().await;
    assert_eq!(take_log(), r#"Some("\"1\"") None"#);
    world.label::<Secret>("web", "y").await;
    assert_eq!(take_log(), r#"Some("\"1\"") Some("y")"#);
    world.cluster.delete::<ConfigMap>("map").await.unwrap();
    world.cluster.settle().await;
    assert_eq!(take_log(), r#"None Some("y")"#);
}

#[tokio::test(start_paused = true)]
async fn kinds_known_only_at_run_time_are_owned_watched_and_read() {
    let (world, dynamic) = (World::new(), Dynamic::default());
    world.cluster.create(&Secret::named("web")).await.unwrap();
    world.start(dynamic.clone()).await;
    changes_lead_to_reconciles(&world, &dynamic).await;
}

#[tokio::test(start_paused = true)]
async fn kinds_known_only_at_run_time_are_added_and_removed_at_run_time() {
    let world = World::new();
    let dynamic = Dynamic {
        at_run_time: true,
        ..Dynamic::default()
    };
    world.cluster.create(&Secret::named("web")).await.unwrap();
    let sources = world.start(dynamic.clone()).await;
    let maps = sources.watch(Owned::<DynamicObject>::dynamic(maps()));
    let secrets = sources.watch(Watched::dynamic(
        secrets(),
        Mapping::objects(|secret: &PartialObject| vec![secret.key()]),
    ));
    assert!(maps.synced().await && secrets.synced().await);
    world.label::<Deployment>("web", "1").await;
    changes_lead_to_reconciles(&world, &dynamic).await;
    maps.remove().await;
    secrets.remove().await;
    assert_eq!(world.plurals(), ["deployments"]);
}

/// Keeps Secrets whose metadata only is in the cache.
#[derive(Clone, Default)]
struct Keys {
    wanted: Arc<Mutex<Vec<&'static str>>>,
    runs: Arc<AtomicUsize>,
}

impl Reconciler for Keys {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .owns::<PartialObject<Secret>>()
            .prunes::<PartialObject<Secret>>()
    }

    async fn reconcile(&self, _: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        // The paused clock stops while reconciles trigger each other, and then nothing would end the test.
        if self.runs.fetch_add(1, Ordering::Relaxed) > 50 {
            return Err(Failure::new("it does not come to rest").terminal());
        }
        let wanted = self.wanted.lock().clone();
        for name in wanted {
            let mut secret = Secret::named(name);
            secret.string_data = Some([("key".to_owned(), "value".to_owned())].into());
            let applied = cx.apply(secret).await?;
            assert!(applied.data.unwrap().contains_key("key"), "it is whole");
        }
        Ok(Action::wait())
    }
}

#[tokio::test(start_paused = true)]
async fn children_cached_as_metadata_are_applied_repaired_and_pruned() {
    let (world, keys) = (World::new(), Keys::default());
    *keys.wanted.lock() = vec!["a", "b"];
    world.start(keys.clone()).await;
    let path = |verb: &str, name: &str| format!("{verb} /api/v1/namespaces/default/secrets/{name}");
    let applies = world.writes();
    assert_eq!(
        applies[applies.len() - 2..],
        [path("PATCH", "a"), path("PATCH", "b")]
    );
    let lists = world.cluster.requests();
    let lists = lists.iter().filter(|one| one.path == "/api/v1/secrets");
    assert!(lists.count() > 0);
    let status = world.informers.statuses();
    assert_eq!(status.len(), 2, "Secrets are watched once: {status:?}");

    world.cluster.forget_requests();
    world.label::<Deployment>("web", "1").await;
    let own = "PATCH /apis/apps/v1/namespaces/default/deployments/web";
    assert_eq!(world.writes(), [own], "nothing to do: nothing is sent");

    world.cluster.forget_requests();
    let patch = pilothouse::client::Patch::Merge(json!({"data": {"key": "b3RoZXI="}}));
    let api = world.cluster.api::<Secret>();
    api.patch("a", &Default::default(), &patch).await.unwrap();
    world.cluster.settle().await;
    assert_eq!(
        world.writes(),
        [path("PATCH", "a"), path("PATCH", "a")],
        "it is put right"
    );

    *keys.wanted.lock() = vec!["a"];
    world.label::<Deployment>("web", "2").await;
    assert_eq!(world.writes().last().unwrap(), &path("DELETE", "b"));
    assert!(
        api.get_opt("a").await.unwrap().is_some(),
        "what is wanted stays"
    );
}
