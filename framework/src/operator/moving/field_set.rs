//! Sets of fields in the form of `managedFields[].fieldsV1`.
//!
//! A set is a tree of JSON objects whose keys are path elements: `f:` a field, `k:` an item of a list by its keys, `v:` an item by
//! its value, `i:` an item by its index. A leaf `{}` is a member of the set. A place with something below it is itself a member
//! only if it has the key `.`.

use serde_json::{Map, Value};

/// The key for the place itself.
const SELF: &str = ".";

/// The set with the fields of both.
pub(super) fn union(one: Value, other: Value) -> Value {
    match (one, other) {
        // At the top, `{}` is the empty set.
        (Value::Object(empty), set) | (set, Value::Object(empty)) if empty.is_empty() => set,
        (Value::Object(one), Value::Object(other)) => Value::Object(merged(one, other)),
        (one, _) => one,
    }
}

fn merged(mut one: Map<String, Value>, mut other: Map<String, Value>) -> Map<String, Value> {
    let member = || (SELF.to_owned(), Value::Object(Map::new()));
    match (one.is_empty(), other.is_empty()) {
        (true, true) => return one,
        (true, false) => other.extend([member()]),
        (false, true) => one.extend([member()]),
        (false, false) => {}
    }
    for (element, below) in other {
        let below = match (one.remove(&element), below) {
            (Some(Value::Object(one)), Value::Object(other)) => Value::Object(merged(one, other)),
            (_, below) => below,
        };
        one.insert(element, below);
    }
    one
}

/// The part of a set that names fields of this object.
pub(super) fn present_in(set: &Value, object: &Value) -> Value {
    let kept = set.as_object().and_then(|set| kept(set, object));
    Value::Object(kept.unwrap_or_default())
}

fn kept(set: &Map<String, Value>, value: &Value) -> Option<Map<String, Value>> {
    if set.is_empty() {
        return Some(Map::new());
    }
    let mut all = Map::new();
    for (element, below) in set {
        let place = match element.as_str() {
            SELF => Some(value),
            _ => find(element, value),
        };
        let (Some(place), Some(below)) = (place, below.as_object()) else {
            continue;
        };
        if let Some(below) = kept(below, place) {
            all.insert(element.clone(), Value::Object(below));
        }
    }
    (!all.is_empty()).then_some(all)
}

/// What a path element names in a value.
fn find<'a>(element: &str, value: &'a Value) -> Option<&'a Value> {
    let (form, text) = element.split_once(':')?;
    let json = || serde_json::from_str::<Value>(text).ok();
    match form {
        "f" => value.get(text),
        "i" => value.as_array()?.get(text.parse::<usize>().ok()?),
        "v" => {
            let wanted = json()?;
            value.as_array()?.iter().find(|item| **item == wanted)
        }
        "k" => {
            let Value::Object(keys) = json()? else {
                return None;
            };
            let has_keys = |item: &&Value| keys.iter().all(|(key, one)| item.get(key) == Some(one));
            value.as_array()?.iter().find(has_keys)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_union_has_the_fields_of_both_sets() {
        let one = json!({"f:data": {"f:a": {}}, "f:metadata": {"f:labels": {".": {}, "f:x": {}}}});
        let other =
            json!({"f:data": {".": {}, "f:b": {}}, "f:metadata": {"f:labels": {"f:y": {}}}});
        let both = json!({
            "f:data": {".": {}, "f:a": {}, "f:b": {}},
            "f:metadata": {"f:labels": {".": {}, "f:x": {}, "f:y": {}}},
        });
        assert_eq!(union(one.clone(), other.clone()), both);
        assert_eq!(union(other, one), both);
    }

    #[test]
    fn a_place_that_one_set_has_as_a_member_stays_a_member() {
        let whole = json!({"f:spec": {"f:selector": {}}});
        let inner = json!({"f:spec": {"f:selector": {"f:app": {}}}});
        let both = json!({"f:spec": {"f:selector": {".": {}, "f:app": {}}}});
        assert_eq!(union(whole.clone(), inner.clone()), both);
        assert_eq!(union(inner, whole.clone()), both);
        assert_eq!(union(whole.clone(), whole.clone()), whole);
    }

    #[test]
    fn the_empty_set_adds_nothing() {
        let set = json!({"f:data": {"f:a": {}}});
        assert_eq!(union(json!({}), set.clone()), set);
        assert_eq!(union(set.clone(), json!({})), set);
    }

    #[test]
    fn only_fields_of_the_object_are_present_in_it() {
        let object = json!({
            "spec": {"kept": 1, "list": [{"name": "a", "image": "b"}, {"name": "c"}], "set": ["x"], "atomic": [1, 2]},
        });
        let set = json!({"f:spec": {
            ".": {},
            "f:kept": {},
            "f:renamed": {},
            "f:below": {"f:gone": {}},
            "f:list": {
                "k:{\"name\":\"a\"}": {".": {}, "f:image": {}, "f:gone": {}},
                "k:{\"name\":\"gone\"}": {".": {}},
            },
            "f:set": {"v:\"x\"": {}, "v:\"y\"": {}},
            "f:atomic": {"i:1": {}, "i:2": {}},
        }});
        let expected = json!({"f:spec": {
            ".": {},
            "f:kept": {},
            "f:list": {"k:{\"name\":\"a\"}": {".": {}, "f:image": {}}},
            "f:set": {"v:\"x\"": {}},
            "f:atomic": {"i:1": {}},
        }});
        assert_eq!(present_in(&set, &object), expected);
        assert_eq!(present_in(&set, &json!({})), json!({}));
    }
}
