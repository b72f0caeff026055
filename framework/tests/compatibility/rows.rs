//! A row for each kind of change of a schema by which stored objects or clients lose something. `tests/tests/compatible.rs` tries the rows on
//! servers.

use serde_json::{Value, json};

pub(crate) fn object(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

pub(crate) fn with(mut schema: Value, more: Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        schema[key] = value.clone();
    }
    schema
}

/// Rows of changes of a schema: old, new, an object as a proof, and the problem.
pub(crate) fn rows() -> Vec<(Value, Value, Value, &'static str)> {
    let (text, number) = (json!({"type": "string"}), json!({"type": "integer"}));
    let words = json!({"type": "array", "items": {"type": "string"}});
    let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let two = object(json!({"a": {"type": "string"}, "b": {"type": "string"}}));
    let limit = |schema: &Value, key: &str, limit: i64| with(schema.clone(), json!({key: limit}));
    let rule = json!([{"rule": "self > 3", "message": "m"}]);
    vec![
        (
            text.clone(),
            number.clone(),
            json!("a"),
            r#"the type was "string" and is "integer""#,
        ),
        (
            json!({"x-kubernetes-int-or-string": true}),
            number.clone(),
            json!("a"),
            r#"the type was "integer or string" and is "integer""#,
        ),
        (
            json!({"type": "number"}),
            number.clone(),
            json!(0.5),
            r#"the type was "number" and is "integer""#,
        ),
        (
            json!({"x-kubernetes-preserve-unknown-fields": true}),
            text.clone(),
            json!(1),
            r#"the type was "anything" and is "string""#,
        ),
        (
            number.clone(),
            limit(&number, "minimum", 1),
            json!(0),
            "`minimum` is stricter than before: 1",
        ),
        (
            limit(&number, "minimum", 1),
            limit(&number, "minimum", 2),
            json!(1),
            "`minimum` is stricter than before: 2",
        ),
        (
            limit(&number, "maximum", 9),
            limit(&number, "maximum", 8),
            json!(9),
            "`maximum` is stricter than before: 8",
        ),
        (
            text.clone(),
            limit(&text, "minLength", 1),
            json!(""),
            "`minLength` is stricter than before: 1",
        ),
        (
            text.clone(),
            limit(&text, "maxLength", 1),
            json!("aa"),
            "`maxLength` is stricter than before: 1",
        ),
        (
            words.clone(),
            limit(&words, "minItems", 1),
            json!([]),
            "`minItems` is stricter than before: 1",
        ),
        (
            words.clone(),
            limit(&words, "maxItems", 0),
            json!(["a"]),
            "`maxItems` is stricter than before: 0",
        ),
        (
            map.clone(),
            limit(&map, "minProperties", 1),
            json!({}),
            "`minProperties` is stricter than before: 1",
        ),
        (
            map.clone(),
            limit(&map, "maxProperties", 0),
            json!({"a": "b"}),
            "`maxProperties` is stricter than before: 0",
        ),
        (
            limit(&number, "minimum", 1),
            with(
                number.clone(),
                json!({"minimum": 1, "exclusiveMinimum": true}),
            ),
            json!(1),
            "the minimum itself is not allowed any more: 1",
        ),
        (
            limit(&number, "maximum", 1),
            with(
                number.clone(),
                json!({"maximum": 1, "exclusiveMaximum": true}),
            ),
            json!(1),
            "the maximum itself is not allowed any more: 1",
        ),
        (
            limit(&number, "multipleOf", 2),
            limit(&number, "multipleOf", 4),
            json!(2),
            "the value must be a multiple of 4",
        ),
        (
            text.clone(),
            with(text.clone(), json!({"pattern": "^a$"})),
            json!("b"),
            "there is a pattern now: ^a$",
        ),
        (
            with(text.clone(), json!({"pattern": "^b$"})),
            with(text.clone(), json!({"pattern": "^a$"})),
            json!("b"),
            "the pattern is another one: ^a$",
        ),
        (
            text.clone(),
            with(text.clone(), json!({"format": "ipv4"})),
            json!("b"),
            "there is a format now: ipv4",
        ),
        (
            text.clone(),
            with(text.clone(), json!({"enum": ["a"]})),
            json!("b"),
            "only some values are allowed",
        ),
        (
            with(text.clone(), json!({"enum": ["a", "b"]})),
            with(text.clone(), json!({"enum": ["a"]})),
            json!("b"),
            r#"the value "b" is not allowed any more"#,
        ),
        (
            json!({"type": "array", "items": {"type": "string", "nullable": true}}),
            words.clone(),
            json!([null]),
            "[]: null is not allowed any more",
        ),
        (
            number.clone(),
            with(number.clone(), json!({"x-kubernetes-validations": rule})),
            json!(1),
            r#"there is a rule that was not there: "self > 3""#,
        ),
        (
            with(
                number.clone(),
                json!({"x-kubernetes-validations": [{"rule": "self > 2", "message": "m"}]}),
            ),
            with(number.clone(), json!({"x-kubernetes-validations": rule})),
            json!(3),
            r#"there is a rule that was not there: "self > 3""#,
        ),
        (
            two.clone(),
            with(
                two.clone(),
                json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            ),
            json!({}),
            "the conditions in `oneOf` are others than before",
        ),
        (
            with(
                two.clone(),
                json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            ),
            with(two.clone(), json!({"anyOf": [{"required": ["a"]}]})),
            json!({"b": "x"}),
            "the conditions in `anyOf` are others than before",
        ),
        (
            two.clone(),
            with(two.clone(), json!({"not": {"required": ["a", "b"]}})),
            json!({"a": "x", "b": "x"}),
            "the conditions in `not` are others than before",
        ),
        (
            two.clone(),
            with(two.clone(), json!({"required": ["a"]})),
            json!({}),
            "the field `a` is required now",
        ),
        (
            object(json!({"a": {"type": "string", "default": "x"}})),
            object(json!({"a": {"type": "string"}})),
            json!({}),
            r#".a: there is no default any more; it was "x""#,
        ),
        (
            object(json!({"a": {"type": "string", "default": "x"}})),
            object(json!({"a": {"type": "string", "default": "y"}})),
            json!({}),
            r#".a: the default was "x" and is "y""#,
        ),
        (
            two.clone(),
            object(json!({"a": {"type": "string"}})),
            json!({"b": "x"}),
            ".b: the field is gone, and the API server drops its values",
        ),
        (
            with(
                two.clone(),
                json!({"x-kubernetes-preserve-unknown-fields": true}),
            ),
            two.clone(),
            json!({"c": 1}),
            "unknown fields are not kept any more",
        ),
        (
            map.clone(),
            two.clone(),
            json!({"c": "d"}),
            "keys of any name are not kept any more",
        ),
        (
            two.clone(),
            json!({"type": "object", "additionalProperties": {"type": "string", "maxLength": 1}}),
            json!({"a": "xx"}),
            ".a: `maxLength` is stricter than before: 1 | .b: `maxLength` is stricter than before: 1",
        ),
        (
            with(
                json!({"type": "object"}),
                json!({"x-kubernetes-preserve-unknown-fields": true}),
            ),
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-embedded-resource": true}),
            json!({"a": 1}),
            "the value must be an object with `apiVersion`, `kind` and `metadata`",
        ),
        (
            words.clone(),
            with(words.clone(), json!({"x-kubernetes-list-type": "set"})),
            json!(["a", "a"]),
            "the list type was atomic and is set",
        ),
    ]
}
