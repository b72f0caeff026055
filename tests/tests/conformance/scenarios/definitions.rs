//! Definitions of kinds: those that the derives generate, and those that a server refuses.

use pilothouse::crd::{CustomResource, to_json};
use serde_json::{Value, json};

use super::gadget::{DEFINITIONS, definition, install, install_definition};
use crate::{
    gallery::Gallery,
    run::{Ask, Run},
    website::Website,
};

pub(crate) async fn accepted(run: &mut Run) {
    // Other scenarios install gadgets, and name them in commands of kubectl, at the same time.
    let mut gizmo = definition();
    gizmo["metadata"]["name"] = "gizmos.accepted.pilothouse.dev".into();
    gizmo["spec"]["group"] = "accepted.pilothouse.dev".into();
    gizmo["spec"]["names"] = json!({
        "plural": "gizmos", "singular": "gizmo", "kind": "Gizmo", "listKind": "GizmoList", "shortNames": ["gz"],
        "categories": ["all"],
    });
    let kinds = [
        ("website", to_json(&Website::crd().unwrap())),
        ("gallery", to_json(&Gallery::crd().unwrap())),
        ("gizmo", gizmo),
    ];
    for (kind, definition) in kinds {
        let name = definition["metadata"]["name"].as_str().unwrap().to_owned();
        let dry = format!("{DEFINITIONS}?dryRun=All&fieldValidation=Strict");
        run.step(format!("create {kind}"), Ask::post(dry, definition.clone()))
            .await;
        install_definition(run, definition.clone()).await;
        let settled = |answer: &crate::run::Answer| {
            answer.body["status"]["conditions"]
                .as_array()
                .is_some_and(|all| all.len() >= 2)
        };
        let path = format!("{DEFINITIONS}/{name}");
        let answer = run.until(Ask::get(&path), settled).await;
        let mut body = answer.body;
        body["metadata"]["managedFields"] = Value::Null;
        run.record(format!("{kind}, established"), body);
        run.step(
            format!("create {kind} again"),
            Ask::post(DEFINITIONS, definition),
        )
        .await;
    }
    let website = json!({
        "apiVersion": "demo.pilothouse.dev/v1", "kind": "Website", "metadata": {"name": "a"},
        "spec": {"html": "hello"},
    });
    let sites = run.path("demo.pilothouse.dev/v1/websites");
    run.step("create a website", Ask::post(&sites, website.clone()))
        .await;
    let mut empty = website;
    empty["spec"]["html"] = "".into();
    empty["spec"]["replicas"] = 101.into();
    run.step("create an empty website", Ask::post(&sites, empty))
        .await;

    let galleries = run.path("demo.pilothouse.dev/v1/galleries");
    let gallery = |change: Value| {
        let mut gallery = json!({
            "apiVersion": "demo.pilothouse.dev/v1", "kind": "Gallery", "metadata": {"name": "a"},
            "spec": {"share": 0.5, "mode": "fast", "flattened": "x"},
        });
        for (key, value) in change.as_object().unwrap() {
            gallery["spec"][key] = value.clone();
        }
        gallery
    };
    for (step, change) in [
        ("minimal", json!({})),
        ("mode", json!({"mode": "slow"})),
        (
            "two targets",
            json!({"target": {"pod": {"name": "p"}, "host": {"name": "h"}}}),
        ),
        ("no target", json!({"target": {}})),
        (
            "action without reason",
            json!({"action": {"type": "Delete"}}),
        ),
        ("unknown action", json!({"action": {"type": "Burn"}})),
        (
            "shape without content",
            json!({"shape": {"form": "Circle"}}),
        ),
        ("port", json!({"port": true})),
        ("share", json!({"share": 1})),
        ("word", json!({"word": "TOO"})),
        ("tags", json!({"tags": ["a", "a"]})),
        ("items", json!({"items": [{"name": "a"}, {"name": "a"}]})),
        ("depth", json!({"nested": {"depth": 9}})),
        ("embedded", json!({"embedded": {"a": 1}})),
        ("limit", json!({"limit": true})),
        (
            "template",
            json!({"template": {"spec": {"containers": [{"image": "x"}]}}}),
        ),
        ("env", json!({"env": [{"value": "b"}]})),
    ] {
        let path = format!("{galleries}?dryRun=All");
        run.step(format!("gallery: {step}"), Ask::post(path, gallery(change)))
            .await;
    }
}

pub(crate) async fn refused(run: &mut Run) {
    let with = |pointer: &str, value: Value| {
        let mut definition = definition();
        definition["metadata"]["name"] = "gadgets.refused.pilothouse.dev".into();
        definition["spec"]["group"] = "refused.pilothouse.dev".into();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = definition.pointer_mut(parent).unwrap();
        if value.is_null() {
            parent.as_object_mut().unwrap().remove(key);
        } else if let Ok(index) = key.parse::<usize>() {
            parent[index] = value;
        } else {
            parent[key] = value;
        }
        definition
    };
    let properties = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let property = |value: Value| with(&format!("{properties}/new"), value);
    for (step, definition) in [
        ("name", with("/metadata/name", json!("other"))),
        ("plural", with("/spec/names/plural", json!("Gadgets"))),
        ("kind", with("/spec/names/kind", json!("gadget kind"))),
        ("no kind", with("/spec/names/kind", Value::Null)),
        ("no list kind", with("/spec/names/listKind", Value::Null)),
        ("scope", with("/spec/scope", json!("Global"))),
        ("group", with("/spec/group", json!("nodots"))),
        ("no versions", with("/spec/versions", json!([]))),
        ("version name", with("/spec/versions/0/name", json!("V1"))),
        ("no storage", with("/spec/versions/0/storage", json!(false))),
        ("no schema", with("/spec/versions/0/schema", Value::Null)),
        (
            "column type",
            with(
                "/spec/versions/0/additionalPrinterColumns/0/type",
                json!("text"),
            ),
        ),
        (
            "column path",
            with(
                "/spec/versions/0/additionalPrinterColumns/0/jsonPath",
                json!("spec.replicas"),
            ),
        ),
        (
            "scale path",
            with(
                "/spec/versions/0/subresources/scale/specReplicasPath",
                json!(".status.replicas"),
            ),
        ),
        ("no type", property(json!({"description": "x"}))),
        ("unknown type", property(json!({"type": "text"}))),
        ("array without items", property(json!({"type": "array"}))),
        (
            "unique items",
            property(json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}})),
        ),
        ("reference", property(json!({"$ref": "#/x"}))),
        (
            "both additional and properties",
            property(
                json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
            ),
        ),
        (
            "additional false",
            property(json!({"type": "object", "additionalProperties": false})),
        ),
        (
            "default of another type",
            property(json!({"type": "integer", "default": "x"})),
        ),
        (
            "unpruned default",
            property(
                json!({"type": "object", "properties": {"a": {"type": "string"}}, "default": {"b": "x"}}),
            ),
        ),
        (
            "null default",
            property(json!({"type": "string", "default": null})),
        ),
        (
            "list map without keys",
            property(
                json!({"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}),
            ),
        ),
        (
            "list map with optional key",
            property(
                json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"], "items": {"type": "object", "properties": {"a": {"type": "string"}}}}),
            ),
        ),
        (
            "set of objects",
            property(
                json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}}),
            ),
        ),
        (
            "unknown list type",
            property(
                json!({"type": "array", "x-kubernetes-list-type": "bag", "items": {"type": "string"}}),
            ),
        ),
        (
            "structure in anyOf",
            property(
                json!({"type": "object", "anyOf": [{"properties": {"a": {"type": "string"}}}]}),
            ),
        ),
        (
            "pattern",
            property(json!({"type": "string", "pattern": "["})),
        ),
        (
            "rule does not compile",
            property(
                json!({"type": "string", "x-kubernetes-validations": [{"rule": "self.foo > 1"}]}),
            ),
        ),
        (
            "rule is no boolean",
            property(
                json!({"type": "string", "maxLength": 3, "x-kubernetes-validations": [{"rule": "self + 'a'"}]}),
            ),
        ),
        (
            "rule with an empty message",
            property(
                json!({"type": "string", "maxLength": 3, "x-kubernetes-validations": [{"rule": "true", "message": " "}]}),
            ),
        ),
        (
            "rule compares two types",
            property(
                json!({"type": "string", "maxLength": 3, "x-kubernetes-validations": [{"rule": "self == 1 || self.unknown() || missing > 2"}]}),
            ),
        ),
        (
            "rule with a wrong literal",
            property(
                json!({"type": "string", "maxLength": 3, "x-kubernetes-validations": [{"rule": "[1, 'a'].size() == 2 && duration('x') == duration('1s') && self.matches('(')"}]}),
            ),
        ),
        (
            "rule joins texts of any length",
            property(
                json!({"type": "array", "maxItems": 3, "items": {"type": "integer"}, "x-kubernetes-validations": [{"rule": "self.map(x, string(x)).join(',') != ''"}]}),
            ),
        ),
        (
            "message is no text",
            property(
                json!({"type": "integer", "x-kubernetes-validations": [{"rule": "self > 1", "messageExpression": "self"}]}),
            ),
        ),
        (
            "message of any length",
            property(
                json!({"type": "integer", "x-kubernetes-validations": [{"rule": "self > 1", "messageExpression": "'not ' + string(self)"}]}),
            ),
        ),
        (
            "rule just above its limit",
            property(
                json!({"type": "array", "maxItems": 900, "items": {"type": "integer"}, "x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, x + y + x + y + x + y != 1))"}]}),
            ),
        ),
        (
            "rule with a constant that is no number",
            property(
                json!({"type": "integer", "x-kubernetes-validations": [{"rule": "self > int('a')"}]}),
            ),
        ),
        (
            "rule is too expensive",
            property(
                json!({"type": "array", "items": {"type": "array", "items": {"type": "string"}}, "x-kubernetes-validations": [{"rule": "self.all(a, a.all(b, self.all(c, c.all(d, d.contains(b)))))"}]}),
            ),
        ),
        (
            "metadata schema",
            with(
                "/spec/versions/0/schema/openAPIV3Schema/properties/metadata",
                json!({"type": "object", "properties": {"labels": {"type": "object"}}}),
            ),
        ),
        (
            "selectable field",
            with(
                "/spec/versions/0/selectableFields",
                json!([{"jsonPath": ".spec.nothing"}]),
            ),
        ),
        ("unknown field", with("/spec/unknown", json!(1))),
        (
            "conversion",
            with("/spec/conversion", json!({"strategy": "Webhook"})),
        ),
        ("protected group", with("/spec/group", json!("x.k8s.io"))),
        (
            "preserve unknown",
            with("/spec/preserveUnknownFields", json!(true)),
        ),
    ] {
        let path = format!("{DEFINITIONS}?dryRun=All&fieldValidation=Strict");
        run.step(step, Ask::post(path, definition)).await;
    }
    install(run).await;
    let path = format!("{DEFINITIONS}/gadgets.conformance.pilothouse.dev?dryRun=All");
    for (step, patch) in [
        ("change scope", json!({"spec": {"scope": "Cluster"}})),
        (
            "change kind",
            json!({"spec": {"names": {"kind": "Gimmick"}}}),
        ),
        (
            "change group",
            json!({"spec": {"group": "x.pilothouse.dev"}}),
        ),
        (
            "change plural",
            json!({"spec": {"names": {"plural": "gimmicks"}}}),
        ),
    ] {
        run.step(step, Ask::merge(&path, patch)).await;
    }
}

/// Rules below and above the limits of a real server (100 000 characters, 250 levels) and of the sandbox, which are lower.
pub(crate) async fn with_large_rules(run: &mut Run) {
    let around = |open: &str, levels: usize, close: &str| {
        format!("{}true{}", open.repeat(levels), close.repeat(levels))
    };
    let spaces = |length: usize| format!("true{}", " ".repeat(length - 4));
    let joined = |length: usize| {
        let rest = " && true".repeat((length - 4) / 8);
        format!("true{rest}{}", " ".repeat((length - 4) % 8))
    };
    for (step, rule) in [
        ("length: most", spaces(100_000)),
        ("length: above", spaces(100_001)),
        ("terms: most", joined(100_000)),
        ("parentheses: most", around("(", 249, ")")),
        ("parentheses: above", around("(", 250, ")")),
        ("parentheses: far above", around("(", 40_000, ")")),
        ("lists: above", format!("{} == []", around("[", 250, "]"))),
        ("sum: most", format!("1{} > 0", "+1".repeat(249))),
        ("sum: above", format!("1{} > 0", "+1".repeat(250))),
        ("sum: far above", format!("1{} > 0", "+1".repeat(49_000))),
        (
            "choices: most",
            format!("{}true", "false ? false : ".repeat(249)),
        ),
        (
            "choices: above",
            format!("{}true", "false ? false : ".repeat(250)),
        ),
        ("no end, in a long line", format!("{} +", spaces(90_000))),
    ] {
        let mut definition = definition();
        definition["metadata"]["name"] = "gadgets.limits.pilothouse.dev".into();
        definition["spec"]["group"] = "limits.pilothouse.dev".into();
        let properties = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
        let properties = definition.pointer_mut(properties).unwrap();
        properties["new"] =
            json!({"type": "boolean", "x-kubernetes-validations": [{"rule": rule}]});
        let path = format!("{DEFINITIONS}?dryRun=All");
        let answer = run.send_unrecorded(Ask::post(path, definition)).await;
        let causes = answer.body["details"]["causes"].clone();
        run.record(step, json!({"code": answer.code, "causes": causes}));
    }
}
