use std::collections::BTreeMap;

use serde_json::Value;

use super::field_set::FieldSet;
use super::path_element::PathElement;
use super::typed::{Atom, Typed};

/// The fields of a value, as a manager that wrote it would own them.
pub(super) fn fields_of(typed: Typed<'_>, value: &Value) -> FieldSet {
    match walk(typed, value) {
        Owned::Leaf => FieldSet::new(),
        Owned::Below(set) => set,
    }
}

/// The part of a value that a manager owns.
enum Owned {
    /// The place itself, as a whole.
    Leaf,
    /// These fields below it.
    Below(FieldSet),
}

fn walk(typed: Typed<'_>, value: &Value) -> Owned {
    match (typed.atom(Some(value)), value) {
        (Atom::Scalar, _) => Owned::Leaf,
        (Atom::List, _) if typed.is_atomic_list() => Owned::Leaf,
        (Atom::Map, _) if typed.is_atomic_map() => Owned::Leaf,
        (Atom::List, Value::Array(items)) => Owned::Below(list(typed, items)),
        (Atom::Map, Value::Object(map)) => {
            let mut set = FieldSet::new();
            for (name, value) in map {
                let element = PathElement::Field(name.clone());
                let is_empty = value.is_null() || value.as_object().is_some_and(|m| m.is_empty());
                let mut is_member = is_empty || !typed.is_named(name);
                match walk(typed.field(name), value) {
                    Owned::Leaf => is_member = true,
                    Owned::Below(below) => set.insert_child(element.clone(), below),
                }
                if is_member {
                    set.insert_member(element);
                }
            }
            Owned::Below(set)
        }
        _ => Owned::Below(FieldSet::new()),
    }
}

fn list(typed: Typed<'_>, items: &[Value]) -> FieldSet {
    let mut found: BTreeMap<PathElement, Vec<&Value>> = BTreeMap::new();
    for item in items {
        if let Ok(element) = typed.identify(item) {
            found.entry(element).or_default().push(item);
        }
    }
    let mut set = FieldSet::new();
    for (element, items) in found {
        // Items with the same key cannot be told apart, so they are owned as one.
        if let [item] = items.as_slice()
            && let Owned::Below(below) = walk(typed.item(), item)
        {
            set.insert_child(element.clone(), below);
        }
        set.insert_member(element);
    }
    set
}

/// The set with every named field on the path to one of its fields: `a.b.c` also owns `a`, but not an entry of a map.
pub(super) fn with_named_parents(typed: Typed<'_>, set: &FieldSet) -> FieldSet {
    let mut out = FieldSet::new();
    for element in set.members() {
        out.insert_member(element.clone());
    }
    for (element, child) in set.children() {
        if let PathElement::Field(name) = element
            && typed.is_named(name)
        {
            out.insert_member(element.clone());
        }
        let below = with_named_parents(typed.step(element), child);
        out.insert_child(element.clone(), below);
    }
    out
}
