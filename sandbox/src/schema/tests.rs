//! What the API server does with schemas, as tables.

use serde_json::{Value, json};

use super::set::DanglingReference;
use super::{Schema, SchemaSet};

fn website() -> Schema {
    Schema::from_json(&json!({
        "type": "object",
        "required": ["spec"],
        "properties": {
            "spec": {
                "type": "object",
                "required": ["html"],
                "properties": {
                    "html": {"type": "string", "maxLength": 5},
                    "replicas": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 100, "default": 1},
                    "mode": {"type": "string", "enum": ["a", "b"]},
                    "port": {"x-kubernetes-int-or-string": true},
                    "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                    "note": {"type": "string", "nullable": true},
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    "sources": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"],
                        "items": {
                            "type": "object",
                            "required": ["name"],
                            "properties": {
                                "name": {"type": "string", "pattern": "^[a-z]+$"},
                                "weight": {"type": "number", "minimum": 0, "exclusiveMinimum": true, "default": 1.5}
                            }
                        }
                    }
                }
            },
            "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}}
        }
    }))
    .expect("a structural schema")
}

fn object(spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Website", "metadata": {"name": "a"}, "spec": spec})
}

fn set_of(definitions: Value) -> Result<SchemaSet, DanglingReference> {
    SchemaSet::new(definitions.as_object().unwrap().clone())
}

#[test]
fn unknown_fields_are_dropped_and_named() {
    let mut value = object(json!({
        "html": "x", "foo": 1, "free": {"a": {"b": 1}},
        "sources": [{"name": "a", "bar": true}], "labels": {"any": "x"}
    }));
    value["metadata"]["color"] = json!("red");
    value["other"] = json!(1);
    let dropped = website().prune(&mut value);
    assert_eq!(
        dropped,
        ["metadata.color", "other", "spec.foo", "spec.sources[0].bar"]
    );
    assert_eq!(
        value,
        object(json!({
            "html": "x", "free": {"a": {"b": 1}}, "sources": [{"name": "a"}], "labels": {"any": "x"}
        }))
    );
    assert!(website().prune(&mut value).is_empty());
}

#[test]
fn defaults_replace_absent_values_and_forbidden_nulls() {
    let table = [
        (json!({"html": "x"}), json!({"html": "x", "replicas": 1})),
        (
            json!({"replicas": null, "note": null, "mode": null}),
            json!({"replicas": 1, "note": null}),
        ),
        (
            json!({"replicas": 3, "sources": [{"name": "a"}, {"name": "b", "weight": 2}]}),
            json!({"replicas": 3, "sources": [{"name": "a", "weight": 1.5}, {"name": "b", "weight": 2}]}),
        ),
    ];
    for (given, expected) in table {
        let mut value = object(given);
        website().apply_defaults(&mut value);
        assert_eq!(value, object(expected));
        let before = value.clone();
        website().apply_defaults(&mut value);
        assert_eq!(value, before);
    }
}

#[test]
fn values_are_validated_with_the_texts_of_the_server() {
    let table: &[(Value, &[&str])] = &[
        (json!({"html": "x"}), &[]),
        (json!({}), &["spec.html: Required value"]),
        (
            json!({"html": "x", "replicas": 101}),
            &[
                "spec.replicas: Invalid value: 101: spec.replicas in body should be less than or equal to 100",
            ],
        ),
        (
            json!({"html": "x", "replicas": "1"}),
            &[
                "spec.replicas: Invalid value: \"string\": spec.replicas in body must be of type integer: \"string\"",
            ],
        ),
        (
            json!({"html": "x", "replicas": null}),
            &[
                "spec.replicas: Invalid value: \"null\": spec.replicas in body must be of type integer: \"null\"",
            ],
        ),
        (
            json!({"html": "toolong"}),
            &["spec.html: Too long: may not be more than 5 bytes"],
        ),
        (
            json!({"html": "x", "mode": "c"}),
            &["spec.mode: Unsupported value: \"c\": supported values: \"a\", \"b\""],
        ),
        (json!({"html": "x", "port": "http"}), &[]),
        (json!({"html": "x", "port": 80}), &[]),
        (
            json!({"html": "x", "port": true}),
            &[
                "spec.port: Invalid value: \"boolean\": spec.port in body must be of type integer,string: \"boolean\"",
            ],
        ),
        (
            json!({"html": "x", "tags": ["a", "b", "a"]}),
            &["spec.tags[2]: Duplicate value: \"a\""],
        ),
        (
            json!({"html": "x", "sources": [{"name": "a"}, {"name": "a"}]}),
            &["spec.sources[1]: Duplicate value: {\"name\":\"a\"}"],
        ),
        (
            json!({"html": "x", "sources": [{"name": "A", "weight": 0}]}),
            &[
                "spec.sources[0].name: Invalid value: \"A\": spec.sources[0].name in body should match '^[a-z]+$'",
                "spec.sources[0].weight: Invalid value: 0: spec.sources[0].weight in body should be greater than 0",
            ],
        ),
        (
            json!({"html": "x", "labels": {"a": 1}}),
            &[
                "spec.labels.a: Invalid value: \"integer\": spec.labels.a in body must be of type string: \"integer\"",
            ],
        ),
    ];
    for (spec, expected) in table {
        let errors = website().validate(&object(spec.clone()), None);
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(&texts, expected, "{spec}");
    }
}

#[test]
fn schemas_that_are_not_structural_are_refused() {
    let spec = |schema: Value| json!({"type": "object", "properties": {"spec": schema}});
    let table: &[(Value, &[&str])] = &[
        (
            json!({"properties": {}}),
            &["s.type: Required value: must not be empty at the root"],
        ),
        (
            spec(json!({})),
            &[
                "s.properties[spec].type: Required value: must not be empty for specified object fields",
            ],
        ),
        (
            spec(json!({"type": "array"})),
            &["s.properties[spec].items: Required value: must be specified"],
        ),
        (
            spec(json!({"type": "object", "$ref": "x"})),
            &["s.properties[spec].$ref: Forbidden: $ref is not supported"],
        ),
        (
            spec(
                json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
            ),
            &[
                "s.properties[spec].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
            ],
        ),
        (
            spec(json!({"type": "string", "anyOf": [{"type": "string"}]})),
            &["s.properties[spec].anyOf[0].type: Forbidden: must be empty to be structural"],
        ),
        (
            json!({"type": "object", "oneOf": [{"required": ["a"], "properties": {"a": {"maxLength": 1}}}]}),
            &["s.properties[a]: Required value: because it is defined in s.oneOf[0].properties[a]"],
        ),
        (
            spec(
                json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "properties": {"name": {"type": "string"}}}}),
            ),
            &[
                "s.properties[spec].items.properties[name].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            ],
        ),
        (
            spec(json!({"type": "integer", "default": "x"})),
            &[
                "s.properties[spec].default: Invalid value: \"string\":  in body must be of type integer: \"string\"",
            ],
        ),
        (
            spec(
                json!({"type": "object", "properties": {"a": {"type": "string"}}, "default": {"b": 1}}),
            ),
            &["s.properties[spec].default: Invalid value: {\"b\":1}: must not have unknown fields"],
        ),
        (
            json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}}),
            &[
                "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
            ],
        ),
        (
            spec(json!({"type": "string", "pattern": "("})),
            &[
                "s.properties[spec].pattern: Invalid value: \"(\": must be a valid regular expression, but isn't: error: unclosed group",
            ],
        ),
        (
            spec(json!({"type": "integer", "x-kubernetes-validations": [{"rule": "frob(self)"}]})),
            &[
                "s.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {\"FieldPath\":\"\",\"Message\":\"\",\"MessageExpression\":\"\",\"OptionalOldSelf\":null,\"Reason\":null,\"Rule\":\"frob(self)\"}: compilation failed: ERROR: <input>:1:5: undeclared reference to 'frob' (in container '')\n | frob(self)\n | ....^",
            ],
        ),
        (
            spec(
                json!({"type": "object", "properties": {"a": {"type": "integer"}}, "x-kubernetes-validations": [{"rule": "self.b > 1"}]}),
            ),
            &[
                "s.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {\"FieldPath\":\"\",\"Message\":\"\",\"MessageExpression\":\"\",\"OptionalOldSelf\":null,\"Reason\":null,\"Rule\":\"self.b > 1\"}: compilation failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b > 1\n | ....^",
            ],
        ),
        (
            spec(json!({"type": "string", "x-kubernetes-validations": [{"rule": "self.foo > 1"}]})),
            &[
                "s.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {\"FieldPath\":\"\",\"Message\":\"\",\"MessageExpression\":\"\",\"OptionalOldSelf\":null,\"Reason\":null,\"Rule\":\"self.foo > 1\"}: compilation failed: ERROR: <input>:1:5: type 'string' does not support field selection\n | self.foo > 1\n | ....^",
            ],
        ),
        (
            spec(json!({"type": "string", "x-kubernetes-validations": [{"rule": "self + 'a'"}]})),
            &[
                "s.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {\"FieldPath\":\"\",\"Message\":\"\",\"MessageExpression\":\"\",\"OptionalOldSelf\":null,\"Reason\":null,\"Rule\":\"self + 'a'\"}: cel expression must evaluate to a bool",
            ],
        ),
    ];
    for (schema, expected) in table {
        let errors = Schema::from_json_at(schema, "s").expect_err("must be refused");
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(&texts, expected, "{schema}");
    }
}

#[test]
fn an_int_or_string_may_state_its_types() {
    let schema = json!({"type": "object", "properties": {
        "a": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}
    }});
    let schema = Schema::from_json(&schema).expect("this form is allowed");
    assert!(schema.validate(&json!({"a": "1"}), None).is_empty());
    assert!(schema.validate(&json!({"a": 1}), None).is_empty());
    assert!(!schema.validate(&json!({"a": {}}), None).is_empty());
}

#[test]
fn a_schema_may_contain_itself() {
    let set = set_of(json!({
        "Tree": {"type": "object", "properties": {
            "name": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/definitions/Tree"}},
            "best": {"allOf": [{"$ref": "#/definitions/Tree"}], "nullable": true}
        }}
    }))
    .expect("all references lead somewhere");
    let tree = set.get("Tree").expect("defined");
    let mut value =
        json!({"children": [{"name": "a", "age": 1, "children": [{"x": 1}]}], "best": {"y": 1}});
    assert_eq!(
        tree.prune(&mut value),
        ["best.y", "children[0].age", "children[0].children[0].x"]
    );
    assert!(tree.validate(&json!({"best": null}), None).is_empty());
    assert!(
        !tree
            .validate(&json!({"children": [{"name": 1}]}), None)
            .is_empty()
    );
    assert!(set_of(json!({"A": {"$ref": "B"}})).is_err());
    // The work is proportional to the value, not to a schema that contains itself many times.
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let fields: serde_json::Map<String, Value> = names
        .iter()
        .map(|name| (name.to_string(), json!({"$ref": "Wide"})))
        .collect();
    let set = set_of(json!({"Wide": {"type": "object", "properties": fields}}))
        .expect("all references lead somewhere");
    let wide = set.get("Wide").expect("defined");
    assert!(wide.validate(&json!({"a": {"b": {}}}), None).is_empty());
}

#[test]
fn null_is_no_value_of_an_enum_also_where_it_is_allowed() {
    let level = |values: Value| json!({"type": "string", "nullable": true, "enum": values});
    let schema = Schema::from_json(&json!({
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {
            "level": level(json!(["low"])), "listed": level(json!(["low", null])),
            "levels": {"type": "array", "items": level(json!(["low"]))},
            "levelOf": {"type": "object", "additionalProperties": level(json!(["low"]))},
        }}},
    }))
    .unwrap();
    let valid =
        json!({"level": "low", "listed": "low", "levels": ["low"], "levelOf": {"a": "low"}});
    assert!(schema.validate(&object(valid), None).is_empty());
    for (spec, field) in [
        (json!({"level": null}), "spec.level"),
        (json!({"listed": null}), "spec.listed"),
        (json!({"levels": ["low", null]}), "spec.levels[1]"),
        (json!({"levelOf": {"a": null}}), "spec.levelOf.a"),
    ] {
        let errors = schema.validate(&object(spec), None);
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let expected = format!("{field}: Unsupported value: ");
        assert!(
            matches!(&texts[..], [one] if one.starts_with(&expected)),
            "{texts:?}"
        );
    }
}
