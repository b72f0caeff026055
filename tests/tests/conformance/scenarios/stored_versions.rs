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

/// Defines boxes with these versions. Returns the name of the definition.
async fn install(run: &mut Run, group: &str, versions: Value) -> String {
    let name = format!("boxes.{group}");
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": "boxes", "kind": "Box"},
            "versions": versions,
        },
    });
    install_definition(run, definition).await;
    name
}

pub(crate) async fn of_definitions(run: &mut Run) {
    let name = install(run, GROUP, versions("v1")).await;
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

/// An object has the fields of the stored version, of those that the request has.
pub(crate) async fn with_other_fields(run: &mut Run) {
    const GROUP: &str = "pruned.pilothouse.dev";
    let version = |name: &str, own: &str, stored: bool| {
        let mut fields = json!({"size": {"type": "integer"}});
        fields[own] = json!({"type": "string"});
        json!({"name": name, "served": true, "storage": stored, "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {"type": "object", "properties": fields}}}}})
    };
    let versions = |stored: &str| {
        json!([
            version("v1", "color", stored == "v1"),
            version("v2", "paint", stored == "v2")
        ])
    };
    let name = install(run, GROUP, versions("v1")).await;
    let path = |run: &Run, version: &str| run.path(&format!("{GROUP}/{version}/boxes"));
    let object = |version: &str, name: &str| {
        json!({
            "apiVersion": format!("{GROUP}/{version}"), "kind": "Box", "metadata": {"name": name},
            "spec": {"size": 1, "color": "red", "paint": "red"},
        })
    };
    for version in ["v1", "v2"] {
        let collection = path(run, version);
        run.step(
            format!("create in {version}"),
            Ask::post(&collection, object(version, version)),
        )
        .await;
        for read in ["v1", "v2"] {
            let one = format!("{}/{version}", path(run, read));
            run.step(format!("of {version}, read in {read}"), Ask::get(one))
                .await;
        }
    }
    let change = json!({"spec": {"versions": versions("v2")}});
    let changed = run
        .send_unrecorded(Ask::merge(format!("{DEFINITIONS}/{name}"), change))
        .await;
    assert_eq!(changed.code, 200, "{changed:?}");
    // A server serves the new definition a moment later: then a field of the new version is stored.
    let probe = format!("{}/v2", path(run, "v2"));
    let painted = Ask::merge(probe, json!({"spec": {"paint": "green"}}));
    run.until(painted, |answer| answer.body["spec"]["paint"] == "green")
        .await;
    for read in ["v1", "v2"] {
        let one = format!("{}/v1", path(run, read));
        run.step(format!("of the old version, read in {read}"), Ask::get(one))
            .await;
    }
    let old = format!("{}/v1", path(run, "v1"));
    let written = Ask::merge(old, json!({"spec": {"color": "blue", "size": 2}}));
    run.step("written in the version that is not stored", written)
        .await;
    for read in ["v1", "v2"] {
        let one = format!("{}/v1", path(run, read));
        run.step(format!("then read in {read}"), Ask::get(one))
            .await;
    }
}
