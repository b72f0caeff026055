//! What a new definition takes away from stored objects and from clients.
//!
//! Each kind of change of a schema has a row. If the change concerns objects, the row has an object as a proof: a server (the sandbox's
//! checks) takes it with the old schema, and refuses or changes it with the new one.

use pilothouse::crd::{CustomResourceDefinition, breaking_changes};
use pilothouse_sandbox::internals::schema::Schema as ServerSchema;
use serde_json::{Value, json};

fn definition(value: &Value) -> Value {
    let value = json!({"type": "object", "properties": {"value": value}});
    json!({
        "metadata": {"name": "sites.a.dev"},
        "spec": {
            "group": "a.dev",
            "scope": "Namespaced",
            "names": {"kind": "Site", "plural": "sites", "listKind": "SiteList", "shortNames": ["st"], "categories": ["all"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".a", "statusReplicasPath": ".b"}},
                "selectableFields": [{"jsonPath": ".spec.a"}],
                "schema": {"openAPIV3Schema": value},
            }],
        },
        "status": {"storedVersions": ["v1"]},
    })
}

/// Places and problems.
fn changes(old: &Value, new: &Value) -> Vec<String> {
    let read = |definition: &Value| -> CustomResourceDefinition {
        serde_json::from_value(definition.clone()).unwrap()
    };
    breaking_changes(&[read(old)], &[read(new)])
        .iter()
        .map(|one| format!("{}: {}", one.place, one.problem))
        .collect()
}

fn of_schemas(old: &Value, new: &Value) -> Vec<String> {
    changes(&definition(old), &definition(new))
}

/// What a server makes of an object with the value.
fn stored(schema: &Value, value: &Value) -> Result<Value, Vec<String>> {
    let schema = json!({"type": "object", "properties": {"value": schema}});
    let server =
        ServerSchema::from_json(&schema).unwrap_or_else(|errors| panic!("{schema}: {errors:?}"));
    let mut object = json!({"value": value});
    server.prune(&mut object);
    server.apply_defaults(&mut object);
    let errors = server.validate(&object, None);
    match errors.is_empty() {
        true => Ok(object),
        false => Err(errors.iter().map(ToString::to_string).collect()),
    }
}

fn object(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

fn with(mut schema: Value, more: Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        schema[key] = value.clone();
    }
    schema
}

/// Rows of changes of a schema: old, new, an object as a proof, and the problem.
fn rows() -> Vec<(Value, Value, Value, &'static str)> {
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

#[test]
fn each_kind_of_change_of_a_schema_is_found_with_its_place() {
    for (old, new, _, problem) in rows() {
        let expected: Vec<String> = problem
            .split(" | ")
            .map(|problem| match problem.starts_with(['.', '[']) {
                true => format!("sites.a.dev v1 .value{problem}"),
                false => format!("sites.a.dev v1 .value: {problem}"),
            })
            .collect();
        assert_eq!(of_schemas(&old, &new), expected, "{old} -> {new}");
    }
}

#[test]
fn a_server_takes_the_proof_of_each_change_before_and_not_as_it_is_after() {
    for (old, new, proof, problem) in rows() {
        let before = stored(&old, &proof);
        assert!(before.is_ok(), "{problem}: {before:?}");
        assert_ne!(stored(&new, &proof), before, "{problem}");
    }
}

/// Each of the rows backwards, if it only allows more then.
#[test]
fn what_only_allows_more_is_no_change() {
    for (old, new, _, problem) in rows() {
        let goes_both_ways = [
            "type was",
            "another one",
            "default",
            "rule",
            "conditions in `oneOf`",
            "list type",
            "any name",
            " | ",
        ];
        if goes_both_ways.iter().any(|part| problem.contains(part)) {
            continue;
        }
        assert_eq!(of_schemas(&new, &old), [""; 0], "{problem}, backwards");
    }
    for (old, new) in [
        (
            json!({"type": "integer", "minimum": 2}),
            json!({"type": "integer", "minimum": 1}),
        ),
        (
            json!({"type": "integer", "multipleOf": 4}),
            json!({"type": "integer", "multipleOf": 2}),
        ),
        (
            json!({"type": "string", "enum": ["a"]}),
            json!({"type": "string", "enum": ["b", "a"]}),
        ),
        (
            json!({"type": "string"}),
            json!({"x-kubernetes-preserve-unknown-fields": true}),
        ),
        (object(json!({})), object(json!({"a": {"type": "string"}}))),
        (
            json!({"type": "object"}),
            json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "default": "x"}}}),
        ),
        (
            object(json!({"a": {"type": "string"}})),
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        ),
        (
            json!({"type": "integer", "x-kubernetes-validations": [{"rule": "self > 2"}]}),
            json!({"type": "integer"}),
        ),
        (
            json!({"type": "integer"}),
            json!({"type": "integer", "x-kubernetes-validations": [
                {"rule": "oldSelf.hasValue() && oldSelf.value() == self || self > 2", "optionalOldSelf": true}]}),
        ),
        (
            json!({"type": "integer", "format": "int32"}),
            json!({"type": "integer", "format": "int64"}),
        ),
        (json!({"type": "integer"}), json!({"type": "number"})),
        (
            json!({"type": "string"}),
            json!({"x-kubernetes-int-or-string": true}),
        ),
        // A field has another name, and `alias` keeps the old one.
        (
            with(
                object(json!({"a": {"type": "string"}})),
                json!({"required": ["a"]}),
            ),
            with(
                object(json!({"a": {"type": "string"}, "b": {"type": "string"}})),
                json!({"allOf": [{"oneOf": [{"required": ["b"]}, {"required": ["a"]}]}]}),
            ),
        ),
        // A variant is added to an enum with a tag, and to one without.
        (
            with(
                object(json!({"type": {"type": "string", "enum": ["a"]}, "x": {"type": "string"}})),
                json!({"oneOf": [{"required": ["x"], "properties": {"type": {"enum": ["a"]}}}]}),
            ),
            with(
                object(
                    json!({"type": {"type": "string", "enum": ["a", "b"]}, "x": {"type": "string"}}),
                ),
                json!({"oneOf": [
                    {"required": ["x"], "properties": {"type": {"enum": ["a"]}}}, {"properties": {"type": {"enum": ["b"]}}},
                ]}),
            ),
        ),
        (
            with(
                object(json!({"a": {"type": "string"}})),
                json!({"oneOf": [{"required": ["a"]}]}),
            ),
            with(
                object(json!({"a": {"type": "string"}, "b": {"type": "string"}})),
                json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            ),
        ),
    ] {
        assert_eq!(of_schemas(&old, &new), [""; 0], "{old} -> {new}");
    }
}

#[test]
fn appliers_that_share_a_value_are_thought_of() {
    let items = object(json!({"a": {"type": "string"}, "b": {"type": "string"}}));
    let list = |more: Value| with(json!({"type": "array", "items": items}), more);
    let keyed = |key: &str| {
        list(json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]}))
    };
    let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
    for (old, new, problem) in [
        (
            keyed("a"),
            list(json!({})),
            "the list type was map and is atomic",
        ),
        (
            keyed("a"),
            keyed("b"),
            "the items of the list have other keys",
        ),
        (
            map.clone(),
            with(map, json!({"x-kubernetes-map-type": "atomic"})),
            "the map type was granular and is atomic",
        ),
    ] {
        assert_eq!(
            of_schemas(&old, &new),
            [format!("sites.a.dev v1 .value: {problem}")]
        );
    }
}

#[test]
fn changes_are_found_at_any_depth() {
    let deep = |leaf: Value| {
        object(
            json!({"a": {"type": "array", "items": {"type": "object", "additionalProperties": leaf}}}),
        )
    };
    assert_eq!(
        of_schemas(
            &deep(json!({"type": "string"})),
            &deep(json!({"type": "string", "maxLength": 3}))
        ),
        ["sites.a.dev v1 .value.a[].*: `maxLength` is stricter than before: 3"]
    );
}

#[test]
fn each_kind_of_change_outside_the_schema_is_found() {
    let old = definition(&json!({"type": "string"}));
    for (pointer, value, problem) in [
        (
            "/spec/scope",
            json!("Cluster"),
            ": the scope was Namespaced and is Cluster",
        ),
        (
            "/spec/names/kind",
            json!("Web"),
            ": the kind was Site and is Web",
        ),
        (
            "/spec/names/listKind",
            json!("Sites"),
            ": the kind of lists was SiteList and is Sites",
        ),
        (
            "/spec/names/shortNames",
            json!([]),
            ": the short name `st` is gone",
        ),
        (
            "/spec/names/categories",
            Value::Null,
            ": the category `all` is gone",
        ),
        (
            "/spec/versions/0/served",
            json!(false),
            " v1: the version is not served",
        ),
        (
            "/spec/versions/0/subresources/status",
            Value::Null,
            " v1: the subresource `status` is gone, and its clients get 404",
        ),
        (
            "/spec/versions/0/subresources/scale",
            Value::Null,
            " v1: the subresource `scale` is gone, and its clients get 404",
        ),
        (
            "/spec/versions/0/subresources/scale/specReplicasPath",
            json!(".c"),
            " v1: `scale` has another `specReplicasPath` than before",
        ),
        (
            "/spec/versions/0/selectableFields",
            json!([]),
            " v1: field selectors cannot name `.spec.a` any more",
        ),
    ] {
        let mut new = old.clone();
        *new.pointer_mut(pointer).unwrap() = value;
        assert_eq!(changes(&old, &new), [format!("sites.a.dev{problem}")]);
    }
    let mut renamed = old.clone();
    renamed["spec"]["versions"][0]["name"] = "v2".into();
    assert_eq!(
        changes(&old, &renamed),
        [
            "sites.a.dev: objects are stored as `v1`, and the version is gone",
            "sites.a.dev v1: the version is not served",
        ]
    );
    let mut without_status = old.clone();
    without_status["spec"]["versions"][0]["subresources"]["status"] = Value::Null;
    assert_eq!(
        changes(&without_status, &old),
        [
            "sites.a.dev v1: the status became a subresource, and the server ignores a status in other writes"
        ]
    );
    assert_eq!(changes(&old, &old), [""; 0]);
}

#[test]
fn a_definition_that_is_gone_is_found() {
    let definition = definition(&json!({"type": "string"}));
    let definition = serde_json::from_value(definition).unwrap();
    let found = breaking_changes(&[definition], &[]);
    assert_eq!(
        found[0].to_string(),
        "sites.a.dev: the definition is gone\n    keep what is served, and add a version for the change"
    );
}
