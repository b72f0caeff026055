//! Conversion of custom resources by a webhook.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::gadget::{DEFINITIONS, install_definition};
use super::hook_server::HookServer;
use crate::run::{Ask, Run};

const GROUP: &str = "conversion.pilothouse.dev";

/// Moves the color of a lamp between its versions: version 2 calls it paint.
fn convert(_path: &str, review: &Value) -> (u16, String) {
    let request = &review["request"];
    let desired = request["desiredAPIVersion"].clone();
    let (from, to) = match desired == format!("{GROUP}/v2") {
        true => ("color", "paint"),
        false => ("paint", "color"),
    };
    let mut refused = None;
    let mut converted = Vec::new();
    for object in request["objects"].as_array().into_iter().flatten() {
        let mut object = object.clone();
        let color = object["spec"]
            .as_object_mut()
            .and_then(|spec| spec.remove(from));
        let color = color.unwrap_or_default();
        // The real server stores each color; these make trouble when another version is read.
        match (color.as_str(), to) {
            (Some("refused"), "paint") => refused = Some("this color has no paint"),
            (Some("renamed"), "paint") => object["metadata"]["name"] = "other".into(),
            (Some("another kind"), "paint") => object["kind"] = "Other".into(),
            (Some("numbers"), "paint") => object["metadata"]["labels"] = json!({"a": 1}),
            (Some("without metadata"), "paint") => object["metadata"] = Value::Null,
            (Some("labeled"), "paint") => {
                object["metadata"]["labels"] = json!({"painted": "yes"});
                object["metadata"]["finalizers"] = json!(["example.com/none"]);
            }
            _ => {}
        }
        object["spec"][to] = color;
        object["apiVersion"] = desired.clone();
        converted.push(object);
    }
    let result = match refused {
        Some(why) => json!({"status": "Failure", "message": why}),
        None => json!({"status": "Success"}),
    };
    let answer = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "response": {"uid": request["uid"], "convertedObjects": converted, "result": result},
    });
    (200, answer.to_string())
}

fn definition(server: &HookServer) -> Value {
    let version = |name: &str, field: &str| {
        json!({"name": name, "served": true, "storage": name == "v1", "schema": {"openAPIV3Schema": {
            "type": "object", "properties": {"spec": {"type": "object", "properties": {
                field: {"type": "string"}, "on": {"type": "boolean", "default": true}}}}}}})
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("lamps.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "names": {"plural": "lamps", "singular": "lamp", "kind": "Lamp", "listKind": "LampList"},
            "versions": [version("v1", "color"), version("v2", "paint")],
            "conversion": {"strategy": "Webhook", "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": {"url": format!("{}/convert", server.url), "caBundle": STANDARD.encode(&server.authority)},
            }},
        },
    })
}

fn lamp(version: &str, name: &str, field: &str, color: &str) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/{version}"), "kind": "Lamp",
        "metadata": {"name": name, "labels": {"a": "b"}}, "spec": {field: color},
    })
}

pub(crate) async fn of_custom_resources(run: &mut Run) {
    let server = HookServer::start(convert).await;
    install_definition(run, definition(&server)).await;
    let one = run.path(&format!("{GROUP}/v1/lamps"));
    let two = run.path(&format!("{GROUP}/v2/lamps"));
    run.until(Ask::get(&two), |answer| answer.code == 200).await;
    run.step("create", Ask::post(&two, lamp("v2", "one", "paint", "red")))
        .await;
    run.step("read", Ask::get(format!("{one}/one"))).await;
    run.step(
        "read: in the version of the write",
        Ask::get(format!("{two}/one")),
    )
    .await;
    let change = json!({"spec": {"paint": "blue"}});
    run.step("patch", Ask::merge(format!("{two}/one"), change))
        .await;
    run.step(
        "patch: in the stored version",
        Ask::merge(format!("{one}/one"), json!({"spec": {"on": false}})),
    )
    .await;
    let applied = json!({
        "apiVersion": format!("{GROUP}/v2"), "kind": "Lamp", "metadata": {"name": "applied"}, "spec": {"paint": "green"},
    });
    let apply = format!("{two}/applied?fieldManager=applier");
    run.step("apply", Ask::apply(apply, applied)).await;
    run.step("list", Ask::get(&two)).await;
    let watch = format!("{two}?watch=true&timeoutSeconds=1");
    run.step("watch", Ask::get(watch)).await;
    run.step("delete", Ask::delete(format!("{two}/applied")))
        .await;
    for color in [
        "labeled",
        "refused",
        "renamed",
        "another kind",
        "numbers",
        "without metadata",
    ] {
        let name = color.replace(' ', "-");
        run.step(
            format!("{color}: create"),
            Ask::post(&one, lamp("v1", &name, "color", color)),
        )
        .await;
        run.step(format!("{color}: read"), Ask::get(format!("{two}/{name}")))
            .await;
        run.step(
            format!("{color}: delete"),
            Ask::delete(format!("{one}/{name}")),
        )
        .await;
    }
    let with = |conversion: Value| {
        let mut definition = definition(&server);
        definition["metadata"]["name"] = format!("lanterns.{GROUP}").into();
        let names = json!({"plural": "lanterns", "singular": "lantern", "kind": "Lantern", "listKind": "LanternList"});
        definition["spec"]["names"] = names;
        definition["spec"]["conversion"] = conversion;
        definition
    };
    let client = json!({"url": "https://127.0.0.1/convert"});
    for (step, conversion) in [
        ("without a webhook", json!({"strategy": "Webhook"})),
        ("unknown strategy", json!({"strategy": "Magic"})),
        (
            "none with a webhook",
            json!({"strategy": "None", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}),
        ),
        (
            "without a client",
            json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}}),
        ),
        (
            "without versions",
            json!({"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": []}}),
        ),
        (
            "unknown versions",
            json!({"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v7", "v7"]}}),
        ),
        (
            "both places",
            json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://127.0.0.1", "service": {"namespace": "a", "name": "b"}}}}),
        ),
        (
            "plain HTTP",
            json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "http://127.0.0.1"}}}),
        ),
    ] {
        let path = format!("{DEFINITIONS}?dryRun=All");
        run.step(
            format!("refused: {step}"),
            Ask::post(path, with(conversion)),
        )
        .await;
    }
    let definition = format!("{DEFINITIONS}/lamps.{GROUP}");
    run.send_unrecorded(Ask::delete(format!("{one}/one"))).await;
    run.send_unrecorded(Ask::delete(definition)).await;
}
