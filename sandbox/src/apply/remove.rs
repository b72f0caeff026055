use serde_json::{Map, Value};

use super::field_set::FieldSet;
use super::path_element::PathElement;
use super::typed::{Atom, Typed};

/// What happens to a field whose content was removed completely.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WhenEmpty {
    /// It stays as null: for finding out what is gone.
    Null,
    /// It is removed: for the object to store. The map around it stays.
    Absent,
}

/// The value without these fields. Returns `None` if nothing is left.
pub(super) fn remove(
    typed: Typed<'_>,
    value: &Value,
    fields: &FieldSet,
    emptied: WhenEmpty,
) -> Option<Value> {
    match (typed.atom(Some(value)), value) {
        (Atom::List, Value::Array(items)) => {
            if items.is_empty() || typed.is_atomic_list() {
                return None;
            }
            let mut out = Vec::with_capacity(items.len());
            for item in items {
                let Ok(element) = typed.identify(item) else {
                    out.push(item.clone());
                    continue;
                };
                if fields.is_member(&element) {
                    continue;
                }
                match fields.child(&element) {
                    Some(below) => out.extend(remove(typed.item(), item, below, emptied)),
                    None => out.push(item.clone()),
                }
            }
            (!out.is_empty()).then_some(Value::Array(out))
        }
        (Atom::Map, Value::Object(map)) => {
            if map.is_empty() || typed.is_atomic_map() {
                return None;
            }
            let mut out = Map::new();
            let mut has_emptied = false;
            for (name, value) in map {
                let element = PathElement::Field(name.clone());
                if fields.is_member(&element) {
                    continue;
                }
                match fields.child(&element) {
                    Some(below) => {
                        let rest = remove(typed.field(name), value, below, emptied);
                        if rest.is_some() || emptied == WhenEmpty::Null {
                            out.insert(name.clone(), rest.unwrap_or(Value::Null));
                        } else {
                            has_emptied = true;
                        }
                    }
                    None => {
                        out.insert(name.clone(), value.clone());
                    }
                }
            }
            (has_emptied || !out.is_empty()).then_some(Value::Object(out))
        }
        (Atom::Scalar, value) => Some(value.clone()),
        _ => None,
    }
}
