//! A kind whose schema uses every feature of schemas.

use serde_json::{Value, json};

use crate::run::{Ask, Run};

/// The path of its objects below a namespace.
pub(crate) const GADGETS: &str = "conformance.pilothouse.dev/v1/gadgets";
pub(crate) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Installs the kind if it does not exist yet, and waits until it is served.
pub(crate) async fn install(run: &mut Run) {
    install_definition(run, definition()).await;
}

pub(crate) async fn install_definition(run: &mut Run, definition: Value) {
    let name = definition["metadata"]["name"].as_str().unwrap().to_owned();
    let made = run
        .send_unrecorded(Ask::post(DEFINITIONS, definition.clone()))
        .await;
    assert!(matches!(made.code, 201 | 409), "{made:?}");
    run.until(Ask::get(format!("{DEFINITIONS}/{name}")), |answer| {
        let conditions = answer.body["status"]["conditions"].as_array();
        conditions.is_some_and(|conditions| {
            conditions
                .iter()
                .any(|one| one["type"] == "Established" && one["status"] == "True")
        })
    })
    .await;
    let group = definition["spec"]["group"].as_str().unwrap();
    let plural = definition["spec"]["names"]["plural"].as_str().unwrap();
    let path = format!("/apis/{group}/v1/{plural}");
    run.until(Ask::get(path), |answer| answer.code == 200).await;
}

/// Returns a gadget named `name` with `spec`. Adds a mode if `spec` has none.
pub(crate) fn gadget(name: &str, spec: Value) -> Value {
    let mut object = json!({
        "apiVersion": "conformance.pilothouse.dev/v1", "kind": "Gadget",
        "metadata": {"name": name}, "spec": {"mode": "fast"},
    });
    for (key, value) in spec.as_object().unwrap() {
        object["spec"][key] = value.clone();
    }
    object
}

pub(crate) fn definition() -> Value {
    let names = json!({
        "plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList",
        "shortNames": ["gd"], "categories": ["all", "toys"],
    });
    let columns = json!([
        {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
        {"name": "Mode", "type": "string", "jsonPath": ".spec.mode", "priority": 1, "description": "How it goes."},
        {"name": "Share", "type": "number", "jsonPath": ".spec.share"},
        {"name": "Done", "type": "boolean", "jsonPath": ".status.done"},
        {"name": "Tags", "type": "string", "jsonPath": ".spec.tags"},
        {"name": "First", "type": "string", "jsonPath": ".spec.items[0].name"},
        {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
        {"name": "When", "type": "date", "jsonPath": ".spec.when"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]);
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.conformance.pilothouse.dev"},
        "spec": {
            "group": "conformance.pilothouse.dev", "scope": "Namespaced", "names": names,
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
                        "labelSelectorPath": ".status.selector",
                    },
                },
                "additionalPrinterColumns": columns,
                "schema": {"openAPIV3Schema": schema()},
            }],
        },
    })
}

fn schema() -> Value {
    json!({
        "type": "object", "description": "A gadget.", "required": ["spec"],
        "properties": {"spec": spec(), "status": status()},
    })
}

fn spec() -> Value {
    let text = json!({"type": "string"});
    let integer = json!({"type": "integer"});
    let format = |format: &str| json!({"type": "string", "format": format});
    json!({
        "type": "object", "description": "What it should be.", "required": ["mode"],
        "properties": {
            "replicas": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 100, "default": 1},
            "mode": {"type": "string", "enum": ["slow", "fast"]},
            "name": {
                "type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$",
                "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "name is immutable"}],
            },
            "share": {"type": "number", "minimum": 0, "exclusiveMinimum": true, "maximum": 1, "multipleOf": 0.25},
            "below": {"type": "integer", "maximum": 10, "exclusiveMaximum": true},
            "port": {"x-kubernetes-int-or-string": true},
            "when": format("date-time"), "day": format("date"), "mail": format("email"),
            "address": format("ipv4"), "address6": format("ipv6"), "net": format("cidr"), "link": format("uri"),
            "host": format("hostname"), "id": format("uuid"), "for": format("duration"), "bytes": format("byte"),
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "maxItems": 3, "items": text},
            "items": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {
                    "type": "object", "required": ["name"],
                    "properties": {"name": text, "value": {"type": "string", "default": "v"}, "weight": integer},
                },
            },
            "atomicList": {"type": "array", "minItems": 1, "items": text},
            "labels": {"type": "object", "maxProperties": 2, "additionalProperties": text},
            "sized": {"type": "object", "minProperties": 1, "additionalProperties": integer},
            "atomicMap": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": text},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "nullable": {"type": "string", "nullable": true},
            "nullableDefault": {"type": "string", "nullable": true, "default": "d"},
            "level": level(json!(["low", "high"])), "levelOrNull": level(json!(["low", null])),
            "levels": {"type": "array", "items": level(json!(["low", "high"]))},
            "levelsOrNull": {"type": "array", "items": level(json!(["low", null]))},
            "levelOf": {"type": "object", "additionalProperties": level(json!(["low", "high"]))},
            "deep": {
                "type": "object", "default": {},
                "properties": {"inner": {"type": "object", "default": {"a": 1}, "properties": {"a": integer, "b": {"type": "boolean", "default": true}}}},
            },
            "min": integer, "max": integer,
            "choice": {
                "type": "object", "properties": {"a": text, "b": text},
                "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
            },
            "any": {
                "type": "object", "properties": {"a": text, "b": text},
                "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
            },
            "not": {"type": "string", "not": {"enum": ["bad"]}},
            "embedded": {
                "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
            },
            "flag": {"type": "boolean"},
            "quota": {
                "type": "string",
                "x-kubernetes-validations": [{"rule": "isQuantity(self)", "message": "no quantity"}],
            },
            "counter": {
                "type": "integer",
                "x-kubernetes-validations": [{
                    "rule": "self >= oldSelf", "messageExpression": "self > 100 ? 'far too low' : 'counter must not fall'",
                }],
            },
            "words": {
                "type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 10},
                "x-kubernetes-validations": [
                    {"rule": "self.all(word, word.startsWith('w'))", "message": "words begin with w"},
                    {"rule": "self.isSorted()"},
                ],
            },
        },
        "x-kubernetes-validations": [
            {"rule": "!has(self.min) || !has(self.max) || self.min <= self.max", "message": "min must not exceed max"},
            {
                "rule": "!has(self.flag) || !self.flag || has(self.name)", "message": "a flag needs a name",
                "reason": "FieldValueRequired", "fieldPath": ".name",
            },
            {
                "rule": "!(self.mode == 'slow' && self.replicas > 10)", "message": "too many for slow",
                "reason": "FieldValueForbidden", "fieldPath": ".replicas",
            },
        ],
    })
}

/// An enum for which the schema allows null.
fn level(values: Value) -> Value {
    json!({"type": "string", "nullable": true, "enum": values})
}

fn status() -> Value {
    json!({
        "type": "object",
        "properties": {
            "replicas": {"type": "integer"}, "selector": {"type": "string"}, "done": {"type": "boolean"},
            "phase": {"type": "string", "enum": ["New", "Old"]},
            "conditions": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
                "items": {
                    "type": "object", "required": ["type", "status"],
                    "properties": {"type": {"type": "string"}, "status": {"type": "string"}, "message": {"type": "string"}},
                },
            },
        },
    })
}
