use std::cmp::Ordering;

use serde_json::Value;

/// A total order over JSON values: numbers by value, then strings, booleans, lists, maps and null.
pub(super) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => match (x.as_i64(), y.as_i64()) {
            (Some(x), Some(y)) => x.cmp(&y),
            _ => {
                let (x, y) = (x.as_f64().unwrap_or(0.0), y.as_f64().unwrap_or(0.0));
                x.total_cmp(&y)
            }
        },
        (Value::String(x), Value::String(y)) => x.cmp(y),
        (Value::Bool(x), Value::Bool(y)) => x.cmp(y),
        (Value::Array(x), Value::Array(y)) => {
            let mut pairs = x.iter().zip(y).map(|(x, y)| compare(x, y));
            pairs
                .find(|o| o.is_ne())
                .unwrap_or_else(|| x.len().cmp(&y.len()))
        }
        (Value::Object(x), Value::Object(y)) => {
            let sorted = |map: &serde_json::Map<String, Value>| {
                let mut entries: Vec<(String, Value)> =
                    map.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
                entries.sort_by(|a, b| a.0.cmp(&b.0));
                entries
            };
            let (x, y) = (sorted(x), sorted(y));
            let mut pairs = x
                .iter()
                .zip(&y)
                .map(|(x, y)| x.0.cmp(&y.0).then_with(|| compare(&x.1, &y.1)));
            pairs
                .find(|o| o.is_ne())
                .unwrap_or_else(|| x.len().cmp(&y.len()))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

/// JSON equality: `1` and `1.0` are the same number.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| equal(x, y))
        }
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(k, v)| y.get(k).is_some_and(|w| equal(v, w)))
        }
        _ => compare(a, b).is_eq(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_ordered_by_kind_and_then_by_content() {
        let sorted = [
            json!(-1),
            json!(2),
            json!(2.5),
            json!(9_007_199_254_740_992_i64),
            json!(9_007_199_254_740_993_i64),
            json!("10"),
            json!("9"),
            json!(false),
            json!(true),
            json!([]),
            json!([1]),
            json!([1, 2]),
            json!([2]),
            json!({}),
            json!({"a": 1}),
            json!({"a": 1, "b": 1}),
            json!({"a": 2}),
            json!({"b": 0}),
            json!(null),
        ];
        for (x, a) in sorted.iter().enumerate() {
            for (y, b) in sorted.iter().enumerate() {
                assert_eq!(compare(a, b), x.cmp(&y), "{a} and {b}");
            }
        }
    }

    #[test]
    fn a_whole_number_is_equal_in_both_forms_at_every_depth() {
        let whole = json!({"a": [1, 2]});
        assert!(equal(&whole, &json!({"a": [1.0, 2]})));
        for other in [json!({"a": [1]}), json!({"b": [1, 2]}), json!({})] {
            assert!(!equal(&whole, &other), "{other}");
        }
    }
}
