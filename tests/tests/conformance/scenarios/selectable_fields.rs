//! Field selectors over the fields that a definition names.

use serde_json::{Value, json};

use super::gadget::{DEFINITIONS, install_definition};
use crate::run::{Ask, Run};

const CHIPS: &str = "selectable.pilothouse.dev/v1/chips";

pub(crate) async fn of_custom_resources(run: &mut Run) {
    refused(run).await;
    install_definition(run, definition()).await;
    let chips = run.path(CHIPS);
    let others = run.path("selectable.pilothouse.dev/v2/chips");
    for (name, spec) in [
        ("a", json!({"color": "red", "size": 1, "hot": true})),
        (
            "b",
            json!({"color": "blue", "hot": false, "labels": {"x": "1"}}),
        ),
        ("c", json!({})),
    ] {
        let chip = json!({
            "apiVersion": "selectable.pilothouse.dev/v1", "kind": "Chip",
            "metadata": {"name": name}, "spec": spec,
        });
        run.send_unrecorded(Ask::post(&chips, chip)).await;
    }
    for (version, path) in [("v1", &chips), ("v2", &others)] {
        for selector in [
            "spec.color%3Dred",
            "spec.color!%3Dred",
            "spec.color%3D",
            "spec.color%3Dgreen",
            "spec.size%3D1",
            "spec.size%3D0",
            "spec.hot%3Dfalse",
            "spec.hot%3Dtrue,spec.color%3Dred",
            "spec.labels.x%3D1",
            "status.replicas%3D0",
            "metadata.name%3Da,spec.color%3Dred",
            "spec.other%3D1",
            ".spec.color%3Dred",
        ] {
            let ask = Ask::get(format!("{path}?fieldSelector={selector}"));
            let answer = run.send_unrecorded(ask).await;
            let found = names(&answer.body);
            run.record(
                format!("{version}: {selector}"),
                json!([answer.code, found]),
            );
        }
    }
    watched(run, &chips).await;
    let ask = Ask::delete(format!("{chips}?fieldSelector=spec.color%3Dblue"));
    run.send_unrecorded(ask).await;
    let left = run.send_unrecorded(Ask::get(&chips)).await;
    run.record("left after a deletion", names(&left.body));
    defaulted(run, &chips).await;
    described(run).await;
}

/// Definitions that a server refuses.
async fn refused(run: &mut Run) {
    let many = (0..9).map(|i| (format!("s{i}"), json!({"type": "string"})));
    let many: serde_json::Map<String, Value> = many.collect();
    for (step, paths) in [
        ("unknown", vec![".spec.nothing"]),
        ("no dot", vec!["spec.color"]),
        ("empty", vec![""]),
        ("dots", vec!["..spec.color"]),
        ("end", vec![".spec."]),
        ("brackets", vec![".spec['color']"]),
        ("item", vec![".spec.list[0]"]),
        ("below a value", vec![".spec.color.x"]),
        ("list", vec![".spec.list"]),
        ("number", vec![".spec.share"]),
        ("object", vec![".spec"]),
        ("metadata", vec![".metadata.name"]),
        ("twice", vec![".spec.color", ".spec.color"]),
        (
            "nine",
            many.keys()
                .map(|name| &*format!(".spec.{name}").leak())
                .collect(),
        ),
        (
            "eight",
            many.keys()
                .take(8)
                .map(|name| &*format!(".spec.{name}").leak())
                .collect(),
        ),
    ] {
        let mut definition = definition();
        let versions = definition["spec"]["versions"].as_array_mut().unwrap();
        versions.truncate(1);
        let properties = &mut versions[0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        properties["properties"]
            .as_object_mut()
            .unwrap()
            .extend(many.clone());
        let fields = paths.iter().map(|path| json!({"jsonPath": path}));
        versions[0]["selectableFields"] = fields.collect();
        let path = format!("{DEFINITIONS}?dryRun=All");
        let answer = run.send_unrecorded(Ask::post(path, definition)).await;
        run.record(
            format!("refused: {step}"),
            json!([answer.code, answer.body["message"], answer.body["details"]]),
        );
    }
    let mut same = definition();
    same["spec"]["versions"][1]["selectableFields"] =
        same["spec"]["versions"][0]["selectableFields"].clone();
    let path = format!("{DEFINITIONS}?dryRun=All");
    run.step(
        "refused: shared by versions with two schemas",
        Ask::post(path, same),
    )
    .await;
}

/// A change of the field moves an object into a watch or out of it.
async fn watched(run: &mut Run, chips: &str) {
    let path = format!("{chips}?watch=true&fieldSelector=spec.color%3Dred");
    let mut red = run.watch(path).await;
    let mut events = vec![red.events(1).await];
    for (name, color) in [("b", "red"), ("a", "blue"), ("b", "red"), ("c", "green")] {
        let patch = json!({"spec": {"color": color, "note": name}});
        run.send_unrecorded(Ask::merge(format!("{chips}/{name}"), patch))
            .await;
    }
    run.send_unrecorded(Ask::delete(format!("{chips}/b"))).await;
    events.push(red.events(4).await);
    run.record("watched", events.into());
}

/// Objects that were stored before a field got a default are selected by it.
async fn defaulted(run: &mut Run, chips: &str) {
    let path = format!("{DEFINITIONS}/chips.selectable.pilothouse.dev");
    let at = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/default";
    let patch = json!([{"op": "add", "path": at, "value": 7}]);
    run.send_unrecorded(Ask::json(path, patch)).await;
    let ask = Ask::get(format!("{chips}?fieldSelector=spec.size%3D7"));
    let answer = run
        .until(ask, |answer| answer.body["items"] != json!([]))
        .await;
    run.record("by a later default", names(&answer.body));
}

async fn described(run: &mut Run) {
    let path = "/openapi/v3/apis/selectable.pilothouse.dev/v1";
    let kind = "dev.pilothouse.selectable.v1.Chip";
    let document = run
        .until(Ask::get(path), |answer| {
            !answer.body["components"]["schemas"][kind].is_null()
        })
        .await
        .body;
    let schemas = &document["components"]["schemas"];
    for name in [kind, "dev.pilothouse.selectable.v1.ChipList"] {
        let fields = &schemas[name]["x-kubernetes-selectable-fields"];
        run.record(format!("openapi: {name}"), fields.clone());
    }
}

fn names(list: &Value) -> Value {
    match list["items"].as_array() {
        Some(items) => items
            .iter()
            .map(|item| item["metadata"]["name"].clone())
            .collect(),
        None => list.clone(),
    }
}

fn definition() -> Value {
    let text = json!({"type": "string"});
    let spec = json!({
        "type": "object",
        "properties": {
            "color": text, "note": text, "size": {"type": "integer"}, "hot": {"type": "boolean"},
            "share": {"type": "number"}, "list": {"type": "array", "items": text},
            "labels": {"type": "object", "additionalProperties": text},
        },
    });
    let status = json!({"type": "object", "properties": {"replicas": {"type": "integer"}}});
    let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
    let mut other = schema.clone();
    other["description"] = "Another schema.".into();
    let fields =
        |paths: &[&str]| -> Value { paths.iter().map(|path| json!({"jsonPath": path})).collect() };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "chips.selectable.pilothouse.dev"},
        "spec": {
            "group": "selectable.pilothouse.dev", "scope": "Namespaced",
            "names": {"plural": "chips", "singular": "chip", "kind": "Chip", "listKind": "ChipList"},
            "versions": [
                {
                    "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                    "selectableFields": fields(&[
                        ".spec.color", ".spec.size", ".spec.hot", ".spec.labels.x", ".status.replicas",
                    ]),
                },
                {
                    "name": "v2", "served": true, "storage": false, "schema": {"openAPIV3Schema": other},
                    "selectableFields": fields(&[".spec.size"]),
                },
            ],
        },
    })
}
