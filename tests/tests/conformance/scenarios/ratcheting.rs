//! Updates of objects that were stored before their definition became stricter.

use serde_json::{Value, json};

use super::gadget::{DEFINITIONS, install_definition};
use crate::run::{Ask, Run};

const VALVES: &str = "stricter.pilothouse.dev/v1/valves";

pub(crate) async fn of_stored_objects(run: &mut Run) {
    install_definition(run, definition(false)).await;
    let valves = run.path(VALVES);
    let object = |name: &str, spec: Value| {
        json!({
            "apiVersion": "stricter.pilothouse.dev/v1", "kind": "Valve", "metadata": {"name": name},
            "spec": spec,
        })
    };
    run.step("create", Ask::post(&valves, object("a", spec())))
        .await;
    let one = format!("{valves}/a");
    let status = json!({"status": {"phase": "Odd", "count": 1, "note": "n"}});
    run.step(
        "set the status",
        Ask::merge(format!("{one}/status"), status),
    )
    .await;
    let free = object("free", json!({"free": {"a": 1, "b": 2}}));
    run.step("create one that is free", Ask::post(&valves, free))
        .await;
    let status = json!({"status": {"kind": "Odd"}});
    run.step(
        "set its status",
        Ask::merge(format!("{valves}/free/status"), status),
    )
    .await;
    tighten(run, &valves, object("b", json!({"count": 1}))).await;
    let note = json!({"spec": {"note": "x"}});
    let ask = Ask::merge(format!("{valves}/free"), note);
    run.step("what the schema does not describe counts as changed", ask)
        .await;
    let note = json!({"status": {"note": "x"}});
    let ask = Ask::merge(format!("{valves}/free/status"), note);
    run.step("a kind counts as changed", ask).await;
    run.step("create another", Ask::post(&valves, object("b", spec())))
        .await;
    let dry = format!("{one}?dryRun=All");
    sorted_step(
        run,
        "a label",
        Ask::merge(&dry, json!({"metadata": {"labels": {"a": "b"}}})),
    )
    .await;
    for (step, change) in [
        ("another field", json!({"note": "x"})),
        ("a number", json!({"count": 2})),
        ("a valid number", json!({"count": 20})),
        ("a long text", json!({"name": "longer"})),
        ("a choice", json!({"mode": "other"})),
        ("a list longer", json!({"list": ["long", "more"]})),
        ("a list in another order", json!({"list": ["b", "long"]})),
        ("a set with duplicates", json!({"set": ["a", "a", "b"]})),
        (
            "another item",
            json!({"items": [{"key": "a", "value": "odd"}, {"key": "b", "value": "even", "size": 3}]}),
        ),
        (
            "items in another order",
            json!({"items": [{"key": "b", "value": "even"}, {"key": "a", "value": "odd"}], "note": "x"}),
        ),
        (
            "a new item",
            json!({"items": [{"key": "a", "value": "odd"}, {"key": "b", "value": "even"}, {"key": "c", "value": "new"}]}),
        ),
        (
            "the same item with more",
            json!({"items": [{"key": "a", "value": "odd", "size": 3}, {"key": "b", "value": "even"}]}),
        ),
        (
            "inside an object that lacks a field",
            json!({"inner": {"other": "x"}}),
        ),
        ("a value of a map", json!({"labels": {"a": "changed"}})),
        ("a new value of a map", json!({"labels": {"b": "x"}})),
        ("inside anyOf", json!({"any": {"a": "long", "c": "x"}})),
        ("inside allOf", json!({"all": {"a": "long", "c": "x"}})),
        ("the value of a rule", json!({"ruled": "other"})),
        ("the item of a rule", json!({"ruledList": ["b", "a", "c"]})),
        ("a rule around", json!({"pair": {"min": 5, "max": 2}})),
        ("a rule with an old value", json!({"fixed": "changed"})),
        (
            "an atomic map with an old value",
            json!({"atomic": {"a": "changed"}}),
        ),
        ("an optional old value", json!({"first": "x"})),
    ] {
        sorted_step(run, step, Ask::merge(&dry, json!({"spec": change}))).await;
    }
    for (step, change) in [
        ("status: the same", json!({"phase": "Odd"})),
        ("status: another field", json!({"note": "x"})),
        ("status: a choice", json!({"phase": "Even"})),
        ("status: a number", json!({"count": 2})),
    ] {
        let path = format!("{one}/status?dryRun=All");
        sorted_step(run, step, Ask::merge(path, json!({"status": change}))).await;
    }
    let mut whole = object("a", spec());
    whole["metadata"]["resourceVersion"] =
        run.send_unrecorded(Ask::get(&one)).await.body["metadata"]["resourceVersion"].clone();
    whole["spec"]["note"] = "put".into();
    sorted_step(run, "put", Ask::put(&dry, whole)).await;
    let applied = object("a", json!({"note": "applied"}));
    let path = format!("{one}?dryRun=All&fieldManager=m");
    sorted_step(run, "apply", Ask::apply(path, applied)).await;
}

/// Replaces the definition by a stricter one, and waits until `refused` is refused.
async fn tighten(run: &mut Run, valves: &str, refused: Value) {
    let mut strict = definition(true);
    let path = format!("{DEFINITIONS}/valves.stricter.pilothouse.dev");
    let current = run.send_unrecorded(Ask::get(&path)).await.body;
    strict["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"].clone();
    let answer = run.send_unrecorded(Ask::put(&path, strict)).await;
    assert_eq!(answer.code, 200, "{:?}", answer.body);
    let ask = Ask::post(format!("{valves}?dryRun=All"), refused);
    run.until(ask, |answer| answer.code == 422).await;
}

/// A spec that the strict schema refuses nearly everywhere.
fn spec() -> Value {
    json!({
        "name": "toolong", "count": 1, "mode": "odd", "list": ["long", "b"], "set": ["a", "a"],
        "items": [{"key": "a", "value": "odd"}, {"key": "b", "value": "even"}],
        "inner": {"text": "x"}, "labels": {"a": "long"}, "any": {"a": "long"}, "all": {"a": "long"},
        "ruled": "odd", "ruledList": ["b", "a"], "pair": {"min": 3, "max": 2},
        "fixed": "one", "atomic": {"a": "one"}, "first": "right",
    })
}

/// The definition, with or without limits.
fn definition(strict: bool) -> Value {
    let with = |mut schema: Value, limits: Value| {
        if strict {
            let limits = limits.as_object().unwrap().clone();
            schema.as_object_mut().unwrap().extend(limits);
        }
        schema
    };
    let text = |limits: Value| with(json!({"type": "string"}), limits);
    let rule = |rule: &str| json!({"x-kubernetes-validations": [{"rule": rule}]});
    let plain = json!({"type": "string"});
    let short = json!({"maxLength": 3});
    let item = json!({
        "type": "object", "required": ["key"],
        "properties": {
            "key": plain, "size": {"type": "integer"},
            "value": text(json!({"enum": ["one", "two"], "maxLength": 5})),
        },
    });
    let item = with(item, json!({"required": ["key", "weight"]}));
    let item = with(item, rule("self.key != 'a'"));
    let mut item = item;
    item["properties"]["weight"] = json!({"type": "integer"});
    let branch = json!({"properties": {"a": short}, "required": ["c"]});
    let two = json!({"type": "object", "properties": {"a": plain, "c": plain}});
    let integer = json!({"type": "integer"});
    let spec = json!({
        "type": "object",
        "properties": {
            "note": plain, "name": text(short.clone()), "count": with(integer.clone(), json!({"minimum": 10})),
            "mode": text(json!({"enum": ["on", "off"]})),
            "list": {"type": "array", "items": text(short.clone())},
            "set": with(
                json!({"type": "array", "items": plain}), json!({"x-kubernetes-list-type": "set"}),
            ),
            "items": {
                "type": "array", "maxItems": 5, "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["key"], "items": item,
            },
            "inner": with(
                json!({"type": "object", "properties": {"text": plain, "other": plain, "must": plain}}),
                json!({"required": ["must"]}),
            ),
            "labels": {"type": "object", "additionalProperties": text(short.clone())},
            "any": with(two.clone(), json!({"anyOf": [branch]})),
            "all": with(two, json!({"allOf": [branch]})),
            "free": with(
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
                json!({"maxProperties": 1}),
            ),
            "ruled": text(rule("self == 'right'")),
            "ruledList": {"type": "array", "maxItems": 5, "items": text(rule("self < 'b'"))},
            "pair": with(
                json!({"type": "object", "properties": {"min": integer, "max": integer}}),
                rule("self.min <= self.max"),
            ),
            "fixed": text(rule("self == oldSelf")),
            "atomic": {
                "type": "object", "x-kubernetes-map-type": "atomic",
                "properties": {"a": text(rule("self == oldSelf"))},
            },
            "first": text(json!({
                "x-kubernetes-validations": [
                    {"rule": "oldSelf.hasValue() && self == 'right'", "optionalOldSelf": true, "message": "not right"},
                ],
            })),
        },
    });
    let status = json!({
        "type": "object",
        "properties": {
            "phase": text(json!({"enum": ["New"]})), "count": with(integer, json!({"minimum": 10})),
            "note": plain, "kind": text(json!({"enum": ["New"]})),
        },
    });
    let schema = json!({
        "type": "object",
        "properties": {"spec": spec, "status": status, "extra": plain},
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "valves.stricter.pilothouse.dev"},
        "spec": {
            "group": "stricter.pilothouse.dev", "scope": "Namespaced",
            "names": {"plural": "valves", "singular": "valve", "kind": "Valve", "listKind": "ValveList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

/// Records an answer with its warnings in order: a real server visits the fields of an object in any order.
async fn sorted_step(run: &mut Run, name: &str, ask: Ask) {
    let mut answer = run.send_unrecorded(ask).await;
    answer.warnings.sort();
    run.record(name, json!([answer.code, answer.warnings, answer.body]));
}
