//! What a new definition takes away from stored objects and from clients.
//!
//! Each kind of change of a schema has a row. If the change concerns objects, the row has an object as a proof: a server (the sandbox's
//! checks) takes it with the old schema, and refuses or changes it with the new one.

mod rows;

use pilothouse::crd::{CustomResourceDefinition, breaking_changes};
use pilothouse_sandbox::internals::schema::Schema as ServerSchema;
use rows::{object, rows, with};
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
