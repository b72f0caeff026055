//! Controllers of kinds that are known only at run time, and of the metadata of kinds: over the whole client and the sandbox,
//! on the paused clock.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use pilothouse::{
    client::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams},
    crd::{self, CustomResourceDefinition},
    health::Query,
    k8s::api::events::v1 as events,
    operator::Running,
    prelude::*,
    resource::{ApiResource, DynamicObject, Scheme},
    testing::{Answer, Cluster, RequestMatcher, Sandbox},
};
use serde_json::{Value, json};

mod albums;
mod children;
mod metadata;
mod writes;

use albums::albums;

const ALBUMS: &str = include_str!("albums.yaml");
const REGIONS: &str = include_str!("regions.yaml");

fn regions() -> ApiResource {
    ApiResource {
        kind: "Region".into(),
        plural: "regions".into(),
        namespaced: false,
        ..albums()
    }
}

fn start() -> Cluster {
    Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap()
}

/// Installs a definition from its text, as `kubectl apply` does.
async fn install(cluster: &Cluster, definition: &str) {
    let scheme = Scheme::new().with::<CustomResourceDefinition>();
    let manifest = scheme.decode(definition).remove(0).unwrap();
    let definition = manifest.downcast::<CustomResourceDefinition>().unwrap();
    crd::install(cluster.client(), &[definition], "tests")
        .await
        .unwrap();
}

fn api(cluster: &Cluster, kind: ApiResource) -> Api<DynamicObject> {
    let namespace = kind.namespaced.then_some("default");
    Api::of(cluster.client(), kind, namespace)
}

async fn create(cluster: &Cluster, kind: &ApiResource, name: &str, spec: Value) -> DynamicObject {
    let mut object = DynamicObject::new(kind, name);
    object.data.insert("spec".into(), spec);
    let api = api(cluster, kind.clone());
    let created = api.create(&PostParams::default(), &object).await.unwrap();
    cluster.settle().await;
    created
}

async fn read(cluster: &Cluster, kind: &ApiResource, name: &str) -> Option<DynamicObject> {
    api(cluster, kind.clone()).get_opt(name).await.unwrap()
}

async fn change(cluster: &Cluster, kind: &ApiResource, name: &str, change: Value) {
    let params = PatchParams::default();
    let api = api(cluster, kind.clone());
    api.patch(name, &params, &Patch::Merge(change))
        .await
        .unwrap();
    cluster.settle().await;
}

async fn delete(cluster: &Cluster, kind: &ApiResource, name: &str) {
    let api = api(cluster, kind.clone());
    api.delete(name, &DeleteParams::default()).await.unwrap();
    cluster.settle().await;
}

/// The names of the ConfigMaps in the default namespace.
async fn maps(cluster: &Cluster) -> Vec<String> {
    let (api, params) = (cluster.api::<ConfigMap>(), ListParams::default());
    let maps = api.list(&params).await.unwrap().items.into_iter();
    let names = maps.map(|map| map.name().to_owned());
    names.filter(|name| name != "kube-root-ca.crt").collect()
}

/// The Events: the object, its kind, and the reason.
async fn events(cluster: &Cluster) -> Vec<String> {
    let (api, params) = (cluster.api::<events::Event>(), ListParams::default());
    let events = api.list(&params).await.unwrap().items;
    let shown = |event: &events::Event| {
        let regarding = event.regarding.clone().unwrap();
        let object = [regarding.api_version, regarding.kind, regarding.name];
        let reason = event.reason.clone().unwrap();
        format!("{} {reason}", object.map(Option::unwrap).join(" "))
    };
    events.iter().map(shown).collect()
}

/// The condition `Ready`: its status, its reason and the generation.
fn ready(object: &DynamicObject) -> Option<String> {
    let conditions = object.data.get("status")?.get("conditions")?.as_array()?;
    let ready = conditions.iter().find(|one| one["type"] == "Ready")?;
    let text = |field: &str| ready[field].as_str().unwrap_or_default().to_owned();
    let generation = &ready["observedGeneration"];
    Some(format!(
        "{} {} {generation}",
        text("status"),
        text("reason")
    ))
}

/// The writes of the operator but Events.
fn writes(cluster: &Cluster) -> Vec<String> {
    let mut writes = cluster.writes();
    writes.retain(|one| one.resource != "events");
    let shown = writes
        .iter()
        .map(|one| format!("{} {} {}", one.verb, one.resource, one.name));
    shown.collect()
}

fn readiness(running: &Running) -> String {
    let query = Query::parse(Some("verbose"));
    running.ready().report(&query).to_string()
}

#[tokio::test(start_paused = true)]
async fn a_kind_known_only_at_run_time_is_reconciled_like_one_with_a_rust_type() {
    let cluster = start();
    install(&cluster, ALBUMS).await;
    let running = cluster.run(albums::operator()).await.unwrap();

    let created = create(&cluster, &albums(), "a", json!({"pages": ["one", "two"]})).await;
    assert_eq!(maps(&cluster).await, ["a-one", "a-two"]);
    let one = cluster.get::<ConfigMap>("a-one").await.unwrap().unwrap();
    let owner = &one.metadata.owner_references.as_ref().unwrap()[0];
    assert_eq!(
        (
            &*owner.api_version,
            &*owner.kind,
            Some(&*owner.uid),
            owner.controller
        ),
        ("media.example.com/v1", "Album", created.uid(), Some(true))
    );
    let album = read(&cluster, &albums(), "a").await.unwrap();
    let finalizers = album.metadata.finalizers.as_deref();
    assert_eq!(
        finalizers,
        Some(&["media.example.com/publisher".into()][..])
    );
    assert_eq!(album.data["status"]["pages"], 2);
    assert_eq!(ready(&album).as_deref(), Some("True Reconciled 1"));

    // A page that is not wanted any more is pruned, and one that somebody deletes comes back.
    change(
        &cluster,
        &albums(),
        "a",
        json!({"spec": {"pages": ["two"]}}),
    )
    .await;
    assert_eq!(maps(&cluster).await, ["a-two"]);
    let album = read(&cluster, &albums(), "a").await.unwrap();
    assert_eq!(album.data["status"]["pages"], 1);
    assert_eq!(ready(&album).as_deref(), Some("True Reconciled 2"));
    cluster.delete::<ConfigMap>("a-two").await.unwrap();
    cluster.settle().await;
    assert_eq!(maps(&cluster).await, ["a-two"]);

    // A failure is shown on the object.
    let maps_refused = RequestMatcher::any().verb("patch").resource("configmaps");
    let refused = Answer::status(403, "Forbidden").message("no, thanks");
    cluster.faults().answer(maps_refused, refused, 1);
    change(
        &cluster,
        &albums(),
        "a",
        json!({"spec": {"pages": ["two", "three"]}}),
    )
    .await;
    assert_eq!(
        events(&cluster).await,
        ["media.example.com/v1 Album a ReconcileFailed"]
    );
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(maps(&cluster).await, ["a-three", "a-two"]);

    delete(&cluster, &albums(), "a").await;
    assert!(read(&cluster, &albums(), "a").await.is_none());
    assert!(
        events(&cluster)
            .await
            .contains(&"media.example.com/v1 Album a Withdrawn".to_owned())
    );
    cluster.settle().await;
    assert!(maps(&cluster).await.is_empty());
    assert_eq!(running.unused_access().to_string(), "");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_sends_nothing_about_unchanged_objects_of_a_dynamic_kind() {
    let cluster = start();
    install(&cluster, ALBUMS).await;
    let running = cluster.run(albums::operator()).await.unwrap();
    create(&cluster, &albums(), "a", json!({"pages": ["one", "two"]})).await;
    assert_eq!(writes(&cluster).last().unwrap(), "patch albums a");
    running.stop().await;
    cluster.forget_requests();

    let running = cluster.run(albums::operator()).await.unwrap();
    cluster.settle().await;
    assert!(readiness(&running).contains("[+]controller-album ok"));
    assert_eq!(writes(&cluster), Vec::<String>::new());
    running.stop().await;
}

/// Counts its calls, and writes the status in each.
#[derive(Clone, Default)]
struct Counter(Arc<AtomicUsize>);

impl Reconciler for Counter {
    type Resource = DynamicObject;

    async fn reconcile(
        &self,
        object: Arc<DynamicObject>,
        cx: &Context<DynamicObject>,
    ) -> Result<Action> {
        let call = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        assert_eq!(*cx.resource(), albums());
        let spec: Value = object.field("spec")?;
        if spec["pages"][0] == "broken" {
            return Err(Failure::new("this page is broken"));
        }
        cx.update_status(json!({"pages": call})).await?;
        Ok(Action::wait())
    }
}

#[tokio::test(start_paused = true)]
async fn a_written_status_of_a_dynamic_kind_leads_to_no_reconcile_and_nothing_else_is_written() {
    let cluster = start();
    install(&cluster, ALBUMS).await;
    let counter = Counter::default();
    let operator = Operator::new("counter").dynamic_controller(albums(), counter.clone());
    let running = cluster.run(operator).await.unwrap();
    cluster.forget_requests();
    create(&cluster, &albums(), "a", json!({"pages": []})).await;
    assert_eq!(counter.0.load(Ordering::SeqCst), 1);
    assert_eq!(writes(&cluster), ["create albums a", "patch albums a"]);
    let album = read(&cluster, &albums(), "a").await.unwrap();
    // The framework sets the condition only if the controller asks for it.
    assert_eq!(album.data["status"], json!({"pages": 1}));

    change(
        &cluster,
        &albums(),
        "a",
        json!({"spec": {"pages": ["broken"]}}),
    )
    .await;
    let album = read(&cluster, &albums(), "a").await.unwrap();
    assert_eq!(album.data["status"], json!({"pages": 1}));
    assert_eq!(
        events(&cluster).await,
        ["media.example.com/v1 Album a ReconcileFailed"]
    );
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_status_that_the_server_does_not_serve_is_a_failure_that_names_the_definition() {
    let cluster = start();
    install(
        &cluster,
        &ALBUMS.replace("      subresources: {status: {}}\n", ""),
    )
    .await;
    let counter = Counter::default();
    let operator = Operator::new("counter").dynamic_controller(albums(), counter.clone());
    let running = cluster.run(operator).await.unwrap();
    create(&cluster, &albums(), "a", json!({"pages": []})).await;
    let api = cluster.api::<events::Event>();
    let event = api
        .list(&ListParams::default())
        .await
        .unwrap()
        .items
        .remove(0);
    assert_eq!(
        event.note.unwrap(),
        "update status: the API server has Album default/a, but no status of this kind: its CustomResourceDefinition has to have `subresources: {status: {}}` in this version"
    );
    // It needs a person, so the retries are slow.
    tokio::time::sleep(Duration::from_secs(60)).await;
    let calls = counter.0.load(Ordering::SeqCst);
    assert!((2..10).contains(&calls), "{calls}");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r4_a_dynamic_kind_that_is_not_installed_is_named_and_its_controller_starts_later() {
    let cluster = start();
    let operator = albums::operator();
    let running = operator.start(cluster.client().clone()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(120)).await;
    let report = readiness(&running);
    let expected = "[-]informer-albums.media.example.com failed: albums.media.example.com is not served: install its definition; its controller starts then (failing for ";
    assert!(report.contains(expected), "{report}");
    let waiting = "[-]controllers failed: album waiting for its caches: ";
    assert!(report.contains(waiting), "{report}");

    install(&cluster, ALBUMS).await;
    running.synced().await;
    create(&cluster, &albums(), "a", json!({"pages": ["one"]})).await;
    assert_eq!(maps(&cluster).await, ["a-one"]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_kind_may_come_from_discovery_when_the_operator_starts() {
    let cluster = start();
    let unknown = cluster.run(albums::discovering_operator()).await;
    let error = unknown.err().unwrap().to_string();
    let expected = "cannot build the reconciler of a kind known only at run time: ";
    assert!(error.starts_with(expected), "{error}");

    install(&cluster, ALBUMS).await;
    let running = cluster.run(albums::discovering_operator()).await.unwrap();
    create(&cluster, &albums(), "a", json!({"pages": ["one"]})).await;
    assert_eq!(maps(&cluster).await, ["a-one"]);
    running.stop().await;
}

/// Notes the keys of the objects.
#[derive(Clone, Default)]
struct Keys(Arc<parking_lot::Mutex<Vec<String>>>);

impl Reconciler for Keys {
    type Resource = DynamicObject;

    async fn reconcile(
        &self,
        object: Arc<DynamicObject>,
        cx: &Context<DynamicObject>,
    ) -> Result<Action> {
        assert_eq!(object.types.kind, cx.resource().kind);
        self.0.lock().push(cx.key().to_string());
        Ok(Action::wait())
    }
}

#[tokio::test(start_paused = true)]
async fn controllers_of_two_dynamic_kinds_see_only_their_own_objects() {
    let cluster = start();
    install(&cluster, ALBUMS).await;
    install(&cluster, REGIONS).await;
    let (of_albums, of_regions) = (Keys::default(), Keys::default());
    let operator = Operator::new("keys")
        .dynamic_controller(albums(), of_albums.clone())
        .dynamic_controller(regions(), of_regions.clone());
    let running = cluster.run(operator).await.unwrap();
    create(&cluster, &albums(), "a", json!({"pages": []})).await;
    create(&cluster, &regions(), "north", json!({})).await;
    assert_eq!(*of_albums.0.lock(), ["default/a"]);
    assert_eq!(*of_regions.0.lock(), ["north"]);
    running.stop().await;
}
