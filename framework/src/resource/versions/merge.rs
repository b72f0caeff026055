use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    kept::KeptField,
    lists::{found_again, origins},
};

/// Puts a kept field back into the content of an object, unless somebody has changed it meanwhile.
pub(super) fn restore(content: &mut Value, field: &KeptField) {
    let Some((last, parents)) = field.path.split_last() else {
        return;
    };
    let mut parent = content;
    for name in parents {
        // Without the parent somebody has removed it, with the field in it.
        match parent.get_mut(name) {
            Some(next) => parent = next,
            None => return,
        }
    }
    let Value::Object(parent) = parent else {
        return;
    };
    let present = parent.remove(last);
    let merged = merge(field.returned.as_ref(), field.value.as_ref(), present);
    if let Some(merged) = merged {
        parent.insert(last.clone(), merged);
    }
}

/// The present value, with the differences between `returned` and `value` where it still is what was returned.
fn merge(returned: Option<&Value>, value: Option<&Value>, present: Option<Value>) -> Option<Value> {
    if returned == value {
        return present;
    }
    if present.as_ref() == returned {
        return value.cloned();
    }
    match (returned, value, present) {
        (
            Some(Value::Object(returned)),
            Some(Value::Object(value)),
            Some(Value::Object(present)),
        ) => Some(merge_objects(returned, value, present).into()),
        (Some(Value::Array(returned)), Some(Value::Array(value)), Some(Value::Array(present))) => {
            Some(merge_lists(returned, value, present).into())
        }
        // A type may leave an empty list out. Items that nobody could see stay.
        (Some(Value::Array(returned)), Some(Value::Array(value)), None) => {
            let merged = merge_lists(returned, value, Vec::new());
            (!merged.is_empty()).then(|| merged.into())
        }
        (_, _, present) => present,
    }
}

fn merge_objects(
    returned: &Map<String, Value>,
    value: &Map<String, Value>,
    mut present: Map<String, Value>,
) -> Map<String, Value> {
    let names: BTreeSet<&String> = returned.keys().chain(value.keys()).collect();
    for name in names {
        let merged = merge(returned.get(name), value.get(name), present.remove(name));
        if let Some(merged) = merged {
            present.insert(name.clone(), merged);
        }
    }
    present
}

fn merge_lists(returned: &[Value], value: &[Value], present: Vec<Value>) -> Vec<Value> {
    let in_value = origins(returned, value);
    let in_present = found_again(returned, &present);
    let mut returned_of = vec![None; present.len()];
    for (index, at) in in_present.iter().enumerate() {
        if let Some(at) = at {
            returned_of[*at] = Some(index);
        }
    }
    // Each item with its index in `value`.
    let mut merged: Vec<(Option<usize>, Value)> = Vec::new();
    for (at, item) in present.into_iter().enumerate() {
        let Some(before) = returned_of[at] else {
            merged.push((None, item));
            continue;
        };
        match in_value[before] {
            Some(index) => {
                let item = merge(Some(&returned[before]), Some(&value[index]), Some(item));
                merged.extend(item.map(|item| (Some(index), item)));
            }
            // The way back had added it.
            None if item == returned[before] => {}
            None => merged.push((None, item)),
        }
    }
    for (index, item) in value.iter().enumerate() {
        let is_expressed = in_value.contains(&Some(index));
        if !is_expressed {
            let before = |(of, _): &(Option<usize>, Value)| of.is_some_and(|of| of < index);
            let place = merged.iter().rposition(before).map_or(0, |at| at + 1);
            merged.insert(place, (Some(index), item.clone()));
        }
    }
    merged.into_iter().map(|(_, item)| item).collect()
}
