use serde_json::{Map, Value};

use super::{
    Operation,
    alignment::{Step, alignment},
    apply,
    moves::{Moves, origins},
    operation::within,
    reading::{is_read_in_order, readings},
};

/// The operations that make of `raw` what the user's code made of it. `before` and `after` are the object as the Rust type
/// writes it, before and after that code.
pub(super) fn difference(raw: &Value, before: &Value, after: &Value) -> Vec<Operation> {
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
            if is_read_in_order(raw, before) =>
        {
            compare_items(patch, path, raw, before, after);
        }
        _ => {
            let value = match (raw, before, after) {
                (Value::Null, ..) => changed(Some(before), after),
                (Value::Array(raw), Value::Array(before), Value::Array(after)) => {
                    changed_set(raw, before, after)
                }
                _ => after.clone(),
            };
            if *raw != value {
                let path = path.to_owned();
                patch.push(Operation::Replace { path, value });
            }
        }
    }
}

/// A list that the type reads in another order, such as a set, as a whole: with the fields of its items that the type does not know.
fn changed_set(raw: &[Value], before: &[Value], after: &[Value]) -> Value {
    let Some(readings) = readings(raw, before) else {
        return after.into();
    };
    let origins = origins(before, after).into_iter().zip(after);
    let items = origins.map(|(origin, item)| match origin {
        Some(old) => merged(&raw[readings[old]], &before[old], item),
        None => item.clone(),
    });
    items.collect()
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
    let steps = alignment(before, after);
    let moves = Moves::of(&steps, before, after);
    // From the end to the start, so that an operation does not move the items of a later one.
    let mut place = before.len();
    for step in steps.into_iter().rev() {
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
            Step::Insert(new) => {
                let path = format!("{path}/{place}");
                let value = match moves.origin(new) {
                    Some(old) => merged(&raw[old], &before[old], &after[new]),
                    None => after[new].clone(),
                };
                patch.push(Operation::Add { path, value });
            }
        }
    }
}

/// What the user's code made of `raw`: the value with all that the type does not know.
fn merged(raw: &Value, before: &Value, after: &Value) -> Value {
    let mut value = raw.clone();
    match apply(&mut value, &difference(raw, before, after)) {
        Ok(()) => value,
        // A patch of a value applies to it. Otherwise only what the type knows would be right.
        Err(_) => after.clone(),
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
