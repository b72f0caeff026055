//! Properties that hold for every schema and value.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::Schema;

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3i64).prop_map(Value::from),
        "[ab]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-d]", inner, 0..4)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-d]", value(), 0..4)
        .prop_map(|m| Value::Object(m.into_iter().collect()))
}

/// A structural schema whose defaults have the right types.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(|nullable| json!({"type": "string", "nullable": nullable})),
        Just(json!({"type": "string", "default": "d"})),
        (0..3i64).prop_map(|n| json!({"type": "integer", "default": n, "maximum": 5})),
        Just(json!({"x-kubernetes-int-or-string": true})),
        Just(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
    ];
    let inner = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            inner
                .clone()
                .prop_map(|s| json!({"type": "array", "items": s})),
            inner
                .clone()
                .prop_map(|s| json!({"type": "object", "additionalProperties": s})),
            prop::collection::btree_map("[a-d]", inner, 1..4).prop_map(properties),
        ]
    });
    prop::collection::btree_map("[a-d]", inner, 1..4).prop_map(properties)
}

fn properties(properties: std::collections::BTreeMap<String, Value>) -> Value {
    let properties: Map<String, Value> = properties.into_iter().collect();
    json!({"type": "object", "properties": properties})
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pruning_twice_is_pruning_once(schema in schema(), mut object in object()) {
        let schema = Schema::from_json(&schema).expect("structural");
        schema.prune(&mut object);
        let once = object.clone();
        prop_assert!(schema.prune(&mut object).is_empty());
        prop_assert_eq!(object, once);
    }

    #[test]
    fn defaulting_twice_is_defaulting_once(schema in schema(), mut object in object()) {
        let schema = Schema::from_json(&schema).expect("structural");
        schema.apply_defaults(&mut object);
        let once = object.clone();
        schema.apply_defaults(&mut object);
        prop_assert_eq!(object, once);
    }

    #[test]
    fn defaults_make_no_valid_object_invalid(schema in schema(), mut object in object()) {
        let schema = Schema::from_json(&schema).expect("structural");
        if schema.validate(&object, None).is_empty() {
            schema.apply_defaults(&mut object);
            prop_assert_eq!(schema.validate(&object, None), vec![]);
        }
        let mut empty = json!({});
        schema.apply_defaults(&mut empty);
        prop_assert_eq!(schema.validate(&empty, None), vec![]);
    }

    #[test]
    fn a_schema_returns_the_json_that_it_was_read_from(json in schema()) {
        prop_assert_eq!(Schema::from_json(&json).expect("structural").to_json(), json);
    }

    #[test]
    fn any_json_is_read_or_refused_without_a_panic(json in value(), object in value()) {
        if let Ok(schema) = Schema::from_json(&json) {
            let mut object = object;
            schema.prune(&mut object);
            schema.apply_defaults(&mut object);
            schema.validate(&object, None);
        }
    }
}
