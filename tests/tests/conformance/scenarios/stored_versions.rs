//! Objects that are stored in another version than the present one.

use serde_json::{Value, json};

use super::gadget::{DEFINITIONS, install_definition};
use crate::run::{Ask, Run};

const GROUP: &str = "stored.pilothouse.dev";

fn versions(stored: &str) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}});
    let version = |name: &str| json!({"name": name, "served": true, "storage": name == stored, "schema": schema});
    json!([version("v1"), version("v2")])
}

pub(crate) async fn of_definitions(run: &mut Run) {
    let name = format!("boxes.{GROUP}");
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name},
        "spec": {
            "group": GROUP, "scope": "Namespaced", "names": {"plural": "boxes", "kind": "Box"},
            "versions": versions("v1"),
        },
    });
    install_definition(run, definition).await;
    let path = run.path(&format!("{GROUP}/v1/boxes"));
    let object = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Box", "metadata": {"name": "a"}, "spec": {"size": 1},
    });
    let made = run.send_unrecorded(Ask::post(&path, object)).await;
    assert_eq!(made.code, 201, "{made:?}");
    let path = format!("{path}/a");
    let nothing = Ask::merge(&path, json!({"spec": {"size": 1}}));
    let version = |answer: &crate::run::Answer| answer.body["metadata"]["resourceVersion"].clone();
    let first = version(&made);
    let again = run.send_unrecorded(nothing.clone()).await;
    run.record("nothing changed", json!(version(&again) == first));
    let change = json!({"spec": {"versions": versions("v2")}});
    let changed = run
        .send_unrecorded(Ask::merge(format!("{DEFINITIONS}/{name}"), change))
        .await;
    assert_eq!(changed.code, 200, "{changed:?}");
    // A server serves the new definition a moment later.
    let written = run
        .until(nothing.clone(), |answer| version(answer) != first)
        .await;
    run.record("the stored version changed", written.body["spec"].clone());
    let again = run.send_unrecorded(nothing).await;
    let is_kept = version(&again) == version(&written);
    run.record("nothing changed in the new version", json!(is_kept));
}
