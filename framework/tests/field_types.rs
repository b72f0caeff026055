//! Types of fields: generic types, durations, addresses, paths, and types of other crates.

use std::{
    collections::BTreeMap,
    marker::PhantomData,
    net::{IpAddr, SocketAddr},
    num::NonZeroU16,
    path::PathBuf,
    time::Duration,
};

use pilothouse::{
    Resource, Schema,
    crd::{CustomResource, to_json},
    k8s::{
        ByteString,
        api::core::v1::{Lifecycle, PersistentVolumeClaim, PodTemplateSpec},
    },
    resource::ObjectMeta,
    testing,
};
use pilothouse_sandbox::internals::schema::Schema as ServerSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// A type of another crate, which serde writes as a text.
mod url {
    #[derive(Clone, Debug, serde::Deserialize, serde::Serialize)]
    pub(crate) struct Url(String);
}

use url::Url;

// ANCHOR: types
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct PoolSpec<T> {
    #[serde(with = "pilothouse::resource::duration")]
    period: Duration,
    #[serde(default, with = "pilothouse::resource::duration")]
    timeout: Option<Duration>,
    #[schema(with = "String", format = "uri")]
    page: Url,
    pod: PodTemplateSpec,
    /// Members of any kind.
    members: Vec<T>,
}
// ANCHOR_END: types

// ANCHOR: bounded
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct PageSpec {
    #[schema(
        max_items = 32,
        items(max_length = 63, pattern = "^[a-z]+$"),
        rule("self.all(a, self.exists_one(b, a == b))", "each tag once")
    )]
    tags: Vec<String>,
}
// ANCHOR_END: bounded

// ANCHOR: open
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct TaskSpec {
    #[schema(with = "serde_json::Map<String, serde_json::Value>")]
    template: PodTemplateSpec,
}
// ANCHOR_END: open

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
struct Task {
    metadata: ObjectMeta,
    spec: TaskSpec,
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
struct Page {
    metadata: ObjectMeta,
    spec: PageSpec,
}

#[test]
fn the_bounds_of_the_items_in_a_list_make_a_rule_cheap() {
    testing::definition::<Page>().check().unwrap();
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
struct Pool {
    metadata: ObjectMeta,
    spec: PoolSpec<Member<u16>>,
}

/// A member.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(
    default,
    bound = "T: Serialize + DeserializeOwned + Default + From<u8>"
)]
#[schema(rule("self.weight > 0", "no member without weight"))]
struct Member<T: Default = u8> {
    /// How much it does.
    #[schema(minimum = 1)]
    weight: T,
    address: Option<IpAddr>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    others: Vec<T>,
}

impl<T: Default + From<u8>> Default for Member<T> {
    fn default() -> Self {
        Self {
            weight: T::from(7),
            address: None,
            others: Vec::new(),
        }
    }
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
struct Other {
    metadata: ObjectMeta,
    spec: OtherSpec,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[schema(rule(
    "self.period < duration('1h')",
    "the period must be shorter than an hour"
))]
struct OtherSpec {
    #[serde(default = "minute", with = "pilothouse::resource::duration")]
    period: Duration,
    #[serde(default, with = "pilothouse::resource::duration")]
    steps: BTreeMap<String, Vec<Duration>>,
    address: IpAddr,
    listen: Option<SocketAddr>,
    path: Option<PathBuf>,
    port: Option<NonZeroU16>,
    key: Option<ByteString>,
    lifecycle: Option<Lifecycle>,
    claims: Option<Vec<PersistentVolumeClaim>>,
    choice: Option<Choice<String, 3>>,
    nested: Option<Nested<Nested<i32>>>,
}

fn minute() -> Duration {
    Duration::from_secs(60)
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(
    rename_all = "camelCase",
    bound = "T: Clone + Serialize + DeserializeOwned"
)]
enum Choice<T, const N: usize>
where
    T: Clone,
{
    One(Nested<T>),
    All {
        names: Vec<T>,
        #[serde(skip)]
        size: PhantomData<[(); N]>,
    },
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct Nested<T> {
    value: T,
}

fn schema<K: CustomResource>() -> Value {
    let crd = to_json(&K::crd().unwrap());
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

/// What the server says of a spec.
fn errors<K: CustomResource>(spec: Value) -> Vec<String> {
    let schema = ServerSchema::from_json(&schema::<K>()).unwrap();
    let object = json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}, "spec": spec});
    let errors = schema.validate(&object, None);
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn a_generic_type_has_the_schema_of_its_arguments() {
    let schema = schema::<Pool>();
    let member = &schema["properties"]["spec"]["properties"]["members"]["items"];
    assert_eq!(member["description"], "A member.");
    let weight = json!({
        "description": "How much it does.", "type": "integer", "format": "int32",
        "default": 7, "minimum": 1, "maximum": 65535,
    });
    assert_eq!(member["properties"]["weight"], weight);
    assert_eq!(member.get("required"), None);
    let nested = self::schema::<Other>();
    let nested = &nested["properties"]["spec"]["properties"]["nested"];
    let inner = &nested["properties"]["value"]["properties"]["value"];
    assert_eq!(inner, &json!({"type": "integer", "format": "int32"}));
}

#[test]
fn a_type_of_kubernetes_has_its_full_schema_unless_the_author_wants_an_open_object() {
    let pool = schema::<Pool>();
    let containers = &pool["properties"]["spec"]["properties"]["pod"]["properties"]["spec"]["properties"]
        ["containers"];
    assert_eq!(containers["x-kubernetes-list-map-keys"], json!(["name"]));
    let with_pod = |containers: Value| {
        errors::<Pool>(json!({
            "period": "1m", "page": "https://example.com/", "members": [], "pod": {"spec": {"containers": containers}},
        }))
    };
    assert_eq!(with_pod(json!([{"name": "a", "image": "b"}])), [""; 0]);
    let errors = with_pod(json!([{"name": 1}])).join("\n");
    assert!(
        errors.contains("spec.pod.spec.containers[0].name"),
        "{errors}"
    );
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    assert_eq!(
        schema::<Task>()["properties"]["spec"]["properties"]["template"],
        open
    );
    let bytes = |crd: &pilothouse::crd::CustomResourceDefinition| to_json(crd).to_string().len();
    let bytes = bytes(&Pool::crd().unwrap()) - bytes(&Task::crd().unwrap());
    assert!(
        (50_000..70_000).contains(&bytes),
        "the book says 60 KB: {bytes}"
    );
}

#[test]
fn a_duration_is_text_in_the_form_of_go() {
    let schema = schema::<Other>();
    let spec = &schema["properties"]["spec"];
    let period = &spec["properties"]["period"];
    assert_eq!(
        (&period["type"], &period["format"]),
        (&json!("string"), &json!("duration"))
    );
    assert_eq!(period["default"], "1m0s");
    let steps = &spec["properties"]["steps"]["additionalProperties"]["items"];
    assert_eq!(steps["format"], "duration");
    for (period, problem) in [
        ("59m", ""),
        ("0", ""),
        ("1.5s", ""),
        ("2 days", "should match"),
        ("soon", "duration"),
        ("-1s", "should match"),
        ("61m", "shorter than an hour"),
    ] {
        let errors = errors::<Other>(json!({"period": period, "address": "::1"}));
        match problem {
            "" => assert_eq!(errors, [""; 0], "{period}"),
            _ => assert!(errors.join("\n").contains(problem), "{period}: {errors:?}"),
        }
    }
}

#[test]
fn an_address_has_one_of_the_two_versions() {
    for (address, is_valid) in [
        ("10.0.0.1", true),
        ("2001:db8::1", true),
        ("10.0.0", false),
        ("localhost", false),
    ] {
        let errors = errors::<Other>(json!({"period": "1m", "address": address}));
        assert_eq!(errors.is_empty(), is_valid, "{address}: {errors:?}");
    }
}

#[test]
fn what_serde_writes_passes_the_schema() {
    let spec = OtherSpec {
        period: Duration::from_millis(1500),
        steps: [("a".to_owned(), vec![Duration::from_secs(1)])].into(),
        address: IpAddr::from([10, 0, 0, 1]),
        listen: "[::1]:80".parse().ok(),
        path: Some("/etc/hosts".into()),
        port: NonZeroU16::new(80),
        key: Some(ByteString(b"key".to_vec())),
        lifecycle: Some(Lifecycle::default()),
        claims: Some(vec![PersistentVolumeClaim::default()]),
        choice: Some(Choice::One(Nested {
            value: "a".to_owned(),
        })),
        nested: Some(Nested {
            value: Nested { value: 1 },
        }),
    };
    let written = serde_json::to_value(&spec).unwrap();
    assert_eq!(errors::<Other>(written.clone()), [""; 0]);
    assert_eq!(written["period"], "1.5s");
    assert_eq!(written["steps"], json!({"a": ["1s"]}));
    let pool: PoolSpec<Member<u16>> = serde_json::from_value(json!({
        "period": "1m", "page": "https://example.com/", "pod": {}, "members": [{"weight": 1}],
    }))
    .unwrap();
    let mut written = serde_json::to_value(&pool).unwrap();
    written["timeout"] = json!("1s");
    written["members"][0]["address"] = json!("::1");
    assert_eq!(errors::<Pool>(written), [""; 0]);
}
