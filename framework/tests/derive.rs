//! The derives, used as a user uses them.

use std::collections::BTreeMap;

use pilothouse::crd::{CustomResource, to_yaml};
use pilothouse::k8s::apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::Condition};
use pilothouse::resource::{Object, ObjectMeta};
use pilothouse::{Resource, Schema};
use serde::{Deserialize, Serialize};

/// A static web site served by nginx.
#[derive(Resource, Clone, Debug)]
#[resource(
    group = "demo.pilothouse.dev",
    version = "v1",
    namespaced,
    short_names("ws"),
    categories("all")
)]
struct Website {
    metadata: ObjectMeta,
    spec: WebsiteSpec,
    status: Option<WebsiteStatus>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct WebsiteSpec {
    /// Number of pods to run.
    #[serde(default = "one")]
    #[schema(minimum = 0, maximum = 100, scale = "spec")]
    replicas: i32,
    /// Page served at `/`.
    #[schema(rule("self.size() > 0", "html must not be empty"))]
    html: String,
}

fn one() -> i32 {
    1
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct WebsiteStatus {
    #[schema(column = "Ready", scale = "status")]
    ready_replicas: i32,
}

/// Everything a schema can hold.
#[derive(Resource, Clone, Debug)]
#[resource(
    group = "demo.pilothouse.dev",
    version = "v1beta2",
    kind = "StoragePolicy",
    cluster,
    max_description = 60
)]
#[schema(rule(
    "self.metadata.name.size() <= 40",
    "the name must have at most 40 characters"
))]
#[schema(column(
    name = "Ready",
    json_path = ".status.conditions[?(@.type==\"Ready\")].status"
))]
#[schema(column(
    name = "Observed",
    json_path = ".status.observed",
    type = "integer",
    priority = 1
))]
struct Policy {
    metadata: ObjectMeta,
    spec: PolicySpec,
    status: Option<PolicyStatus>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[schema(rule(
    "self.low <= self.high",
    "low is at most high",
    reason = "FieldValueInvalid",
    field_path = ".low"
))]
struct PolicySpec {
    low: u8,
    high: u32,
    #[schema(exclusive_minimum = 0)]
    rate: Option<f64>,
    big: u64,
    #[schema(column(name = "Mode", priority = 1, description = "How it works."))]
    mode: Mode,
    target: Option<Target>,
    action: Action,
    port: PortOrName,
    #[schema(min_items = 1, unique_items)]
    tags: Vec<String>,
    #[schema(list_type = "map", list_map_keys("name"))]
    rules: Vec<Named>,
    labels: BTreeMap<String, String>,
    anything: serde_json::Value,
    more: BTreeMap<String, serde_json::Value>,
    size: Quantity,
    #[serde(default)]
    nested: Nested,
    #[serde(flatten)]
    flat: Flat,
    #[schema(nullable)]
    sometimes: Option<String>,
    #[schema(with = "String", format = "uri")]
    link: Link,
    set: std::collections::HashSet<i32>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Link(String);

/// How to work.
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
    /// A Pod of this namespace.
    Pod {
        name: String,
    },
    Host(Named),
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "type")]
enum Action {
    Keep,
    /// Deletes it.
    Delete {
        #[serde(default)]
        after: i64,
        reason: String,
    },
    Move(Named),
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
enum PortOrName {
    Port(u16),
    Name(String),
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
struct Named {
    name: String,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
struct Nested {
    deep_value: Option<String>,
    #[schema(column = "Depth")]
    depth: i16,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct Flat {
    #[schema(column = "Flat", pattern = "^[a-z]+$")]
    flattened: String,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct PolicyStatus {
    #[serde(default)]
    conditions: Vec<Condition>,
    observed: Option<i64>,
}

#[test]
fn the_definition_of_the_website_matches_its_snapshot() {
    insta::assert_snapshot!(to_yaml([Website::crd().unwrap()]).unwrap());
}

#[test]
fn every_form_of_type_becomes_structural() {
    insta::assert_snapshot!(to_yaml([Policy::crd().unwrap()]).unwrap());
}

#[test]
fn a_kind_writes_its_api_version_and_kind() {
    let site = Website {
        metadata: ObjectMeta {
            name: Some("web".into()),
            ..Default::default()
        },
        spec: WebsiteSpec {
            replicas: 1,
            html: "hi".into(),
        },
        status: None,
    };
    let json = serde_json::to_value(&site).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "apiVersion": "demo.pilothouse.dev/v1", "kind": "Website",
            "metadata": {"name": "web"}, "spec": {"replicas": 1, "html": "hi"},
        })
    );
    let back: Website = serde_json::from_value(json).unwrap();
    assert_eq!((back.name(), back.spec.html.as_str()), ("web", "hi"));
}

#[test]
fn list_items_without_kind_are_read_and_unknown_fields_are_ignored() {
    let text = r#"{"metadata": {"name": "a"}, "spec": {"html": "x"}, "extra": [1], "status": null, "kind": null}"#;
    let site: Website = serde_json::from_str(text).unwrap();
    assert_eq!((site.spec.replicas, site.status.is_none()), (1, true));
}

#[test]
fn a_decode_error_names_the_field() {
    let error = |text: &str| {
        serde_json::from_str::<Website>(text)
            .unwrap_err()
            .to_string()
    };
    for (text, expected) in [
        (
            r#"{"kind": "Deployment", "metadata": {}, "spec": {"html": ""}}"#,
            "kind is `Deployment`, expected `Website`",
        ),
        (
            r#"{"apiVersion": "demo.pilothouse.dev/v2", "spec": {"html": ""}}"#,
            "apiVersion is `demo.pilothouse.dev/v2`, expected `demo.pilothouse.dev/v1`",
        ),
        (r#"{"metadata": {}}"#, "missing field `spec`"),
        (
            r#"{"spec": {"html": ""}, "spec": {"html": ""}}"#,
            "duplicate field `spec`",
        ),
        (r#"[]"#, "expected an object of kind Website"),
    ] {
        let error = error(text);
        assert!(error.contains(expected), "{error}");
    }
}

/// An integer without a suffix has 32 bits in Rust.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct Bounds {
    #[schema(minimum = -9_223_372_036_854_775_808, maximum = 4294967295)]
    bytes: i64,
    #[schema(minimum = -3_000_000_000, maximum = 0xffff_ffff_ffff)]
    octets: i64,
    #[schema(maximum = 5_000_000_000, multiple_of = 1_000_000_000_000)]
    share: f64,
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.pilothouse.dev", version = "v1", namespaced)]
struct Disk {
    metadata: ObjectMeta,
    spec: Bounds,
}

#[test]
fn bounds_may_be_larger_than_32_bits() {
    let crd = pilothouse::crd::to_json(&Disk::crd().unwrap());
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    let number = |field: &str, key: &str| schema["spec"]["properties"][field][key].as_f64();
    for (field, key, expected) in [
        ("bytes", "minimum", -9_223_372_036_854_775_808.0),
        ("bytes", "maximum", 4_294_967_295.0),
        ("octets", "minimum", -3_000_000_000.0),
        ("octets", "maximum", 281_474_976_710_655.0),
        ("share", "maximum", 5_000_000_000.0),
        ("share", "multipleOf", 1_000_000_000_000.0),
    ] {
        assert_eq!(number(field, key), Some(expected), "{field} {key}");
    }
}
