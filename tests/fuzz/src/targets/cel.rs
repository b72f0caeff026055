//! Compiles rules in CEL over a schema with known types, and evaluates them over objects. A rule that the type check accepts
//! never fails for wrong types.

use pilothouse_sandbox::internals::schema::Schema;
use serde_json::{Value, json};

use crate::input;

pub(crate) fn run(data: &[u8]) {
    let [rule, message, object, old] = input::parts(data);
    let (Ok(rule), Ok(message)) = (str::from_utf8(rule), str::from_utf8(message)) else {
        return;
    };
    let mut written = json!({"rule": rule});
    if !message.is_empty() {
        written["messageExpression"] = message.into();
    }
    let Ok(schema) = Schema::from_json(&schema(written)) else {
        return;
    };
    let read = |text| serde_json::from_slice::<Value>(text).ok();
    let given = read(object).filter(Value::is_object);
    let old = read(old).filter(Value::is_object);
    // Literals may have elements of several types, which are `dyn`, and so may the results of `dyn` itself.
    let is_typed = !rule.contains("dyn") && !rule.contains(['[', '{']) && !rule.contains("type");
    for object in [given, Some(empty()), Some(full())].into_iter().flatten() {
        let found = schema.validate(&object, old.as_ref());
        assert_eq!(found, schema.validate(&object, old.as_ref()));
        for error in &found {
            let text = error.body();
            assert!(
                !is_typed || !text.contains("no such overload"),
                "{rule}: {text}"
            );
        }
    }
}

/// A schema with a field of each type, so that each function has something to be called with.
fn schema(rule: Value) -> Value {
    let text = |format: &str| json!({"type": "string", "format": format, "maxLength": 40});
    json!({"type": "object", "x-kubernetes-validations": [rule], "properties": {
        "n": {"type": "integer"},
        "f": {"type": "number"},
        "s": {"type": "string", "maxLength": 20},
        "flag": {"type": "boolean"},
        "time": text("date-time"),
        "day": text("date"),
        "long": text("duration"),
        "bytes": text("byte"),
        "list": {"type": "array", "maxItems": 4, "items": {"type": "integer"}},
        "words": {"type": "array", "maxItems": 4, "x-kubernetes-list-type": "set", "items": {"type": "string", "maxLength": 6}},
        "items": {"type": "array", "maxItems": 3, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items":
            {"type": "object", "required": ["k"], "properties": {
                "k": {"type": "string", "maxLength": 5}, "v": {"type": "integer"}}}},
        "map": {"type": "object", "maxProperties": 3, "additionalProperties": {"type": "string", "maxLength": 5}},
        "inner": {"type": "object", "properties": {"a": {"type": "string", "maxLength": 4}, "b-c": {"type": "integer"}}},
    }})
}

fn empty() -> Value {
    json!({"n": 0, "f": 0.0, "s": "", "flag": false, "list": [], "words": [], "items": [], "map": {}, "inner": {}})
}

fn full() -> Value {
    json!({
        "n": -9_223_372_036_854_775_808_i64, "f": 1.5, "s": "a,b.c/1é", "flag": true, "time": "2024-02-29T23:59:59.5+14:00",
        "day": "2024-02-29", "long": "1h2m3.5s", "bytes": "AAH/", "list": [3, 1, 2], "words": ["b", "a"],
        "items": [{"k": "x", "v": 1}, {"k": "y"}], "map": {"a": "1", "b": "10Mi"}, "inner": {"a": "é", "b-c": 7},
    })
}
