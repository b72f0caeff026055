//! Two controllers of one kind in one operator.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use pilothouse::{
    controller::{Action, Cleanup, Context, Controller, Failure, Predicate, Reconciler, Result},
    k8s::api::{apps::v1::Deployment, core::v1::ConfigMap},
    operator::{Operator, Running},
    resource::Object,
    testing::{Cluster, RequestMatcher, Sandbox},
};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::deployment;

/// One of the two: writes how often it was called into a ConfigMap of its own.
#[derive(Clone)]
struct Twin {
    name: &'static str,
    /// What the cache had of its ConfigMap at each call.
    saw: Arc<Mutex<Vec<Option<String>>>>,
    cleaned: Arc<Mutex<Vec<String>>>,
    writes: Arc<AtomicBool>,
    fails: Arc<AtomicBool>,
    /// A call ends when it gets one of them.
    ends: Arc<Semaphore>,
}

impl Twin {
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
        let saw = self.saw.lock().unwrap();
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

impl Reconciler for Twin {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .named(self.name)
            // Its own writes lead to nothing: each makes another one.
            .owns_when(Predicate::new(|_: &ConfigMap, _: &ConfigMap| false))
            .finalizer(self.finalizer())
            .concurrency(1)
    }

    async fn reconcile(&self, web: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        let name = format!("{}-{}", web.name(), self.name);
        let cached = cx.get::<ConfigMap>(&name)?;
        let saw = cached.and_then(|map| map.data.as_ref()?.get("calls").cloned());
        let calls = {
            let mut all = self.saw.lock().unwrap();
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

impl Cleanup for Twin {
    async fn cleanup(&self, _: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        let finalizer = cx.finalizer().unwrap_or_default().to_owned();
        self.cleaned.lock().unwrap().push(finalizer);
        self.check()?;
        Ok(Action::wait())
    }
}

struct World {
    cluster: Cluster,
    running: Running,
    first: Twin,
    second: Twin,
}

impl World {
    async fn start() -> Self {
        let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
        let (first, second) = (Twin::named("first"), Twin::named("second"));
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
            twin.saw.lock().unwrap().clear();
        }
    }

    /// Makes a change that leads to a reconcile.
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

    fn succeeded(&self, name: &str) -> u64 {
        self.running.metrics().controller(name).success.get()
    }
}

fn of(resource: &str) -> RequestMatcher {
    RequestMatcher::any().resource(resource)
}

async fn pass(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}

#[tokio::test(start_paused = true)]
async fn each_has_a_queue_and_metrics_of_its_own() {
    let world = World::start().await;
    let before = (world.succeeded("first"), world.succeeded("second"));
    assert!(before.0 > 0 && before.1 > 0);

    // While one works the other one does, too: one at a time is for each.
    world.first.ends.forget_permits(1000);
    world.touch().await;
    world.touch().await;
    pass(1000).await;
    assert_eq!(world.first.saw().len(), 1);
    assert_eq!(world.second.saw().len(), 2);
    let after = (world.succeeded("first"), world.succeeded("second"));
    assert_eq!(after, (before.0, before.1 + 2));
    world.first.ends.add_permits(1000);
    pass(1000).await;
    assert_eq!(world.first.saw().len(), 2);

    // So is the pause after a failure.
    world.forget();
    world.first.fails.store(true, Ordering::SeqCst);
    world.touch().await;
    pass(10_000).await;
    assert!(world.first.saw().len() > 5);
    assert_eq!(world.second.saw().len(), 1);
    let failed = |name: &str| world.running.metrics().controller(name).error.get();
    assert!(failed("first") > 5 && failed("second") == 0);
}

#[tokio::test(start_paused = true)]
async fn they_share_each_cache_and_each_waits_for_its_own_writes_only() {
    let world = World::start().await;
    let faults = world.cluster.faults();
    for resource in ["deployments", "configmaps"] {
        let watches = of(resource).verb("watch");
        assert_eq!(faults.running_watches(&watches), 1, "{resource}");
    }
    let skips = || {
        let of = |name: &str| world.running.metrics().read_your_writes(name).skips.get();
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
    assert_eq!(skips(), (before.0 + 1, before.1));
    faults.release_watches();
    pass(2000).await;
    // It sees what it wrote itself.
    assert_eq!(world.first.saw()[1], "1");
}

#[tokio::test(start_paused = true)]
async fn each_has_its_own_finalizer_and_takes_away_no_other() {
    let world = World::start().await;
    let (first, second) = (world.first.finalizer(), world.second.finalizer());
    let mut both = world.finalizers().await.unwrap();
    both.sort();
    assert_eq!(both, [first.clone(), second.clone()]);

    world.first.fails.store(true, Ordering::SeqCst);
    world.cluster.delete::<Deployment>("web").await.unwrap();
    pass(2000).await;
    assert_eq!(world.finalizers().await, Some(vec![first.clone()]));
    assert_eq!(*world.second.cleaned.lock().unwrap(), [second]);

    world.first.fails.store(false, Ordering::SeqCst);
    pass(60_000).await;
    assert_eq!(world.finalizers().await, None);
    let cleaned = world.first.cleaned.lock().unwrap().clone();
    assert!(cleaned.iter().all(|one| *one == first));
    assert_eq!(world.second.cleaned.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn two_of_one_name_are_refused_at_the_start() {
    let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
    let operator = Operator::new("twins")
        .controller(Twin::named("one"))
        .controller(Twin::named("one"));
    let refused = cluster
        .run(operator)
        .await
        .err()
        .map(|error| error.to_string());
    assert_eq!(
        refused.as_deref(),
        Some(
            "two controllers are named one, and nobody could tell their metrics, logs and Events apart: \
             name one of them otherwise, with `.named(\"..\")` in `wire`"
        )
    );
}
