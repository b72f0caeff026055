//! A controller whose children's cache is as late as a test wants.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{StreamExt, stream::BoxStream};
use pilothouse::{
    cache::{InformerScope, Informers, ListerWatcher},
    client::{
        Api, Client, Error, ListParams, ObjectList, Patch, PatchParams, WatchEvent, WatchParams,
    },
    controller::{Action, Context, Controller, Environment, Reconciler, Result},
    k8s::api::core::v1::{ConfigMap, Secret},
    metrics::{Metrics, ReadYourWritesMetrics},
    resource::{ApiResource, Object, ObjectKey},
    testing::{Cluster, RecordedRequest, RequestMatcher, Sandbox},
};
use serde_json::json;
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

/// Where the cache of the children gets its objects from: the server, but as late as a test wants.
#[derive(Clone)]
pub(crate) struct Late {
    pub(crate) api: Api<ConfigMap>,
    /// Events come only while this is true.
    pub(crate) flows: watch::Receiver<bool>,
    /// Events of this name never come.
    pub(crate) lost: &'static str,
    /// What lists are answered that may be old.
    pub(crate) old: Arc<Mutex<Option<ObjectList<ConfigMap>>>>,
}

impl ListerWatcher<ConfigMap> for Late {
    type Item = ConfigMap;
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

    fn reads_api_server(&self) -> bool {
        true
    }

    fn resource(&self) -> &ApiResource {
        self.api.resource()
    }

    fn namespace(&self) -> Option<&str> {
        None
    }
}

/// What a reconcile does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Does {
    #[default]
    Nothing,
    /// Writes the number of the call into the child.
    Writes,
    /// Writes always the same.
    Same,
    WritesUncached,
    /// The number of the call again, but by other verbs; these want the child to be there.
    Creates,
    Patches,
    Updates,
    Deletes,
    /// Deletes the child, and writes it anew.
    Recreates,
    /// Writes, and is dropped while it does.
    TimesOut,
}

/// Writes a ConfigMap for every Secret.
#[derive(Clone, Default)]
pub(crate) struct Writer {
    pub(crate) does: Arc<Mutex<Does>>,
    pub(crate) calls: Arc<Mutex<Vec<Call>>>,
    pub(crate) limit: Option<Duration>,
}

#[derive(Clone, Debug)]
pub(crate) struct Call {
    name: String,
    at: Instant,
    /// What the cache held of the child when it began.
    saw: Option<String>,
}

impl Writer {
    pub(crate) fn does(&self, does: Does) {
        *self.does.lock().unwrap() = does;
    }

    /// What each call for `name` saw in the cache.
    pub(crate) fn saw(&self, name: &str) -> Vec<Option<String>> {
        let calls = self.calls.lock().unwrap();
        let calls = calls.iter().filter(|call| call.name == name);
        calls.map(|call| call.saw.clone()).collect()
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        self.saw(name).len()
    }

    pub(crate) fn last_at(&self) -> Instant {
        self.calls.lock().unwrap().last().unwrap().at
    }
}

pub(crate) fn child(name: &str, value: impl ToString) -> ConfigMap {
    let mut child = ConfigMap::named(name);
    child.data = Some([("value".to_owned(), value.to_string())].into());
    child
}

pub(crate) fn value(child: &ConfigMap) -> Option<String> {
    child.data.as_ref()?.get("value").cloned()
}

impl Reconciler for Writer {
    type Resource = Secret;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let controller = controller
            .owns_when::<ConfigMap>(never())
            .writes::<ConfigMap>()
            .deletes::<ConfigMap>();
        // One worker: whatever waits must not take it.
        let controller = controller.concurrency(1);
        match self.limit {
            Some(limit) => controller.timeout(limit),
            None => controller,
        }
    }

    async fn reconcile(&self, secret: Arc<Secret>, cx: &Context<Secret>) -> Result {
        let name = secret.name();
        let cached = cx.get::<ConfigMap>(name)?;
        let saw = cached.as_deref().and_then(value);
        let going = cached.as_ref().is_some_and(|child| child.is_deleting());
        let saw = saw.map(|value| if going { value + ", going" } else { value });
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
            Does::Creates => drop(cx.create(child(name, number)).await?),
            Does::Patches => {
                let patch = Patch::Merge(json!({"data": {"value": number.to_string()}}));
                let key = ObjectKey::namespaced("default", name);
                drop(cx.patch::<ConfigMap>(&key, &patch).await?);
            }
            Does::Updates => {
                let mut new = cached.as_deref().unwrap().clone();
                new.data = child(name, number).data;
                drop(cx.update(&new).await?);
            }
            Does::Deletes => cx.delete(cached.as_deref().unwrap()).await?,
            Does::Recreates => {
                cx.delete(cached.as_deref().unwrap()).await?;
                drop(cx.apply(child(name, number)).await?);
            }
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
pub(crate) fn never() -> pilothouse::controller::Predicate<ConfigMap> {
    pilothouse::controller::Predicate::new(|_: &ConfigMap, _: &ConfigMap| false)
}

pub(crate) struct World {
    pub(crate) cluster: Cluster,
    pub(crate) writer: Writer,
    pub(crate) metrics: ReadYourWritesMetrics,
    pub(crate) flows: watch::Sender<bool>,
    pub(crate) cancel: CancellationToken,
}

impl World {
    pub(crate) async fn start(writer: Writer) -> Self {
        Self::with(writer, |_, _| {}).await
    }

    pub(crate) async fn with(
        writer: Writer,
        change: impl FnOnce(&mut Late, &mut Environment),
    ) -> Self {
        let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
        Self::on(cluster, writer, change).await
    }

    pub(crate) async fn on(
        cluster: Cluster,
        writer: Writer,
        change: impl FnOnce(&mut Late, &mut Environment),
    ) -> Self {
        let client = cluster.client().clone();
        Self::by(client, cluster, writer, change).await
    }

    /// With a way to the cluster that is not the usual one.
    pub(crate) async fn by(
        client: Client,
        cluster: Cluster,
        writer: Writer,
        change: impl FnOnce(&mut Late, &mut Environment),
    ) -> Self {
        let metrics = Metrics::new();
        let informers = Informers::new(client.clone(), metrics.clone());
        let (flows, flowing) = watch::channel(true);
        let mut late = Late {
            api: Api::of(&client, ApiResource::of::<ConfigMap>(), None),
            flows: flowing,
            lost: "",
            old: Arc::default(),
        };
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
    pub(crate) async fn touch(&self, name: &str) {
        let at = format!("{:?}", Instant::now());
        let at = at.replace(|c: char| !c.is_ascii_alphanumeric(), "");
        let body = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": name, "labels": {"at": at}},
        });
        let params = PatchParams::apply("tests").force();
        let api = self.cluster.api::<Secret>();
        api.patch(name, &params, &Patch::Apply(body)).await.unwrap();
        pass(1).await;
    }

    /// Holds back what the children's cache hears, or lets it come.
    pub(crate) async fn hold(&self, hold: bool) {
        self.flows.send_replace(!hold);
        pass(1).await;
    }

    /// How often the server was asked for the child.
    pub(crate) fn questions(&self, name: &str) -> usize {
        self.requests("get", name)
    }

    /// How many requests of that verb for a child there were.
    pub(crate) fn requests(&self, verb: &str, name: &str) -> usize {
        let is = |one: &&RecordedRequest| {
            (one.verb.as_str(), one.resource.as_str()) == (verb, "configmaps") && one.name == name
        };
        self.cluster.requests().iter().filter(is).count()
    }
}

/// All children's watches.
pub(crate) fn watches() -> RequestMatcher {
    RequestMatcher::any().verb("watch").resource("configmaps")
}

/// All applies and patches of children.
pub(crate) fn writes() -> RequestMatcher {
    RequestMatcher::any().verb("patch").resource("configmaps")
}

impl Drop for World {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

pub(crate) async fn pass(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}

pub(crate) fn seen(values: &[&str]) -> Vec<Option<String>> {
    let seen = |value: &&str| (!value.is_empty()).then(|| (*value).to_owned());
    values.iter().map(seen).collect()
}

/// A world in which `web` wrote its child and the child's cache does not know yet.
pub(crate) async fn behind(does: Does) -> World {
    let world = World::start(Writer::default()).await;
    world.writer.does(does);
    world.hold(true).await;
    world.touch("web").await;
    assert_eq!(world.writer.count("web"), 1);
    world.writer.does(Does::Nothing);
    world
}
