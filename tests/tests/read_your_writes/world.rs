//! A controller whose cache of children is as late as a test wants.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, stream::BoxStream};
use parking_lot::Mutex;
use pilothouse::{
    cache::{InformerScope, Informers, ListerWatcher},
    client::{
        Api, Client, Error, ListParams, ObjectList, Patch, PatchParams, WatchEvent, WatchParams,
    },
    controller::{Action, Child, Context, Controller, Environment, Owned, Reconciler, Result},
    k8s::api::core::v1::{ConfigMap, Secret},
    metrics::Metrics,
    resource::{ApiResource, Object, ObjectKey},
    testing::{Cluster, RecordedRequest, RequestMatcher, Sandbox},
};
use serde_json::json;
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

/// The source of the cache of children: the server, but as late as a test wants.
#[derive(Clone)]
pub(crate) struct Late {
    pub(crate) api: Api<ConfigMap>,
    /// The source delivers events only while this is true.
    pub(crate) flows: watch::Receiver<bool>,
    /// The source never delivers events of an object with this name.
    pub(crate) lost: &'static str,
    /// The answer to lists that accept an old state.
    pub(crate) old: Arc<Mutex<Option<ObjectList<ConfigMap>>>>,
}

impl ListerWatcher<ConfigMap> for Late {
    type Item = ConfigMap;
    type Watch = BoxStream<'static, std::result::Result<WatchEvent<ConfigMap>, Error>>;

    async fn list(&self, params: &ListParams) -> std::result::Result<ObjectList<ConfigMap>, Error> {
        let old = self.old.lock().clone();
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

/// The action of a reconcile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Does {
    #[default]
    Nothing,
    /// Writes the number of the call into the child.
    Writes,
    /// Writes the same content each time.
    Same,
    WritesUncached,
    /// Writes the number of the call with another verb. The verbs other than create need the child to exist.
    Creates,
    Patches,
    /// Patches the child with the same content each time.
    PatchesSame,
    /// Writes the number of the call with a patch, and then applies the same content each time.
    PatchesAndApplies,
    Updates,
    Deletes,
    /// Deletes the child and creates it again.
    Recreates,
    /// Writes, and drops the future before the answer.
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
    /// The state of the child in the cache at the start of the call.
    saw: Option<String>,
}

impl Writer {
    pub(crate) fn does(&self, does: Does) {
        *self.does.lock() = does;
    }

    /// Returns the state that each call for `name` saw in the cache.
    pub(crate) fn saw(&self, name: &str) -> Vec<Option<String>> {
        let calls = self.calls.lock();
        let calls = calls.iter().filter(|call| call.name == name);
        calls.map(|call| call.saw.clone()).collect()
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        self.saw(name).len()
    }

    pub(crate) fn last_at(&self) -> Instant {
        self.calls.lock().last().unwrap().at
    }
}

pub(crate) fn child(name: &str, value: impl ToString) -> ConfigMap {
    let mut child = ConfigMap::named(name);
    child.data = Some([("value".to_owned(), value.to_string())].into());
    child
}

/// As [`child`], to be applied even if the test has created it.
fn owned(name: &str, value: impl ToString) -> Child<ConfigMap> {
    Child::new(child(name, value)).adopting()
}

pub(crate) fn value(child: &ConfigMap) -> Option<String> {
    child.data.as_ref()?.get("value").cloned()
}

impl Reconciler for Writer {
    type Resource = Secret;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let controller = controller
            .watch(Owned::<ConfigMap>::new().when(never()))
            .writes::<ConfigMap>()
            .deletes::<ConfigMap>();
        // There is one worker, which a waiting key must not occupy.
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
        self.calls.lock().push(Call {
            name: name.to_owned(),
            at: Instant::now(),
            saw,
        });
        let number = self.count(name);
        let does = *self.does.lock();
        match does {
            Does::Nothing => {}
            Does::Writes => drop(cx.apply_child(owned(name, number)).await?),
            Does::Same => drop(cx.apply_child(owned(name, "same")).await?),
            Does::WritesUncached => drop(cx.uncached().apply_child(owned(name, number)).await?),
            Does::Creates => drop(cx.create(child(name, number)).await?),
            Does::Patches => patch(cx, name, &number.to_string()).await?,
            Does::PatchesSame => patch(cx, name, "same").await?,
            Does::PatchesAndApplies => {
                patch(cx, name, &number.to_string()).await?;
                drop(cx.apply_child(owned(name, "same")).await?);
            }
            Does::Updates => {
                let mut new = cached.as_deref().unwrap().clone();
                new.data = child(name, number).data;
                drop(cx.update(&new).await?);
            }
            Does::Deletes => cx.delete(cached.as_deref().unwrap()).await?,
            Does::Recreates => {
                cx.delete(cached.as_deref().unwrap()).await?;
                drop(cx.apply_child(owned(name, number)).await?);
            }
            Does::TimesOut => {
                let write = cx.apply_child(owned(name, number));
                let mut write = std::pin::pin!(write);
                // The request is sent, and nothing waits for its answer.
                let _ = futures_util::poll!(&mut write);
                std::future::pending::<()>().await;
            }
        }
        Ok(Action::wait())
    }
}

async fn patch(cx: &Context<Secret>, name: &str, value: &str) -> Result<()> {
    let patch = Patch::Merge(json!({"data": {"value": value}}));
    let key = ObjectKey::namespaced("default", name);
    drop(cx.patch::<ConfigMap>(&key, &patch).await?);
    Ok(())
}

/// A predicate that hides changes of children, so that only the test triggers reconciles.
pub(crate) fn never() -> pilothouse::controller::Predicate<ConfigMap> {
    pilothouse::controller::Predicate::new(|_: &ConfigMap, _: &ConfigMap| false)
}

pub(crate) struct World {
    pub(crate) cluster: Cluster,
    pub(crate) writer: Writer,
    metrics: Metrics,
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

    /// Creates a world with another client.
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
        tokio::spawn(controller.run(environment, cancel.clone()));
        Self {
            cluster,
            writer,
            metrics,
            flows,
            cancel,
        }
    }

    /// The value of a series of the only controller.
    pub(crate) fn metric(&self, series: &str) -> f64 {
        self.metrics.value(series, &[]).unwrap_or_default()
    }

    /// The number of reconciles that were postponed.
    pub(crate) fn skips(&self) -> f64 {
        self.metric("stale_sync_skips_total")
    }

    /// The number of own writes that were checked with the API server with this result.
    pub(crate) fn settled(&self, result: &str) -> f64 {
        let series = "pilothouse_controller_stale_settled_total";
        let value = self.metrics.value(series, &[("result", result)]);
        value.unwrap_or_default()
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

    /// Holds back or releases the events of the cache of children.
    pub(crate) async fn hold_events(&self, hold: bool) {
        self.flows.send_replace(!hold);
        pass(1).await;
    }

    /// Returns how often the server got a request for the child.
    pub(crate) fn object_requests(&self, name: &str) -> usize {
        self.requests("get", name)
    }

    /// Returns the number of requests with this verb for a child.
    pub(crate) fn requests(&self, verb: &str, name: &str) -> usize {
        let is = |one: &&RecordedRequest| {
            (one.verb.as_str(), one.resource.as_str()) == (verb, "configmaps") && one.name == name
        };
        self.cluster.requests().iter().filter(is).count()
    }
}

/// Matches all watches of children.
pub(crate) fn watches() -> RequestMatcher {
    RequestMatcher::any().verb("watch").resource("configmaps")
}

/// Matches all applies and patches of children.
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

/// Returns a world in which `web` wrote its child and the cache of children does not have it yet.
pub(crate) async fn behind(does: Does) -> World {
    let world = World::start(Writer::default()).await;
    world.writer.does(does);
    world.hold_events(true).await;
    world.touch("web").await;
    assert_eq!(world.writer.count("web"), 1);
    world.writer.does(Does::Nothing);
    world
}
