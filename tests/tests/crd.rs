//! Checks that an API server accepts what the derives generate from Rust types.

use crate::gallery::{Gallery, GallerySpec};
use pilothouse::{
    crd::{CustomResource, InstallError, install, to_json},
    testing::Cluster,
};
use serde_json::{Value, json};

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
    let schema = pilothouse_sandbox::internals::schema::Schema::from_json(&schema_json()).unwrap();
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
    let schema = pilothouse_sandbox::internals::schema::Schema::from_json(&schema_json());
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
    let schema = pilothouse_sandbox::internals::schema::Schema::from_json(&schema_json()).unwrap();
    let mut object = minimal();
    schema.apply_defaults(&mut object);
    assert_eq!(object["spec"]["replicas"], 1);
    assert_eq!(object["spec"]["nested"], json!({"depth": 0}));
}

#[test]
fn values_that_serde_writes_pass_the_schema() {
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
fn the_schema_refuses_values_that_serde_cannot_read() {
    for (change, field) in [
        (json!({"replicas": -1}), "spec.replicas"),
        (json!({"replicas": 101}), "spec.replicas"),
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
async fn a_definition_with_another_scope_is_not_overwritten() {
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
            .contains("its scope is Cluster, not Namespaced, and a scope cannot be changed"),
        "{error}"
    );
}
