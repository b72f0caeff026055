//! Bodies that few clients send: nulls in maps and lists, and texts that are no characters.

use serde_json::{Value, json};

use super::{
    crud::map,
    gadget::{GADGETS, gadget, install},
};
use crate::run::{Ask, Run};

/// Nulls where Go has no pointer: in maps, in lists, and in the place of whole structures.
pub(crate) async fn nulls(run: &mut Run) {
    install(run).await;
    let labels = json!({"labels": {"a": null}, "annotations": {"b": null}});
    let maps = run.path("v1/configmaps");
    let with = |mut object: Value, fields: Value| {
        for (name, value) in fields.as_object().unwrap() {
            match name.as_str() {
                "metadata" => {
                    for (name, value) in value.as_object().unwrap() {
                        object["metadata"][name] = value.clone();
                    }
                }
                _ => object[name] = value.clone(),
            }
        }
        object
    };
    for (step, fields) in [
        ("labels", json!({"metadata": labels})),
        ("data", json!({"data": {"a": null}})),
        ("binary data", json!({"binaryData": {"a": null}})),
        ("finalizers", json!({"metadata": {"finalizers": [null]}})),
        ("owners", json!({"metadata": {"ownerReferences": [null]}})),
        (
            "no metadata",
            json!({"data": null, "immutable": null, "metadata": {"labels": null, "annotations": null}}),
        ),
    ] {
        let object = with(map(&format!("map-{}", step.replace(' ', "-"))), fields);
        run.step(format!("map: {step}"), Ask::post(&maps, object))
            .await;
    }
    run.send_unrecorded(Ask::post(&maps, map("one"))).await;
    let one = format!("{maps}/one");
    for (step, ask) in [
        (
            "put",
            Ask::put(&one, with(map("one"), json!({"data": {"a": null}}))),
        ),
        (
            "JSON patch",
            Ask::json(
                &one,
                json!([{"op": "add", "path": "/data", "value": {"a": null, "b": "c"}}]),
            ),
        ),
        (
            "merge patch",
            Ask::merge(
                &one,
                json!({"metadata": {"labels": {"a": null}}, "data": {"a": null}}),
            ),
        ),
        (
            "strategic patch",
            Ask::strategic(
                &one,
                json!({"metadata": {"labels": {"a": null}}, "data": {"b": null}}),
            ),
        ),
        (
            "apply",
            Ask::apply(
                format!("{one}?fieldManager=one"),
                with(
                    map("one"),
                    json!({"data": {"d": null}, "metadata": {"labels": {"a": null}}}),
                ),
            ),
        ),
    ] {
        run.step(format!("map: {step}"), ask).await;
    }
    let secret =
        json!({"metadata": {"name": "hidden"}, "data": {"a": null}, "stringData": {"b": null}});
    let secrets = run.path("v1/secrets");
    run.step("secret", Ask::post(&secrets, secret)).await;
    let deployments = run.path("apps/v1/deployments?dryRun=All");
    let deployment = |template: Value| {
        json!({"metadata": {"name": "web"}, "spec": {
            "replicas": null, "selector": {"matchLabels": {"a": "b"}}, "template": template,
        }})
    };
    for (step, template) in [
        (
            "whole fields",
            json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i", "env": null, "resources": null, "ports": null}], "volumes": null, "securityContext": null}}),
        ),
        (
            "items",
            json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i", "args": [null], "env": [null], "ports": [null]}], "tolerations": [null]}}),
        ),
        (
            "quantities",
            json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": null}}}], "nodeSelector": {"a": null}}}),
        ),
    ] {
        run.step(
            format!("deployment: {step}"),
            Ask::post(&deployments, deployment(template)),
        )
        .await;
    }
    let gadgets = run.path(GADGETS);
    run.step(
        "gadget",
        Ask::post(
            &gadgets,
            with(gadget("a", json!({})), json!({"metadata": labels})),
        ),
    )
    .await;
    let one = format!("{gadgets}/a");
    run.step(
        "gadget: JSON patch",
        Ask::json(
            &one,
            json!([{"op": "add", "path": "/metadata/labels", "value": {"a": null, "b": "c"}}]),
        ),
    )
    .await;
    run.step(
        "gadget: apply",
        Ask::apply(
            format!("{one}?fieldManager=one&force=true"),
            with(
                gadget("a", json!({})),
                json!({"metadata": {"labels": {"d": null}}}),
            ),
        ),
    )
    .await;
}

/// Escapes that are half of a pair, and bytes that are not UTF-8.
pub(crate) async fn texts(run: &mut Run) {
    install(run).await;
    let maps = run.path("v1/configmaps");
    let gadgets = run.path(GADGETS);
    const JSON: &str = "application/json";
    for (name, text) in [
        ("half", &br"\ud800"[..]),
        ("second-half", br"\udc00"),
        ("two-halves", br"\ud83d\ud83d\ude00"),
        ("pair", br"\ud83d\ude00"),
        ("byte", b"\xff"),
        ("encoded-half", b"\xed\xa0\x80"),
        ("nul", br"\u0000"),
    ] {
        let body = |before: &str, after: &str| {
            [
                before.replace("{name}", name).as_bytes(),
                text,
                after.as_bytes(),
            ]
            .concat()
        };
        let data = body(
            r#"{"metadata": {"name": "{name}"}, "data": {"a": ""#,
            r#""}}"#,
        );
        run.step(
            format!("map: {name}"),
            Ask::post(&maps, Value::Null).raw(JSON, data),
        )
        .await;
        let note = body(
            r#"{"apiVersion": "conformance.pilothouse.dev/v1", "kind": "Gadget", "metadata": {"name": "{name}", "annotations": {"a": ""#,
            r#""}}, "spec": {"mode": "fast"}}"#,
        );
        run.step(
            format!("gadget: {name}"),
            Ask::post(&gadgets, Value::Null).raw(JSON, note),
        )
        .await;
        let patch = body(r#"{"data": {"b": ""#, r#""}}"#);
        let merge = "application/merge-patch+json";
        let ask = Ask::merge(format!("{maps}/pair"), Value::Null).raw(merge, patch);
        run.step(format!("merge patch: {name}"), ask).await;
    }
}
