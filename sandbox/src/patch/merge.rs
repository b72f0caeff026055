use serde_json::{Map, Value};

use super::PatchError;
use crate::go;

/// Applies a JSON merge patch (RFC 7386): maps are merged, `null` removes a field, every other value replaces it.
///
/// # Errors
/// `PatchError::Malformed` if the patch is neither an object nor null.
pub fn merge_patch(object: &mut Value, patch: &Value) -> Result<(), PatchError> {
    let fields = match patch {
        Value::Null => return Ok(()),
        Value::Object(fields) => fields,
        other => {
            return Err(PatchError::Malformed(format!(
                "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                go::json_kind(other)
            )));
        }
    };
    merge(object, fields);
    Ok(())
}

fn merge(target: &mut Value, patch: &Map<String, Value>) {
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(fields) = target.as_object_mut() else {
        return;
    };
    for (name, value) in patch {
        match value {
            Value::Null => {
                fields.remove(name);
            }
            Value::Object(patch) => {
                merge(fields.entry(name.as_str()).or_insert(Value::Null), patch)
            }
            other => {
                fields.insert(name.clone(), other.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// The algorithm of the RFC in its simplest form.
    fn model(target: Value, patch: Value) -> Value {
        let Value::Object(patch) = patch else {
            return patch;
        };
        let mut target = match target {
            Value::Object(map) => map,
            _ => Default::default(),
        };
        for (name, value) in patch {
            if value.is_null() {
                target.remove(&name);
            } else {
                let before = target.remove(&name).unwrap_or(Value::Null);
                target.insert(name, model(before, value));
            }
        }
        Value::Object(target)
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..5i64).prop_map(Value::from),
            "[a-c]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-d]", inner, 0..4)
                    .prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn merging_follows_the_rfc(target in value(), patch in value()) {
            let mut object = target.clone();
            match merge_patch(&mut object, &patch) {
                Ok(()) if patch.is_null() => prop_assert_eq!(object, target),
                Ok(()) => prop_assert_eq!(object, model(target, patch)),
                Err(_) => prop_assert!(!patch.is_object()),
            }
        }
    }

    #[test]
    fn a_patch_that_is_not_an_object_is_refused() {
        let mut object = json!({"a": 1});
        let error = merge_patch(&mut object, &json!([1])).expect_err("must fail");
        assert_eq!(error.code(), 400);
        assert_eq!(object, json!({"a": 1}));
    }
}
