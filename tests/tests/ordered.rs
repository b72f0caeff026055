//! Children in order: each is applied when the one before is ready, and deleted when the one after is gone.

use pilothouse::{
    client::{DeleteParams, ListParams},
    health::Query,
    k8s::{api::core::v1::Pod, api::events::v1 as events},
    operator::Running,
    prelude::*,
    resource::Conditions,
    testing::Cluster,
};
use serde_json::json;

// ANCHOR: kind
/// A shop: a database, and a web server that needs it.
#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.pilothouse.dev", version = "v1", namespaced)]
struct Shop {
    metadata: ObjectMeta,
    spec: ShopSpec,
    status: Option<ShopStatus>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct ShopSpec {
    /// The image of the database.
    database_image: String,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct ShopStatus {
    /// The framework sets `Ready`, and says there what the shop waits for.
    conditions: Vec<Condition>,
}
// ANCHOR_END: kind

struct Shops;

// ANCHOR: start
impl Reconciler for Shops {
    type Resource = Shop;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .owns::<Deployment>()
            .deletes::<Deployment>()
            .owns::<ConfigMap>()
            .prunes::<ConfigMap>()
            .finalizer("demo.pilothouse.dev/shop")
    }

    async fn reconcile(&self, shop: Arc<Shop>, cx: &Context<Shop>) -> Result<Action> {
        cx.apply(database(&shop)).await?.ready_or_wait()?;
        cx.apply(web(&shop)).await?.ready_or_wait()?;
        cx.apply(address(&shop)).await?;
        Ok(Action::wait())
    }
}
// ANCHOR_END: start

// ANCHOR: end
impl Cleanup for Shops {
    /// Deletes the children in the reverse order, each when the one before and its Pods are gone.
    async fn cleanup(&self, shop: Arc<Shop>, cx: &Context<Shop>) -> Result<Action> {
        for child in [web(&shop), database(&shop)] {
            let Some(child) = cx.get::<Deployment>(child.name())? else {
                continue;
            };
            if !child.is_deleting() {
                let params = DeleteParams::foreground();
                cx.delete_with::<Deployment>(&child.key(), &params).await?;
            }
            let text = format!("the Deployment {} is being deleted", child.name());
            return Err(Failure::waiting(text));
        }
        Ok(Action::wait())
    }
}
// ANCHOR_END: end

fn database(shop: &Shop) -> Deployment {
    deployment(shop, "database", &shop.spec.database_image)
}

fn web(shop: &Shop) -> Deployment {
    deployment(shop, "web", "nginx")
}

/// Tells the visitors where the shop is.
fn address(shop: &Shop) -> ConfigMap {
    ConfigMap::named(format!("{}-address", shop.name()))
}

fn deployment(shop: &Shop, part: &str, image: &str) -> Deployment {
    let name = format!("{}-{part}", shop.name());
    let labels = Labels::from([("app", name.as_str())]);
    let main = Container {
        name: "main".into(),
        image: Some(image.into()),
        ..Default::default()
    };
    Deployment {
        spec: DeploymentSpec {
            selector: labels.selector(),
            template: PodTemplateSpec {
                metadata: Some(labels.metadata()),
                spec: Some(PodSpec {
                    containers: vec![main],
                    ..Default::default()
                }),
            },
            ..Default::default()
        },
        ..Deployment::named(name)
    }
}

const GOOD: &str = "postgres:18";
/// An image that no node can pull.
const BAD: &str = "registry.invalid/postgres:18";

struct World {
    cluster: Cluster,
    running: Running,
}

impl World {
    async fn new(image: &str) -> Self {
        let cluster = Cluster::start().unwrap();
        let operator = Operator::new("shops").controller(Shops);
        let running = cluster.run(operator).await.unwrap();
        let shop = json!({"metadata": {"name": "a"}, "spec": {"databaseImage": image}});
        let shop: Shop = serde_json::from_value(shop).unwrap();
        cluster.create(&shop).await.unwrap();
        Self { cluster, running }
    }

    async fn set_image(&self, image: &str) {
        let patch = json!({"spec": {"databaseImage": image}});
        self.cluster.patch::<Shop>("a", patch).await.unwrap();
    }

    async fn exists<K: pilothouse::resource::Resource>(&self, name: &str) -> bool {
        self.cluster.get::<K>(name).await.unwrap().is_some()
    }

    /// Status, reason and message of the condition `Ready`.
    async fn says(&self) -> String {
        let shop: Shop = self.cluster.get("a").await.unwrap().unwrap();
        let conditions = shop.status.unwrap_or_default().conditions;
        conditions.of_type("Ready").map_or_else(String::new, |one| {
            format!("{} {}: {}", one.status, one.reason, one.message)
        })
    }

    async fn until_ready(&self) {
        let ready = |shop: &Shop| {
            let status = shop.status.as_ref();
            status.is_some_and(|status| status.conditions.is_true("Ready"))
        };
        let found = self.cluster.until::<Shop>("a", "be ready", ready).await;
        found.unwrap();
    }

    /// Reasons and notes of the Events about the shop.
    async fn events(&self) -> Vec<String> {
        let api = self.cluster.api::<events::Event>();
        let all = api.list(&ListParams::default()).await.unwrap().items;
        let about = |event: &events::Event| {
            let regarding = event.regarding.as_ref();
            regarding.and_then(|one| one.kind.as_deref()) == Some("Shop")
        };
        let text = |event: events::Event| {
            let (reason, note) = (event.reason, event.note);
            format!(
                "{}: {}",
                reason.unwrap_or_default(),
                note.unwrap_or_default()
            )
        };
        all.into_iter().filter(about).map(text).collect()
    }

    /// The number of calls with this result.
    fn calls(&self, result: &str) -> usize {
        let text = self.running.metrics().encode();
        let series = format!(
            "controller_runtime_reconcile_total{{controller=\"shop\",result=\"{result}\"}} "
        );
        let line = text.lines().find_map(|line| line.strip_prefix(&series));
        line.map_or(0, |count| count.parse().unwrap())
    }
}

async fn seconds(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_child_is_applied_when_the_one_before_is_ready() {
    let world = World::new(GOOD).await;
    let cluster = &world.cluster;
    let any = |_: &Deployment| true;
    cluster.until("a-database", "exist", any).await.unwrap();
    assert!(!world.exists::<Deployment>("a-web").await);
    cluster.until("a-web", "exist", any).await.unwrap();
    let database: Deployment = cluster.get("a-database").await.unwrap().unwrap();
    assert!(database.is_ready(), "{:?}", database.readiness());
    assert!(!world.exists::<ConfigMap>("a-address").await);
    world.until_ready().await;
    assert!(world.exists::<ConfigMap>("a-address").await);
    assert_eq!(world.events().await, [""; 0]);
    assert_eq!(world.calls("error"), 0);
    world.running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_child_that_is_not_ready_ends_the_reconcile_without_a_failure() {
    let world = World::new(BAD).await;
    world.cluster.settle().await;
    let text = "Deployment default/a-database is not ready: 0 of 1 replicas are available";
    assert_eq!(
        world.says().await,
        format!("False ReconcileWaiting: {text}")
    );
    let calls = world.calls("success");
    seconds(500).await;
    assert_eq!(
        (world.calls("success"), world.calls("error")),
        (calls, 0),
        "it waits for a change, without retries"
    );
    assert_eq!(world.events().await, [""; 0]);
    let report = world.running.ready().report(&Query::parse(Some("verbose")));
    assert!(
        report.to_string().contains("controller-shop ok: working\n"),
        "{report}"
    );

    // A change of the child is enough.
    world.set_image(GOOD).await;
    world.until_ready().await;
    assert_eq!(
        world.says().await,
        "True Reconciled: the last reconcile succeeded"
    );
    world.running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_child_that_has_failed_is_a_failure_that_is_not_retried() {
    let world = World::new(BAD).await;
    // The progress deadline of a Deployment is 600 s.
    seconds(700).await;
    let says = world.says().await;
    let expected = "False ReconcileFailed: Deployment default/a-database has failed: ProgressDeadlineExceeded: ";
    assert!(says.starts_with(expected), "{says}");
    let events = world.events().await;
    assert!(
        events.len() == 1
            && events[0].starts_with("ReconcileFailed: Deployment default/a-database"),
        "{events:?}"
    );
    let calls = world.calls("error");
    seconds(1000).await;
    assert_eq!(world.calls("error"), calls);
    world.set_image(GOOD).await;
    world.until_ready().await;
    world.running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_pruned_after_a_reconcile_that_waits() {
    let world = World::new(GOOD).await;
    world.until_ready().await;
    // The rest of the children is not applied any more.
    world.set_image(BAD).await;
    seconds(60).await;
    assert!(world.says().await.starts_with("False ReconcileWaiting: "));
    assert!(world.exists::<ConfigMap>("a-address").await);
    world.running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_child_is_deleted_when_the_one_after_it_is_gone() {
    let world = World::new(GOOD).await;
    world.until_ready().await;
    let cluster = &world.cluster;
    cluster.delete::<Shop>("a").await.unwrap();
    let deleting = |child: &Deployment| child.is_deleting();
    cluster
        .until("a-web", "be deleted", deleting)
        .await
        .unwrap();
    let database: Deployment = cluster.get("a-database").await.unwrap().unwrap();
    assert!(!database.is_deleting());
    let text = "the Deployment a-web is being deleted";
    assert_eq!(world.says().await, format!("False CleanupWaiting: {text}"));
    cluster
        .until("a-database", "be deleted", deleting)
        .await
        .unwrap();
    assert!(!world.exists::<Deployment>("a-web").await);
    let pods = cluster.api::<Pod>().list(&ListParams::default()).await;
    let pods = pods.unwrap().items;
    assert!(
        pods.iter().all(|pod| !pod.name().contains("web")),
        "{pods:?}"
    );
    cluster.until_gone::<Shop>("a").await.unwrap();
    assert!(!world.exists::<Deployment>("a-database").await);
    assert_eq!(world.events().await, [""; 0]);
    assert_eq!(world.calls("error"), 0);
    world.running.stop().await;
}
