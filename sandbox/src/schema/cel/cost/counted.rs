use cel::Value;

use super::call_estimate::is_text_order;
use super::range::scale;
use super::{CHARACTER, LIST, PATTERN};
use crate::schema::cel::formats;
use crate::schema::cel::values::size;

/// The cost of asking whether something is allowed.
const CHECK: u64 = 350_000;
/// The cost of a requirement of a selector.
const REQUIREMENT: f64 = 50.0;

/// The cost of a call that was made. `overload` is empty if the checker did not find exactly one.
pub(in crate::schema::cel) fn of_call(
    function: &str,
    overload: &str,
    arguments: &[Value],
    result: Option<&Value>,
) -> u64 {
    let sized = |place: usize| arguments.get(place).map_or(1, size);
    let read = |place: usize, factor: f64| scale(sized(place), factor * CHARACTER);
    let list = |factor: f64, size: u64| (size as f64 * factor) as u64 + 1 + LIST;
    let matched = |pattern: u64| {
        let text = scale(sized(0).saturating_add(1), CHARACTER);
        text.saturating_mul(scale(pattern, PATTERN))
    };
    match overload {
        "list_slice" | "lists_range" | "list_reverse" => return list(1.0, result.map_or(1, size)),
        "list_flatten" => return list(1.0, sized(0)),
        "list_flatten_int" => {
            let depth = match arguments.get(1) {
                Some(Value::Int(depth)) => *depth as f64,
                _ => 1.0,
            };
            return list(depth, sized(0));
        }
        "list_distinct" => return list(pairs(arguments.first()), sized(0).pow(2)),
        "list_sets_contains_list" | "list_sets_intersects_list" => {
            return 1 + sized(0).saturating_mul(sized(1));
        }
        "list_sets_equivalent_list" => {
            return 1 + sized(0).saturating_mul(sized(1)).saturating_mul(2);
        }
        sort if sort.starts_with("list_") && sort.contains("_sort") => {
            let keys = usize::from(!sort.ends_with("_sort"));
            return list(pairs(arguments.get(keys)), sized(keys).pow(2));
        }
        _ => {}
    }
    match function {
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
            return arguments.first().map_or(0, traversal);
        }
        "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "cidr" | "isIP" | "isCIDR"
        | "quantity" | "isQuantity" | "semver" | "isSemver" => return read(0, 1.0),
        "ip" if overload != "cidr_ip" => return read(0, 1.0),
        "replace" | "split" | "ip.isCanonical" => return read(0, 2.0),
        "check" => return CHECK,
        "fieldSelector" | "labelSelector" => {
            let requirements = scale(sized(1), 0.5);
            return LIST + read(1, 1.0) + scale(requirements, REQUIREMENT);
        }
        "join" => return scale(result.map_or(1, size), 2.0 * CHARACTER),
        "find" | "findAll" => return matched(sized(1)),
        "containsIP" | "containsCIDR" => {
            let mut cost = read(0, 2.0);
            if function == "containsCIDR" {
                cost += read(0, 1.0) + 1;
            }
            if overload.ends_with("_string") {
                cost += read(1, 1.0);
            }
            return cost;
        }
        "validate" => {
            if let Some(pattern) = arguments.first().and_then(formats::pattern_size) {
                let text = scale(sized(1).saturating_add(1), CHARACTER);
                return text.saturating_mul(scale(pattern, PATTERN));
            }
        }
        "_==_" if matches!(arguments.first(), Some(Value::Opaque(o)) if o.runtime_type_name() != "optional_type") =>
        {
            return 1;
        }
        _ => {}
    }
    match overload {
        "starts_with_string" | "ends_with_string" | "string_to_bytes" | "bytes_to_string"
        | "strings_quote" | "string_format" => read(0, 1.0),
        "in_list" => sized(1),
        "equals" | "not_equals" => scale(sized(0).min(sized(1)), CHARACTER),
        _ if is_text_order(overload) => scale(sized(0).min(sized(1)), CHARACTER),
        "add_string" | "add_bytes" => scale(sized(0).saturating_add(sized(1)), CHARACTER),
        "matches_string" => matched(sized(1)),
        "contains_string" => read(0, 1.0).saturating_mul(read(1, 1.0)),
        _ => 1,
    }
}

/// The cost of comparing two items of a list.
fn pairs(list: Option<&Value>) -> f64 {
    match list {
        Some(Value::List(items)) => match items.first() {
            Some(Value::String(_) | Value::Bytes(_)) => 2.0 + CHARACTER,
            _ => 2.0,
        },
        _ => 2.0,
    }
}

/// The cost of reading a value with everything in it.
fn traversal(value: &Value) -> u64 {
    match value {
        Value::String(text) => (text.len() as f64 * CHARACTER) as u64,
        Value::Bytes(bytes) => (bytes.len() as f64 * CHARACTER) as u64,
        Value::List(items) => items.iter().map(traversal).sum(),
        Value::Map(map) => {
            let entries = map.map.iter();
            let costs = entries.map(|(key, value)| traversal(&key.into()) + traversal(value));
            costs.sum()
        }
        _ => 1,
    }
}
