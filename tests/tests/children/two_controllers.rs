//! Two controllers for the same kind in one operator.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use pilothouse::{
    controller::{
        Action, Cleanup, Context, Controller, Failure, Owned, Predicate, Reconciler, Result,
    },
    k8s::api::{apps::v1::Deployment, core::v1::ConfigMap},
    operator::{Operator, Running},
    resource::Object,
    testing::{Cluster, RequestMatcher, Sandbox},
};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::children::deployment;

/// One of the two controllers. It writes the number of its calls into its own ConfigMap.
#[derive(Clone)]
struct NumberedController {
    name: &'static str,
    /// The state of its ConfigMap in the cache at each call.
    saw: Arc<Mutex<Vec<Option<String>>>>,
    cleaned: Arc<Mutex<Vec<String>>>,
    writes: Arc<AtomicBool>,
    fails: Arc<AtomicBool>,
    /// A call ends when it gets a permit.
    ends: Arc<Semaphore>,
}

impl NumberedController {
    fn named(name: &'static str) -> Self {
        Self {
            name,
            saw: Arc::default(),
            cleaned: Arc::default(),
            writes: Arc::new(true.into()),
            fails: Arc::default(),
            ends: Arc::new(Semaphore::new(1000)),
        }
    }

    fn finalizer(&self) -> String {
        format!("twins.example.com/{}", self.name)
    }

    fn saw(&self) -> Vec<String> {
        let saw = self.saw.lock();
        saw.iter()
            .map(|one| one.clone().unwrap_or_default())
            .collect()
    }

    fn check(&self) -> Result<()> {
        match self.fails.load(Ordering::SeqCst) {
            true => Err(Failure::new("on purpose")),
            false => Ok(()),
        }
    }
}

impl Reconciler for NumberedController {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .named(self.name)
            // Its own writes lead to nothing: each makes another one.
            .watch(Owned::<ConfigMap>::new().when(Predicate::new(|_, _| false)))
            .finalizer(self.finalizer())
            .concurrency(1)
    }

    async fn reconcile(&self, web: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        let name = format!("{}-{}", web.name(), self.name);
        let cached = cx.get::<ConfigMap>(&name)?;
        let saw = cached.and_then(|map| map.data.as_ref()?.get("calls").cloned());
        let calls = {
            let mut all = self.saw.lock();
            all.push(saw);
            all.len()
        };
        self.ends.acquire().await.unwrap().forget();
        self.check()?;
        if self.writes.load(Ordering::SeqCst) {
            let mut map = ConfigMap::named(name);
            map.data = Some(BTreeMap::from([("calls".into(), calls.to_string())]));
            cx.apply(map).await?;
        }
        Ok(Action::wait())
    }
}

impl Cleanup for NumberedController {
    async fn cleanup(&self, _: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        let finalizer = cx.finalizer().unwrap_or_default().to_owned();
        self.cleaned.lock().push(finalizer);
        self.check()?;
        Ok(Action::wait())
    }
}

struct World {
    cluster: Cluster,
    running: Running,
    first: NumberedController,
    second: NumberedController,
}

impl World {
    async fn start() -> Self {
        let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
        let (first, second) = (
            NumberedController::named("first"),
            NumberedController::named("second"),
        );
        let operator = Operator::new("twins")
            .controller(first.clone())
            .controller(second.clone());
        let running = cluster.run(operator).await.unwrap();
        cluster.create(&deployment("web")).await.unwrap();
        let world = Self {
            cluster,
            running,
            first,
            second,
        };
        world.cluster.settle().await;
        pass(2000).await;
        world.forget();
        world
    }

    fn forget(&self) {
        for twin in [&self.first, &self.second] {
            twin.saw.lock().clear();
        }
    }

    /// Makes a change that triggers a reconcile.
    async fn touch(&self) {
        let time = format!("{:?}", tokio::time::Instant::now());
        let change = json!({"metadata": {"annotations": {"touched": time}}});
        let patched = self.cluster.patch::<Deployment>("web", change).await;
        patched.unwrap();
        pass(1).await;
    }

    async fn finalizers(&self) -> Option<Vec<String>> {
        let web = self.cluster.get::<Deployment>("web").await.unwrap()?;
        Some(web.metadata.finalizers.unwrap_or_default())
    }

    fn succeeded(&self, name: &str) -> f64 {
        let labels = [("controller", name), ("result", "success")];
        let metrics = self.running.metrics();
        let value = metrics.value("controller_runtime_reconcile_total", &labels);
        value.unwrap_or_default()
    }
}

fn of(resource: &str) -> RequestMatcher {
    RequestMatcher::any().resource(resource)
}

async fn pass(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}

#[tokio::test(start_paused = true)]
async fn each_controller_has_its_own_queue_and_metrics() {
    let world = World::start().await;
    let before = (world.succeeded("first"), world.succeeded("second"));
    assert!(before.0 > 0.0 && before.1 > 0.0);

    // Both work at the same time: the limit of one call per key applies to each controller.
    world.first.ends.forget_permits(1000);
    world.touch().await;
    world.touch().await;
    pass(1000).await;
    assert_eq!(world.first.saw().len(), 1);
    assert_eq!(world.second.saw().len(), 2);
    let after = (world.succeeded("first"), world.succeeded("second"));
    assert_eq!(after, (before.0, before.1 + 2.0));
    world.first.ends.add_permits(1000);
    pass(1000).await;
    assert_eq!(world.first.saw().len(), 2);

    // Each controller also has its own backoff.
    world.forget();
    world.first.fails.store(true, Ordering::SeqCst);
    world.touch().await;
    pass(10_000).await;
    assert!(world.first.saw().len() > 5);
    assert_eq!(world.second.saw().len(), 1);
    let metrics = world.running.metrics();
    let failed = |name: &str| {
        let labels = [("controller", name), ("result", "error")];
        let value = metrics.value("controller_runtime_reconcile_total", &labels);
        value.unwrap_or_default()
    };
    assert!(failed("first") > 5.0 && failed("second") == 0.0);
}

#[tokio::test(start_paused = true)]
async fn controllers_share_caches_but_wait_only_for_their_own_writes() {
    let world = World::start().await;
    let faults = world.cluster.faults();
    for resource in ["deployments", "configmaps"] {
        let watches = of(resource).verb("watch");
        assert_eq!(faults.running_watches(&watches), 1, "{resource}");
    }
    let skips = || {
        let metrics = world.running.metrics();
        let of = |name: &str| {
            let value = metrics.value("stale_sync_skips_total", &[("controller", name)]);
            value.unwrap_or_default()
        };
        (of("first"), of("second"))
    };
    let before = skips();
    faults.hold_watches(of("configmaps").verb("watch"));
    world.second.writes.store(false, Ordering::SeqCst);
    world.touch().await;
    world.touch().await;
    world.touch().await;
    pass(2000).await;
    assert_eq!(world.first.saw().len(), 1);
    assert_eq!(world.second.saw().len(), 3);
    assert_eq!(skips(), (before.0 + 1.0, before.1));
    faults.release_watches();
    pass(2000).await;
    // Each sees its own writes.
    assert_eq!(world.first.saw()[1], "1");
}

#[tokio::test(start_paused = true)]
async fn each_controller_removes_only_its_own_finalizer() {
    let world = World::start().await;
    let (first, second) = (world.first.finalizer(), world.second.finalizer());
    let mut both = world.finalizers().await.unwrap();
    both.sort();
    assert_eq!(both, [first.clone(), second.clone()]);

    world.first.fails.store(true, Ordering::SeqCst);
    world.cluster.delete::<Deployment>("web").await.unwrap();
    pass(2000).await;
    assert_eq!(world.finalizers().await, Some(vec![first.clone()]));
    assert_eq!(*world.second.cleaned.lock(), [second]);

    world.first.fails.store(false, Ordering::SeqCst);
    pass(60_000).await;
    assert_eq!(world.finalizers().await, None);
    let cleaned = world.first.cleaned.lock().clone();
    assert!(cleaned.iter().all(|one| *one == first));
    assert_eq!(world.second.cleaned.lock().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn two_controllers_with_one_name_are_refused_at_startup() {
    let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
    let operator = Operator::new("twins")
        .controller(NumberedController::named("one"))
        .controller(NumberedController::named("one"));
    let refused = cluster
        .run(operator)
        .await
        .err()
        .map(|error| error.to_string());
    assert_eq!(
        refused.as_deref(),
        Some(
            "two controllers have the name one, so their metrics, logs and Events cannot be distinguished: \
             give one of them another name with `.named(\"..\")` in `wire`"
        )
    );
}
