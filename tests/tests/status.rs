//! Writes of the status: its type, changes to the newest one, and what the schema refuses.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use parking_lot::Mutex;
use pilothouse::{
    client::{Api, ListParams, Patch, PatchParams},
    controller::Error,
    k8s::api::events::v1 as events,
    operator::Running,
    prelude::*,
    resource::AccessRule,
    testing::{Cluster, RecordedRequest, RequestMatcher, Sandbox},
};
use serde_json::{Value, json};

/// Counts something.
#[derive(Resource, Clone, Debug)]
#[resource(group = "test.pilothouse.dev", version = "v1", namespaced)]
struct Meter {
    metadata: ObjectMeta,
    status: Option<MeterStatus>,
}

#[derive(Schema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct MeterStatus {
    #[schema(maximum = 9)]
    count: i32,
    phase: Option<String>,
}

/// The same kind in an older version of the program, whose status has no phase.
mod older {
    use pilothouse::prelude::*;

    #[derive(Resource, Clone, Debug)]
    #[resource(group = "test.pilothouse.dev", version = "v1", namespaced)]
    pub(super) struct Meter {
        metadata: ObjectMeta,
        status: Option<MeterStatus>,
    }

    #[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
    #[serde(rename_all = "camelCase", default)]
    pub(super) struct MeterStatus {
        count: i32,
    }
}

/// What one call does, by its number, beginning with 1.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    /// Adds one, twice in each call.
    AddTwice,
    /// Changes nothing.
    Look,
    /// Adds one after another client has changed a label of the object, in the first call.
    AddWhileLabelled,
    /// Adds one after another client has changed the status, in the first call.
    AddWhilePhased,
    /// Adds one each second, without waiting for the cache.
    AddUncached,
    /// Writes this count and a phase.
    Write(i32, Option<&'static str>),
}

#[derive(Clone)]
struct Meters {
    script: Script,
    runs: Arc<AtomicUsize>,
    failures: Arc<Mutex<Vec<String>>>,
}

impl Meters {
    async fn run(&self, cx: &Context<Meter>) -> Result<Action, Error> {
        let first = self.runs.fetch_add(1, Ordering::SeqCst) == 0;
        let others = Api::<Meter>::namespaced(cx.live(), "default");
        let params = PatchParams::default();
        match self.script {
            Script::AddTwice => {
                cx.modify_status(|status| status.count += 1).await?;
                let count = cx.modify_status(|status| {
                    status.count += 1;
                    status.count
                });
                assert_eq!(count.await? % 2, 0);
            }
            Script::Look => cx.modify_status(|_| ()).await?,
            Script::AddWhileLabelled => {
                let label = Patch::Merge(json!({"metadata": {"labels": {"x": "y"}}}));
                if first {
                    others.patch("a", &params, &label).await?;
                    cx.modify_status(|status| status.count += 1).await?;
                }
            }
            Script::AddWhilePhased => {
                let phase = Patch::Merge(json!({"status": {"phase": "Odd"}}));
                if first {
                    others.patch_status("a", &params, &phase).await?;
                }
                cx.modify_status(|status| status.count = 1).await?;
            }
            Script::AddUncached => {
                let cx = cx.uncached();
                cx.modify_status(|status| status.count += 1).await?;
                return Ok(Action::requeue_after(Duration::from_secs(1)));
            }
            Script::Write(count, phase) => {
                let phase = phase.map(str::to_owned);
                cx.update_status(MeterStatus { count, phase }).await?;
            }
        }
        Ok(Action::wait())
    }
}

impl Reconciler for Meters {
    type Resource = Meter;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .access(AccessRule::of::<Meter>(["patch"]))
            .access(AccessRule::of::<Meter>(["patch"]).subresource("status"))
    }

    async fn reconcile(&self, _meter: Arc<Meter>, cx: &Context<Meter>) -> Result<Action> {
        Ok(self.run(cx).await.inspect_err(|error| {
            self.failures.lock().push(error.to_string());
        })?)
    }
}

struct World {
    cluster: Cluster,
    meters: Meters,
    running: Running,
}

impl World {
    async fn new(script: Script) -> Self {
        let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
        cluster.install::<Meter>().await.unwrap();
        Self::on(cluster, script).await
    }

    /// Starts with a meter whose count is 0.
    async fn on(cluster: Cluster, script: Script) -> Self {
        let meters = Meters {
            script,
            runs: Arc::default(),
            failures: Arc::default(),
        };
        let operator = Operator::new("meters").controller(meters.clone());
        let running = operator.start(cluster.client().clone()).await.unwrap();
        running.synced().await;
        let meter = Meter {
            metadata: Object::metadata(&ConfigMap::named("a")).clone(),
            status: None,
        };
        cluster.create(&meter).await.unwrap();
        cluster.settle().await;
        Self {
            cluster,
            meters,
            running,
        }
    }

    async fn status(&self) -> Option<MeterStatus> {
        let meter: Meter = self.cluster.get("a").await.unwrap().unwrap();
        meter.status
    }

    async fn label(&self, value: &str) {
        let label = json!({"metadata": {"labels": {"x": value}}});
        self.cluster.patch::<Meter>("a", label).await.unwrap();
        self.cluster.settle().await;
    }

    /// The status codes of the writes of the status.
    fn status_writes(&self) -> Vec<u16> {
        let writes = self.cluster.writes();
        let status = writes.iter().filter(|one| one.path.ends_with("/status"));
        status.map(|one| one.status).collect()
    }

    fn runs(&self) -> usize {
        self.meters.runs.load(Ordering::SeqCst)
    }

    fn failures(&self) -> Vec<String> {
        self.meters.failures.lock().clone()
    }

    /// The notes of the Events.
    async fn notes(&self) -> Vec<String> {
        let api = self.cluster.api::<events::Event>();
        let all = api.list(&ListParams::default()).await.unwrap().items;
        all.into_iter().filter_map(|event| event.note).collect()
    }
}

fn counted(count: i32) -> Option<MeterStatus> {
    Some(MeterStatus { count, phase: None })
}

#[tokio::test(start_paused = true)]
async fn a_modified_status_starts_from_the_newest_one_that_is_known() {
    let world = World::new(Script::AddTwice).await;
    let is_read = |one: &&RecordedRequest| one.verb == "get" && one.path.ends_with("/meters/a");
    let reads = world.cluster.requests().iter().filter(is_read).count();
    assert_eq!(reads, 0);
    // From the default, and from what the same call wrote.
    assert_eq!(world.status().await, counted(2));
    // From the cached object.
    world.label("y").await;
    assert_eq!(world.status().await, counted(4));
    assert_eq!(world.status_writes(), [200, 200, 200, 200]);
    world.running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_modified_status_that_did_not_change_is_not_sent() {
    let world = World::new(Script::Look).await;
    world.cluster.forget_requests();
    world.label("y").await;
    assert_eq!((world.status_writes(), world.runs()), (vec![], 2));
    world.running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_modified_status_is_written_although_another_client_changed_the_object() {
    let world = World::new(Script::AddWhileLabelled).await;
    assert_eq!(world.status().await, counted(1));
    assert_eq!(world.status_writes(), [409, 200]);
    assert_eq!(world.failures(), [""; 0]);
    // The label of the other client leads to one more call, and the echo of the status to none.
    assert_eq!(world.runs(), 2);
    world.running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_modified_status_does_not_revert_a_change_of_the_status_by_another_client() {
    let world = World::new(Script::AddWhilePhased).await;
    let failures = world.failures();
    assert!(
        failures.len() == 1 && failures[0].contains("conflict"),
        "{failures:?}"
    );
    let both = MeterStatus {
        count: 1,
        phase: Some("Odd".into()),
    };
    assert_eq!(world.status().await, Some(both));
    world.running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_modified_status_is_read_from_the_server_if_the_cache_is_behind() {
    let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
    cluster.install::<Meter>().await.unwrap();
    let world = World::on(cluster, Script::AddUncached).await;
    // Between two calls.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let meters = RequestMatcher::any().resource("meters");
    world.cluster.faults().hold_watches(meters);
    let before = world.runs();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let runs = world.runs();
    assert!(runs >= before + 3, "{before} {runs}");
    // Each call has added one to what the call before wrote.
    assert_eq!(world.status().await, counted(i32::try_from(runs).unwrap()));
    world.cluster.faults().release_watches();
    world.running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_status_that_the_schema_refuses_is_not_retried_before_something_changes() {
    let world = World::new(Script::Write(10, None)).await;
    tokio::time::sleep(Duration::from_secs(1000)).await;
    assert_eq!((world.status_writes(), world.runs()), (vec![422], 1));
    let failures = world.failures();
    let expected = "the schema of Meter refuses the status in status.count: correct the value, or install the \
                    CustomResourceDefinition of this program (its command `crd`) and request a reconcile with the \
                    annotation pilothouse.dev/reconcile-now";
    assert!(failures[0].ends_with(expected), "{failures:?}");
    assert!(
        failures[0].starts_with("apply Meter default/a/status: "),
        "{failures:?}"
    );
    let notes = world.notes().await;
    assert_eq!(notes, failures, "the Event has the text");
    assert_eq!(world.status().await, None);
    world.label("y").await;
    assert_eq!(world.runs(), 2);
    world.running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_field_that_the_installed_schema_lacks_is_named_and_not_retried() {
    let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
    cluster.install::<older::Meter>().await.unwrap();
    let world = World::on(cluster, Script::Write(1, Some("Even"))).await;
    tokio::time::sleep(Duration::from_secs(1000)).await;
    assert_eq!((world.status_writes(), world.runs()), (vec![500], 1));
    let failures = world.failures();
    let expected = "the schema of Meter refuses the status in status.phase: ";
    assert!(failures[0].contains(expected), "{failures:?}");
    // The new definition, and the annotation that the error names.
    world.cluster.install::<Meter>().await.unwrap();
    let now = json!({"metadata": {"annotations": {"pilothouse.dev/reconcile-now": "1"}}});
    world.cluster.patch::<Meter>("a", now).await.unwrap();
    world.cluster.settle().await;
    assert_eq!(world.status().await.unwrap().phase.as_deref(), Some("Even"));
    world.running.stop().await;
}

/// A part of a Deployment.
#[derive(Resource, Clone, Debug, Deserialize, Serialize)]
#[resource(view_of = Deployment)]
struct Replicas {
    metadata: ObjectMeta,
    status: Option<ReplicasStatus>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct ReplicasStatus {
    replicas: Option<i32>,
}

#[test]
fn dynamic_objects_and_views_have_a_status() {
    fn status_is<K: pilothouse::resource::HasStatus<Status = S>, S>() {}
    status_is::<pilothouse::resource::DynamicObject, Value>();
    status_is::<Replicas, ReplicasStatus>();
}
