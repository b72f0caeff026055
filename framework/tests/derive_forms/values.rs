//! What a field says about the values in its list or map, and about both forms of a number or text.

use std::collections::BTreeMap;

use pilothouse::{k8s::apimachinery::pkg::util::intstr::IntOrString, resource::ObjectMeta};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::schema_of;

/// A list whose name does not show that it is one.
type Names = Vec<String>;

#[derive(pilothouse::Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
struct Valued {
    metadata: ObjectMeta,
    spec: ValuedSpec,
}

#[derive(pilothouse::Schema, Clone, Debug, Deserialize, Serialize)]
struct ValuedSpec {
    #[schema(
        max_items = 4,
        items(
            min_length = 1,
            pattern = "^[a-z]+$",
            rule("self != 'x'", "x is taken")
        )
    )]
    hosts: Vec<String>,
    #[schema(items(exclusive_minimum = 0, maximum = 100))]
    shares: Option<Vec<u16>>,
    #[schema(additional_properties(values("low", "high")))]
    levels: BTreeMap<String, String>,
    #[schema(additional_properties(min_items = 1, list_type = "set", items(format = "ipv4")))]
    addresses: BTreeMap<String, Vec<String>>,
    #[schema(items(max_length = 3, example = "ann"))]
    names: Names,
    #[schema(items(max_length = 3))]
    some: Vec<Option<String>>,
    #[schema(additional_properties(max_length = 8))]
    open: serde_json::Map<String, serde_json::Value>,
    #[schema(minimum = 1, max_length = 5, pattern = "^[0-9]+%$")]
    surge: IntOrString,
    #[schema(items(minimum = 1, pattern = "^[a-z]+$"))]
    ports: Vec<IntOrString>,
}

#[test]
fn bounds_and_rules_hold_for_each_item_of_a_list_and_each_value_of_a_map() {
    let mut schema = schema_of::<Valued>();
    let fields = &mut schema["spec"]["properties"];
    for (name, expected) in [
        (
            "hosts",
            json!({"type": "array", "maxItems": 4, "items": {"type": "string", "minLength": 1, "pattern": "^[a-z]+$",
                "x-kubernetes-validations": [{"rule": "self != 'x'", "message": "x is taken"}]}}),
        ),
        (
            "shares",
            json!({"type": "array", "items": {"type": "integer", "format": "int32", "minimum": 0, "exclusiveMinimum": true, "maximum": 100}}),
        ),
        (
            "levels",
            json!({"type": "object", "additionalProperties": {"type": "string", "enum": ["low", "high"]}}),
        ),
        (
            "addresses",
            json!({"type": "object", "additionalProperties": {"type": "array", "minItems": 1, "x-kubernetes-list-type": "set",
                "items": {"type": "string", "format": "ipv4"}}}),
        ),
        (
            "names",
            json!({"type": "array", "items": {"type": "string", "maxLength": 3, "example": "ann"}}),
        ),
        (
            "some",
            json!({"type": "array", "items": {"type": "string", "nullable": true, "maxLength": 3}}),
        ),
        (
            "open",
            json!({"type": "object", "additionalProperties": {"maxLength": 8, "x-kubernetes-preserve-unknown-fields": true}}),
        ),
    ] {
        assert_eq!(fields[name], expected, "{name}");
    }
}

#[test]
fn a_number_or_text_has_the_bounds_of_both() {
    let schema = schema_of::<Valued>();
    let fields = &schema["spec"]["properties"];
    assert_eq!(
        fields["surge"],
        json!({"x-kubernetes-int-or-string": true, "minimum": 1, "maxLength": 5, "pattern": "^[0-9]+%$"})
    );
    assert_eq!(
        fields["ports"]["items"],
        json!({"x-kubernetes-int-or-string": true, "minimum": 1, "pattern": "^[a-z]+$"})
    );
}
