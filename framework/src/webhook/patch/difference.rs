use serde_json::{Map, Value};

use super::{
    Operation,
    alignment::{Step, alignment},
    operation::within,
};

/// The operations that make of `raw` what the user's code made of it. `before` and `after` are the object as the Rust type
/// writes it, before and after that code.
pub(in crate::webhook) fn patch(raw: &Value, before: &Value, after: &Value) -> Vec<Operation> {
    let mut patch = Vec::new();
    compare(&mut patch, "", raw, before, after);
    patch
}

/// Compares values at one path. All three exist there.
fn compare(patch: &mut Vec<Operation>, path: &str, raw: &Value, before: &Value, after: &Value) {
    if before == after {
        return;
    }
    match (raw, before, after) {
        (Value::Object(raw), Value::Object(before), Value::Object(after)) => {
            compare_members(patch, path, raw, before, after);
        }
        (Value::Array(raw), Value::Array(before), Value::Array(after))
            if raw.len() == before.len()
                && raw
                    .iter()
                    .zip(before)
                    .all(|(raw, before)| may_be_read_as(raw, before)) =>
        {
            compare_items(patch, path, raw, before, after);
        }
        _ if raw == after => {}
        _ => patch.push(Operation::Replace {
            path: path.to_owned(),
            value: match raw {
                Value::Null => changed(Some(before), after),
                _ => after.clone(),
            },
        }),
    }
}

/// Whether the type can have read the item `raw` of a list as `before`. A set has another order than the list that it was read from.
fn may_be_read_as(raw: &Value, before: &Value) -> bool {
    match (raw, before) {
        (Value::Object(raw), Value::Object(before)) => {
            match (raw.get("name"), before.get("name")) {
                (Some(raw), Some(before)) => raw == before,
                _ => before.iter().all(|(name, before)| {
                    raw.get(name).is_none_or(|raw| may_be_read_as(raw, before))
                }),
            }
        }
        (Value::Array(raw), Value::Array(before)) => {
            let mut pairs = raw.iter().zip(before);
            raw.len() == before.len() && pairs.all(|(raw, before)| may_be_read_as(raw, before))
        }
        (Value::Null, _) => true,
        (raw, before) => raw == before,
    }
}

fn compare_members(
    patch: &mut Vec<Operation>,
    path: &str,
    raw: &Map<String, Value>,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) {
    let removed = before.keys().filter(|name| !after.contains_key(*name));
    for name in removed.filter(|name| raw.contains_key(*name)) {
        let path = within(path, name);
        patch.push(Operation::Remove { path });
    }
    for (name, after) in after {
        let path = within(path, name);
        match (raw.get(name), before.get(name)) {
            (Some(raw), Some(before)) => compare(patch, &path, raw, before, after),
            // The type leaves the value out, for example because it is empty.
            (Some(raw), None) => compare(patch, &path, raw, &empty_like(after), after),
            // The type has filled in a default.
            (None, Some(before)) if before == after => {}
            (None, before) => patch.push(Operation::Add {
                path,
                value: changed(before, after),
            }),
        }
    }
}

/// Compares lists whose items the type reads one by one.
fn compare_items(
    patch: &mut Vec<Operation>,
    path: &str,
    raw: &[Value],
    before: &[Value],
    after: &[Value],
) {
    // From the end to the start, so that an operation does not move the items of a later one.
    let mut place = before.len();
    for step in alignment(before, after).into_iter().rev() {
        match step {
            Step::Keep(old, new) => {
                let path = format!("{path}/{old}");
                compare(patch, &path, &raw[old], &before[old], &after[new]);
                place = old;
            }
            Step::Remove(old) => {
                let path = format!("{path}/{old}");
                patch.push(Operation::Remove { path });
                place = old;
            }
            Step::Insert(new) => patch.push(Operation::Add {
                path: format!("{path}/{place}"),
                value: after[new].clone(),
            }),
        }
    }
}

/// What is written where the API server sent nothing: `after` without the members that the user's code did not change. The
/// type filled them in, and other types may fill in other values.
fn changed(before: Option<&Value>, after: &Value) -> Value {
    let (Some(Value::Object(before)), Value::Object(after)) = (before, after) else {
        return after.clone();
    };
    let members = after.iter().filter_map(|(name, after)| {
        let before = before.get(name);
        (before != Some(after)).then(|| (name.clone(), changed(before, after)))
    });
    Value::Object(members.collect())
}

/// The empty object or list for an object or a list, and null for other values.
fn empty_like(value: &Value) -> Value {
    match value {
        Value::Object(_) => Value::Object(Map::new()),
        Value::Array(_) => Value::Array(Vec::new()),
        _ => Value::Null,
    }
}
