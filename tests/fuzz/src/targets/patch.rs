//! Checks patches against the crate `json-patch` where it follows the same rules, and against their own guarantees elsewhere.

use std::sync::OnceLock;

use pilothouse_sandbox::internals::{
    builtin,
    patch::{json_patch, merge_patch, strategic_merge_patch},
    schema::Schema,
};
use serde_json::{Map, Value};

use crate::input;

pub(crate) fn run(data: &[u8]) {
    let (form, rest) = input::choice(data);
    let [object, patch] = input::parts(rest);
    if input::depth(rest) > 40 {
        return;
    }
    let (Ok(object), Ok(patch)) = (
        serde_json::from_slice(object),
        serde_json::from_slice(patch),
    ) else {
        return;
    };
    match form % 3 {
        0 => json(&object, &patch),
        1 => merge(&object, &patch),
        _ => strategic(usize::from(form) / 3, &object, &patch),
    }
}

/// Checks that each patch that the crate can apply gives the same result. Like API servers, the sandbox also applies
/// some other patches.
fn json(object: &Value, patch: &Value) {
    let mut ours = object.clone();
    let outcome = json_patch(&mut ours, patch);
    if outcome.is_err() {
        assert_eq!(&ours, object, "a patch that fails changes nothing");
    }
    let Ok(operations) = serde_json::from_value::<json_patch::Patch>(patch.clone()) else {
        return;
    };
    // The library of API servers can only test or replace the whole document.
    let is_whole = |value: Option<&Value>| value.is_some_and(|it| it == "");
    let all = patch.as_array().into_iter().flatten();
    if all
        .into_iter()
        .any(|one| is_whole(one.get("path")) || is_whole(one.get("from")))
    {
        return;
    }
    let mut theirs = object.clone();
    // `json_patch::patch` panics if it cannot undo what it has done.
    if json_patch::patch_unsafe(&mut theirs, &operations).is_ok() {
        outcome.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(ours, theirs);
    }
}

fn merge(object: &Value, patch: &Value) {
    let mut ours = object.clone();
    if merge_patch(&mut ours, patch).is_err() || patch.is_null() {
        assert_eq!(&ours, object);
    } else {
        let mut theirs = object.clone();
        json_patch::merge(&mut theirs, patch);
        assert_eq!(ours, theirs);
        let once = ours.clone();
        merge_patch(&mut ours, patch).expect("a patch that was applied");
        assert_eq!(ours, once, "a second time");
    }
    // The difference of two documents turns the first into the second.
    if let (Some(before), Some(after)) = (object.as_object(), patch.as_object())
        && !has_null(patch)
    {
        let difference = Value::Object(difference(before, after));
        let mut patched = object.clone();
        merge_patch(&mut patched, &difference).expect("a map");
        assert_eq!(&patched, patch);
    }
}

fn difference(before: &Map<String, Value>, after: &Map<String, Value>) -> Map<String, Value> {
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    let mut all: Map<String, Value> = gone.map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in after {
        match (before.get(key), value) {
            (Some(old), new) if old == new => {}
            (Some(Value::Object(old)), Value::Object(new)) => {
                all.insert(key.clone(), Value::Object(difference(old, new)));
            }
            _ => _ = all.insert(key.clone(), value.clone()),
        }
    }
    all
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(map) => map.values().any(has_null),
        _ => false,
    }
}

fn strategic(kind: usize, object: &Value, patch: &Value) {
    let schemas = schemas();
    let schema = &schemas[kind % schemas.len()];
    let mut patched = object.clone();
    if strategic_merge_patch(schema, &mut patched, patch).is_err() {
        assert_eq!(&patched, object, "a patch that fails changes nothing");
        return;
    }
    if !patch.to_string().contains('$') {
        let once = patched.clone();
        // An item without the key of its list can only be added to a list that does not exist.
        if strategic_merge_patch(schema, &mut patched, patch).is_ok() {
            assert_eq!(patched, once, "a second time");
        }
    }
}

/// Returns the schemas of some kinds that have lists of many types.
pub(crate) fn schemas() -> &'static [Schema] {
    static SCHEMAS: OnceLock<Vec<Schema>> = OnceLock::new();
    SCHEMAS.get_or_init(|| {
        let all = builtin::kinds();
        let of = |name: &str| {
            let kind = all
                .iter()
                .find(|kind| kind.kind == name)
                .expect("a built-in kind");
            builtin::schema(kind).expect("its schema")
        };
        ["Deployment", "Service", "ConfigMap", "ClusterRole"]
            .map(of)
            .into()
    })
}
