//! Read your writes (design promise R5), over the whole client and the sandbox, in memory: caches whose
//! events a test holds back, and what the controller does meanwhile.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{StreamExt, stream::BoxStream};
use pilothouse::{
    cache::{InformerScope, Informers, ListerWatcher},
    client::{Api, Error, ListParams, ObjectList, WatchEvent, WatchParams},
    controller::{Action, Context, Controller, Environment, Reconciler, Result},
    k8s::api::core::v1::{ConfigMap, Namespace, Secret},
    metrics::{Metrics, ReadYourWritesMetrics},
    resource::{ApiResource, Object},
    testing::{Answer, Cluster, RequestMatcher, Sandbox},
};
use serde_json::json;
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

/// Where the cache of the children gets its objects from: the server, but as late as a test wants.
#[derive(Clone)]
struct Late {
    api: Api<ConfigMap>,
    /// Events come only while this is true.
    flows: watch::Receiver<bool>,
    /// Events of this name never come.
    lost: &'static str,
    /// What lists are answered that may be old.
    old: Arc<Mutex<Option<ObjectList<ConfigMap>>>>,
}

impl ListerWatcher<ConfigMap> for Late {
    type Watch = BoxStream<'static, std::result::Result<WatchEvent<ConfigMap>, Error>>;

    async fn list(&self, params: &ListParams) -> std::result::Result<ObjectList<ConfigMap>, Error> {
        let old = self.old.lock().unwrap().clone();
        match (params.resource_version.as_deref(), old) {
            (Some("0"), Some(old)) => Ok(old),
            _ => self.api.list(params).await,
        }
    }

    async fn watch(&self, params: &WatchParams) -> std::result::Result<Self::Watch, Error> {
        let (flows, lost) = (self.flows.clone(), self.lost);
        let events = self.api.watch(params).await?;
        let events = events.filter_map(move |event| {
            let mut flows = flows.clone();
            async move {
                flows.wait_for(|flows| *flows).await.ok()?;
                let is_lost = |object: &ConfigMap| object.name() == lost;
                let lost = match &event {
                    Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => is_lost(object),
                    _ => false,
                };
                (!lost).then_some(event)
            }
        });
        Ok(events.boxed())
    }

    fn resource(&self) -> &ApiResource {
        self.api.resource()
    }

    fn namespace(&self) -> Option<&str> {
        None
    }
}

/// What a reconcile does.
#[derive(Clone, Copy, Default)]
enum Does {
    #[default]
    Nothing,
    /// Writes the number of the call into the child.
    Writes,
    /// Writes always the same.
    Same,
    WritesUncached,
    /// Writes, and is dropped while it does.
    TimesOut,
}

/// Writes a ConfigMap for every Secret.
#[derive(Clone, Default)]
struct Writer {
    does: Arc<Mutex<Does>>,
    calls: Arc<Mutex<Vec<Call>>>,
    limit: Option<Duration>,
}

#[derive(Clone, Debug)]
struct Call {
    name: String,
    at: Instant,
    /// What the cache held of the child when it began.
    saw: Option<String>,
}

impl Writer {
    fn does(&self, does: Does) {
        *self.does.lock().unwrap() = does;
    }

    /// What each call for `name` saw in the cache.
    fn saw(&self, name: &str) -> Vec<Option<String>> {
        let calls = self.calls.lock().unwrap();
        let calls = calls.iter().filter(|call| call.name == name);
        calls.map(|call| call.saw.clone()).collect()
    }

    fn count(&self, name: &str) -> usize {
        self.saw(name).len()
    }

    fn last_at(&self) -> Instant {
        self.calls.lock().unwrap().last().unwrap().at
    }
}

fn child(name: &str, value: impl ToString) -> ConfigMap {
    let mut child = ConfigMap::named(name);
    child.data = Some([("value".to_owned(), value.to_string())].into());
    child
}

fn value(child: &ConfigMap) -> Option<String> {
    child.data.as_ref()?.get("value").cloned()
}

impl Reconciler for Writer {
    type Resource = Secret;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let controller = controller.owns_when::<ConfigMap>(never());
        // One worker: whatever waits must not take it.
        let controller = controller.concurrency(1);
        match self.limit {
            Some(limit) => controller.timeout(limit),
            None => controller,
        }
    }

    async fn reconcile(&self, secret: Arc<Secret>, cx: &Context<Secret>) -> Result {
        let name = secret.name();
        let saw = cx.get::<ConfigMap>(name)?.and_then(|child| value(&child));
        self.calls.lock().unwrap().push(Call {
            name: name.to_owned(),
            at: Instant::now(),
            saw,
        });
        let number = self.count(name);
        let does = *self.does.lock().unwrap();
        match does {
            Does::Nothing => {}
            Does::Writes => drop(cx.apply(child(name, number)).await?),
            Does::Same => drop(cx.apply(child(name, "same")).await?),
            Does::WritesUncached => drop(cx.uncached().apply(child(name, number)).await?),
            Does::TimesOut => {
                let write = cx.apply(child(name, number));
                let mut write = std::pin::pin!(write);
                // It is on its way, and nobody waits for the answer.
                let _ = futures_util::poll!(&mut write);
                std::future::pending::<()>().await;
            }
        }
        Ok(Action::wait())
    }
}

/// Changes of children are nobody's business here: only the test asks for reconciles.
fn never() -> pilothouse::controller::Predicate<ConfigMap> {
    pilothouse::controller::Predicate::new(|_: &ConfigMap, _: &ConfigMap| false)
}

struct World {
    cluster: Cluster,
    writer: Writer,
    metrics: ReadYourWritesMetrics,
    flows: watch::Sender<bool>,
    cancel: CancellationToken,
}

impl World {
    async fn start(writer: Writer) -> Self {
        Self::with(writer, |_, _| {}).await
    }

    async fn with(writer: Writer, change: impl FnOnce(&mut Late, &mut Environment)) -> Self {
        let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
        Self::on(cluster, writer, change).await
    }

    async fn on(
        cluster: Cluster,
        writer: Writer,
        change: impl FnOnce(&mut Late, &mut Environment),
    ) -> Self {
        let metrics = Metrics::new();
        let informers = Informers::new(cluster.client().clone(), metrics.clone());
        let (flows, flowing) = watch::channel(true);
        let mut late = Late {
            api: Api::of(cluster.client(), ApiResource::of::<ConfigMap>(), None),
            flows: flowing,
            lost: "",
            old: Arc::default(),
        };
        let client = cluster.client().clone();
        let mut environment = Environment::new(informers.clone(), client, metrics.clone(), "test");
        change(&mut late, &mut environment);
        let namespaces = environment.namespaces.iter();
        informers.of_source::<ConfigMap, _>(
            ApiResource::of::<ConfigMap>(),
            InformerScope::all().namespaces(namespaces),
            move |_| late.clone(),
        );
        let cancel = CancellationToken::new();
        informers.start(&cancel);
        let controller = Controller::new(writer.clone());
        let series = metrics.read_your_writes(controller.name());
        tokio::spawn(controller.run(environment, cancel.clone()));
        Self {
            cluster,
            writer,
            metrics: series,
            flows,
            cancel,
        }
    }

    /// Makes an object to be reconciled, or changes it.
    async fn touch(&self, name: &str) {
        let api = self.cluster.api::<Secret>();
        let now = Instant::now();
        let labels = json!({"metadata": {"name": name, "labels": {"at": format!("{now:?}").replace(|c: char| !c.is_ascii_alphanumeric(), "")}}});
        let params = pilothouse::client::PatchParams::apply("tests").force();
        let mut body = labels;
        body["apiVersion"] = "v1".into();
        body["kind"] = "Secret".into();
        let patch = pilothouse::client::Patch::Apply(body);
        api.patch(name, &params, &patch).await.unwrap();
        pass(1).await;
    }

    /// Holds back what the children's cache hears, or lets it come.
    async fn hold(&self, hold: bool) {
        self.flows.send_replace(!hold);
        pass(1).await;
    }

    /// How often the server was asked for the child.
    fn questions(&self, name: &str) -> usize {
        let path = format!("/api/v1/namespaces/default/configmaps/{name}");
        let requests = self.cluster.requests();
        let is =
            |one: &&pilothouse::testing::RecordedRequest| one.verb == "get" && one.path == path;
        requests.iter().filter(is).count()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

async fn pass(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}

fn seen(values: &[&str]) -> Vec<Option<String>> {
    let seen = |value: &&str| (!value.is_empty()).then(|| (*value).to_owned());
    values.iter().map(seen).collect()
}

/// A world in which `web` wrote its child and the child's cache does not know yet.
async fn behind(does: Does) -> World {
    let world = World::start(Writer::default()).await;
    world.writer.does(does);
    world.hold(true).await;
    world.touch("web").await;
    assert_eq!(world.writer.count("web"), 1);
    world.writer.does(Does::Nothing);
    world
}

#[tokio::test(start_paused = true)]
async fn a_key_waits_until_the_cache_holds_what_it_wrote_and_takes_no_worker_meanwhile() {
    let world = behind(Does::Writes).await;
    world.touch("web").await;
    world.touch("web").await;
    pass(2000).await;
    assert_eq!(world.writer.count("web"), 1);
    assert_eq!(world.metrics.skips.get(), 1);
    // There is one worker, and it is free.
    world.touch("other").await;
    assert_eq!(world.writer.count("other"), 1);

    world.hold(false).await;
    assert_eq!(world.writer.saw("web"), seen(&["", "1"]));
    assert_eq!(world.questions("web"), 0);
    assert_eq!(world.metrics.waiting.get_sample_count(), 1);
    assert!(world.metrics.waiting.get_sample_sum() > 1.9);
}

#[tokio::test(start_paused = true)]
async fn the_collection_at_the_version_is_as_good_as_the_object() {
    let world = World::with(Writer::default(), |late, _| late.lost = "web").await;
    world.writer.does(Does::Writes);
    world.hold(true).await;
    world.touch("web").await;
    world.writer.does(Does::Nothing);
    world.touch("web").await;
    world.cluster.create(&child("another", 0)).await.unwrap();
    assert_eq!(world.writer.count("web"), 1);
    world.hold(false).await;
    assert_eq!(world.writer.count("web"), 2);
    assert_eq!(world.questions("web"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_somebody_deleted_is_not_waited_for_for_ever() {
    let world = behind(Does::Writes).await;
    world.touch("web").await;
    world.cluster.delete::<ConfigMap>("web").await.unwrap();
    world.hold(false).await;
    assert!(world.writer.count("web") >= 2);
    assert_eq!(world.writer.saw("web").last(), Some(&None));
    assert_eq!(world.questions("web"), 0);
}

#[tokio::test(start_paused = true)]
async fn after_ten_seconds_one_question_settles_it() {
    let world = behind(Does::Writes).await;
    let wrote = world.writer.last_at();
    world.touch("web").await;
    pass(9900).await;
    assert_eq!((world.writer.count("web"), world.questions("web")), (1, 0));
    pass(200).await;
    assert_eq!((world.writer.count("web"), world.questions("web")), (2, 1));
    let waited = world.writer.last_at() - wrote;
    assert!(waited < Duration::from_millis(10_100), "{waited:?}");
    assert_eq!(world.metrics.settled_found.get(), 1);
    // It is settled: nothing is left of it.
    world.touch("web").await;
    assert_eq!((world.writer.count("web"), world.questions("web")), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn a_write_that_changed_nothing_is_not_waited_for() {
    let world = World::start(Writer::default()).await;
    world.writer.does(Does::Same);
    world.touch("web").await;
    world.cancel.cancel();
    pass(100).await;
    // Another process does not know what was applied, and applies it again.
    let next = World::on(world.cluster.clone(), Writer::default(), |_, _| {}).await;
    next.writer.does(Does::Same);
    next.hold(true).await;
    pass(100).await;
    next.touch("web").await;
    next.touch("web").await;
    assert!(next.writer.count("web") >= 2);
    assert_eq!(next.metrics.skips.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_the_informer_cannot_hold_is_decided_at_once() {
    /// Writes a ConfigMap into another namespace than the caches read.
    struct Elsewhere(Arc<Mutex<usize>>);
    impl Reconciler for Elsewhere {
        type Resource = Namespace;
        fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
            controller.owns::<ConfigMap>().concurrency(1)
        }
        async fn reconcile(&self, namespace: Arc<Namespace>, cx: &Context<Namespace>) -> Result {
            if namespace.name() == "web" {
                *self.0.lock().unwrap() += 1;
                let mut child = child("web", *self.0.lock().unwrap());
                child.metadata.namespace = Some("web".into());
                cx.apply(child).await?;
            }
            Ok(Action::wait())
        }
    }
    let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
    let metrics = Metrics::new();
    let informers = Informers::new(cluster.client().clone(), metrics.clone());
    let client = cluster.client().clone();
    let environment = Environment {
        namespaces: ["default".into()].into(),
        ..Environment::new(informers.clone(), client, metrics.clone(), "test")
    };
    let cancel = CancellationToken::new();
    informers.start(&cancel);
    let calls = Arc::new(Mutex::new(0));
    let controller = Controller::new(Elsewhere(calls.clone()));
    let series = metrics.read_your_writes(controller.name());
    tokio::spawn(controller.run(environment, cancel.clone()));
    cluster.create(&Namespace::named("web")).await.unwrap();
    pass(100).await;
    let patch = json!({"metadata": {"labels": {"a": "b"}}});
    cluster.patch::<Namespace>("web", patch).await.unwrap();
    pass(100).await;
    assert!(*calls.lock().unwrap() >= 2);
    assert_eq!(series.skips.get(), 0);
    cancel.cancel();
}

#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_is_resolved_by_one_question() {
    let world = World::start(Writer::default()).await;
    world.touch("other").await;
    world.writer.does(Does::Writes);
    let writes = RequestMatcher::any().verb("patch").resource("configmaps");
    let lost = Answer::status(500, "InternalError");
    world.cluster.faults().answer(writes, lost, 1);
    world.touch("web").await;
    pass(1000).await;
    assert_eq!(world.questions("web"), 1);
    assert_eq!(world.metrics.settled_gone.get(), 1);
    // It was not done: it is done now, and seen.
    world.writer.does(Does::Nothing);
    world.touch("web").await;
    let written: ConfigMap = world.cluster.get("web").await.unwrap().unwrap();
    assert_eq!(world.writer.saw("web").last(), Some(&value(&written)));
    world.cluster.forget_requests();
    world.touch("web").await;
    assert_eq!(world.questions("web"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_write_whose_answer_nobody_took_is_waited_for_too() {
    let writer = Writer {
        limit: Some(Duration::from_millis(500)),
        ..Writer::default()
    };
    let world = World::start(writer).await;
    world.touch("other").await;
    world.writer.does(Does::TimesOut);
    world.hold(true).await;
    world.touch("web").await;
    world.writer.does(Does::Nothing);
    pass(3000).await;
    assert_eq!(world.writer.count("web"), 1);
    assert_eq!(world.questions("web"), 1);
    world.hold(false).await;
    assert_eq!(world.writer.saw("web").last(), seen(&["1"]).last());
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_conflicts_and_broken_watches_never_shows_an_older_state_than_was_written() {
    let world = World::start(Writer::default()).await;
    world.writer.does(Does::Writes);
    let writes = RequestMatcher::any().verb("patch").resource("configmaps");
    for round in 0..30 {
        let conflict = Answer::status(409, "Conflict");
        world
            .cluster
            .faults()
            .answer(writes.clone(), conflict, round % 3);
        world.hold(round % 2 == 0).await;
        world.touch("web").await;
        if round % 5 == 0 {
            let watches = RequestMatcher::any().verb("watch").resource("configmaps");
            world.cluster.faults().drop_watches(&watches);
        }
        pass(40).await;
        world.hold(false).await;
    }
    pass(60_000).await;
    world.writer.does(Does::Nothing);
    let saw = world.writer.saw("web");
    assert!(saw.len() > 30);
    let numbers: Vec<usize> = saw
        .iter()
        .flatten()
        .map(|one| one.parse().unwrap())
        .collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    let last: ConfigMap = world.cluster.get("web").await.unwrap().unwrap();
    world.touch("web").await;
    assert_eq!(world.writer.saw("web").last(), Some(&value(&last)));
}

#[tokio::test(start_paused = true)]
async fn what_is_written_uncached_is_not_waited_for() {
    let world = behind(Does::WritesUncached).await;
    world.touch("web").await;
    assert_eq!(world.writer.saw("web"), seen(&["", ""]));
    assert_eq!(world.metrics.skips.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn after_a_takeover_nothing_is_reconciled_on_what_an_old_replica_had() {
    let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
    cluster.create(&child("web", "first")).await.unwrap();
    let api = cluster.api::<ConfigMap>();
    let old = api.list(&ListParams::default()).await.unwrap();
    for number in 0..1000 {
        let patch = json!({"data": {"value": number.to_string()}});
        cluster.patch::<ConfigMap>("web", patch).await.unwrap();
    }
    cluster.create(&Secret::named("web")).await.unwrap();
    for catch_up in [true, false] {
        let world = World::on(cluster.clone(), Writer::default(), |late, environment| {
            *late.old.lock().unwrap() = Some(old.clone());
            environment.catch_up = catch_up;
        });
        let world = world.await;
        world.flows.send_replace(false);
        pass(5000).await;
        let expected = if catch_up { "999" } else { "first" };
        assert_eq!(world.writer.saw("web"), seen(&[expected]));
    }
}
