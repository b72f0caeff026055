use std::cmp::Reverse;

use serde_json::Value;

/// The most pairs of items that are compared to find out how a set was read.
const MOST_PAIRS: usize = 250_000;

/// Whether the type can have read the items of a list one by one, in their order.
pub(super) fn is_read_in_order(raw: &[Value], before: &[Value]) -> bool {
    let mut pairs = raw.iter().zip(before);
    raw.len() == before.len() && pairs.all(|(raw, before)| may_be_read_as(raw, before))
}

/// For each item of `before` the place of the item in `raw` that the type can have read it from. `None` if there is an item without
/// one: then nothing is known about the list. It is for a set, which has another order than the list that it was read from, and has
/// equal items once.
pub(super) fn readings(raw: &[Value], before: &[Value]) -> Option<Vec<usize>> {
    if raw.len() * before.len() > MOST_PAIRS {
        return None;
    }
    let mut is_read = vec![false; raw.len()];
    let readings = before.iter().map(|item| {
        let free = (0..raw.len()).filter(|place| !is_read[*place]);
        let possible = free.filter(|place| may_be_read_as(&raw[*place], item));
        // The first of those that have most in common.
        let place = possible.min_by_key(|place| Reverse(common(&raw[*place], item)))?;
        is_read[place] = true;
        Some(place)
    });
    readings.collect()
}

/// How many members of an object are the same in both. An item without a member may be read as one with any default.
fn common(raw: &Value, before: &Value) -> usize {
    let (Value::Object(raw), Value::Object(before)) = (raw, before) else {
        return 0;
    };
    let same = before
        .iter()
        .filter(|(name, value)| raw.get(*name) == Some(value));
    same.count()
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
