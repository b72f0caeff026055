//! What the derives make of Rust types is what an API server accepts.

use std::collections::BTreeMap;

use pilothouse::{
    Resource, Schema,
    crd::{CustomResource, InstallError, install, to_json},
    k8s::{
        api::core::v1::{EnvVar, PodTemplateSpec, ResourceRequirements, SecretKeySelector},
        apimachinery::pkg::{
            api::resource::Quantity,
            apis::meta::v1::{Condition, LabelSelector, Time},
            util::intstr::IntOrString,
        },
    },
    resource::ObjectMeta,
    testing::Cluster,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A gallery of every form a type can take.
#[derive(Resource, Clone, Debug)]
#[resource(
    group = "demo.pilothouse.dev",
    version = "v1",
    namespaced,
    plural = "galleries",
    short_names("gal"),
    categories("all")
)]
struct Gallery {
    metadata: ObjectMeta,
    spec: GallerySpec,
    status: Option<GalleryStatus>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct GallerySpec {
    #[serde(default = "one")]
    #[schema(minimum = 0, maximum = 100, scale = "spec")]
    replicas: i32,
    #[schema(exclusive_minimum = 0, exclusive_maximum = 1)]
    share: f64,
    #[schema(pattern = "^[a-z]+$", min_length = 1, max_length = 8)]
    word: Option<String>,
    mode: Mode,
    target: Option<Target>,
    action: Option<Action>,
    shape: Option<Shape>,
    port: Option<PortOrName>,
    #[schema(unique_items)]
    tags: Option<Vec<String>>,
    #[schema(list_type = "map", list_map_keys("name"))]
    items: Option<Vec<Item>>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    anything: Option<Value>,
    #[serde(default)]
    nested: Nested,
    #[serde(flatten)]
    flat: Flat,
    limit: Option<Quantity>,
    target_port: Option<IntOrString>,
    selector: Option<LabelSelector>,
    resources: Option<ResourceRequirements>,
    secret: Option<SecretKeySelector>,
    env: Option<Vec<EnvVar>>,
    template: Option<PodTemplateSpec>,
    since: Option<Time>,
    #[schema(embedded_resource)]
    embedded: Option<Value>,
}

fn one() -> i32 {
    1
}

#[derive(Schema, Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    /// Slowly.
    VeryCareful,
    Fast,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
enum Target {
    Pod { name: String },
    Host(Item),
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "type")]
enum Action {
    Keep,
    Delete {
        #[serde(default)]
        after: i64,
        reason: String,
    },
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "form", content = "of")]
enum Shape {
    Circle { radius: u32 },
    Square { side: u32 },
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
enum PortOrName {
    Port(u16),
    Name(String),
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
struct Item {
    name: String,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
#[schema(rule("self.depth < 9", "too deep"))]
struct Nested {
    deep_value: Option<String>,
    #[schema(column = "Depth")]
    depth: i16,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct Flat {
    flattened: String,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct GalleryStatus {
    #[schema(column = "Ready", scale = "status")]
    ready_replicas: i32,
    #[schema(scale = "selector")]
    selector: String,
    conditions: Vec<Condition>,
}

fn schema_json() -> Value {
    let crd = to_json(&Gallery::crd().unwrap());
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

fn minimal() -> Value {
    json!({
        "apiVersion": "demo.pilothouse.dev/v1", "kind": "Gallery", "metadata": {"name": "a"},
        "spec": {"share": 0.5, "mode": "fast", "flattened": "x"},
    })
}

fn errors(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let schema = pilothouse_sandbox::schema::Schema::from_json(&schema_json()).unwrap();
    let mut object = minimal();
    change(&mut object["spec"]);
    schema
        .validate(&object, None)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn a_generated_schema_is_structural() {
    let schema = pilothouse_sandbox::schema::Schema::from_json(&schema_json());
    let errors: Vec<String> = schema
        .err()
        .iter()
        .flatten()
        .map(ToString::to_string)
        .collect();
    assert_eq!(errors, [""; 0]);
}

#[test]
fn the_server_fills_in_serdes_defaults() {
    let schema = pilothouse_sandbox::schema::Schema::from_json(&schema_json()).unwrap();
    let mut object = minimal();
    schema.apply_defaults(&mut object);
    assert_eq!(object["spec"]["replicas"], 1);
    assert_eq!(object["spec"]["nested"], json!({"depth": 0}));
}

#[test]
fn what_serde_writes_passes_the_schema() {
    let spec = json!({
        "share": 0.5, "mode": "very-careful", "flattened": "x", "word": "abc",
        "target": {"pod": {"name": "p"}}, "action": {"type": "Delete", "reason": "old"},
        "shape": {"form": "Circle", "of": {"radius": 3}}, "port": "http", "tags": ["a"],
        "items": [{"name": "a"}], "anything": [1, "x"], "limit": "1Gi", "targetPort": 80,
        "selector": {"matchLabels": {"a": "b"}},
        "resources": {"limits": {"cpu": "1"}}, "secret": {"key": "k", "name": "s"},
        "env": [{"name": "A", "value": "b"}], "template": {"spec": {"containers": []}},
        "embedded": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}},
    });
    let typed: GallerySpec = serde_json::from_value(spec).unwrap();
    let mut written = serde_json::to_value(&typed).unwrap();
    written
        .as_object_mut()
        .unwrap()
        .retain(|_, value| !value.is_null());
    written["nested"]
        .as_object_mut()
        .unwrap()
        .remove("deepValue");
    assert_eq!(errors(|spec| *spec = written), [""; 0]);
}

#[test]
fn what_serde_would_not_read_is_refused_by_the_schema() {
    for (change, field) in [
        (json!({"mode": "slow"}), "spec.mode"),
        (
            json!({"target": {"pod": {"name": "p"}, "host": {"name": "h"}}}),
            "spec.target",
        ),
        (json!({"target": {}}), "spec.target"),
        (json!({"action": {"type": "Delete"}}), "spec.action"),
        (json!({"action": {"type": "Burn"}}), "spec.action.type"),
        (json!({"shape": {"form": "Circle"}}), "spec.shape"),
        (json!({"port": true}), "spec.port"),
        (json!({"share": 1}), "spec.share"),
        (json!({"word": "TOO"}), "spec.word"),
        (json!({"tags": ["a", "a"]}), "spec.tags"),
        (
            json!({"items": [{"name": "a"}, {"name": "a"}]}),
            "spec.items",
        ),
        (json!({"nested": {"depth": 9}}), "spec.nested"),
    ] {
        let errors = errors(|spec| {
            for (key, value) in change.as_object().unwrap() {
                spec[key] = value.clone();
            }
        });
        assert!(
            errors.iter().any(|error| error.contains(field)),
            "{change}: {errors:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_installed_kind_is_served() {
    let cluster = Cluster::start().unwrap();
    let crds = [Gallery::crd().unwrap()];
    install(cluster.client(), &crds, "tests").await.unwrap();
    install(cluster.client(), &crds, "tests").await.unwrap();
    let gallery: Gallery = serde_json::from_value(minimal()).unwrap();
    let created = cluster.create(&gallery).await.unwrap();
    assert_eq!(created.spec.replicas, 1);
}

#[tokio::test(start_paused = true)]
async fn a_definition_of_another_scope_is_not_overwritten() {
    let cluster = Cluster::start().unwrap();
    let mut other = Gallery::crd().unwrap();
    other.spec.scope = "Cluster".into();
    install(cluster.client(), &[other], "tests").await.unwrap();
    let error = install(cluster.client(), &[Gallery::crd().unwrap()], "tests")
        .await
        .unwrap_err();
    assert!(matches!(error, InstallError::Mismatch { .. }));
    assert!(
        error
            .to_string()
            .contains("it is Cluster, not Namespaced, and a scope cannot be changed"),
        "{error}"
    );
}
