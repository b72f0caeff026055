use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::field_set::FieldSet;
use super::path_element::PathElement;
use super::typed::{Atom, Typed};
use super::value_order::equal;

/// The fields that a write adds, changes and removes.
#[derive(Clone, Debug, Default)]
pub(super) struct Comparison {
    pub(super) removed: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) added: FieldSet,
}

impl Comparison {
    /// The fields that a write changes or adds.
    pub(super) fn changed(&self) -> FieldSet {
        self.modified.union(&self.added)
    }

    /// Applies one function to all three sets.
    pub(super) fn map(self, change: impl Fn(&FieldSet) -> FieldSet) -> Self {
        Self {
            removed: change(&self.removed),
            modified: change(&self.modified),
            added: change(&self.added),
        }
    }
}

/// Compares two versions of an object.
pub(super) fn compare(typed: Typed<'_>, old: &Value, new: &Value) -> Comparison {
    let mut whole = NodeDiff::default();
    whole.value(typed, Some(old), Some(new));
    whole.below
}

/// The difference at one place. Sets are built from the leaves, so that a deep place costs no more than a flat one.
#[derive(Default)]
struct NodeDiff {
    is_removed: bool,
    is_modified: bool,
    is_added: bool,
    below: Comparison,
}

impl NodeDiff {
    /// Compares the values at `element` below this place.
    fn child(&mut self, element: PathElement, compare: impl FnOnce(&mut Self)) {
        let mut child = Self::default();
        compare(&mut child);
        for (set, is_member, below) in [
            (
                &mut self.below.removed,
                child.is_removed,
                child.below.removed,
            ),
            (
                &mut self.below.modified,
                child.is_modified,
                child.below.modified,
            ),
            (&mut self.below.added, child.is_added, child.below.added),
        ] {
            if !below.is_empty() {
                set.insert_child(element.clone(), below);
            }
            if is_member {
                set.insert_member(element.clone());
            }
        }
    }

    fn value(&mut self, typed: Typed<'_>, old: Option<&Value>, new: Option<&Value>) {
        let (old_atom, new_atom) = (typed.atom(old), typed.atom(new));
        let mut is_leaf;
        match (old, new) {
            (_, None) => is_leaf = self.as_atom(old_atom, typed, old, new),
            (None, _) => is_leaf = self.as_atom(new_atom, typed, old, new),
            _ => {
                is_leaf = false;
                if old_atom != new_atom {
                    self.as_atom(old_atom, typed, old, new);
                }
                is_leaf |= self.as_atom(new_atom, typed, old, new);
            }
        }
        if !is_leaf {
            match (old, new) {
                (None, Some(_)) => self.is_added = true,
                (Some(_), None) => self.is_removed = true,
                _ => {}
            }
        }
    }

    /// Compares two values of one type. Returns whether the place is compared as a whole.
    fn as_atom(
        &mut self,
        atom: Atom,
        typed: Typed<'_>,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> bool {
        match atom {
            Atom::Scalar => self.leaf(old, new),
            Atom::List => {
                let items = |v: Option<&Value>| -> Vec<Value> {
                    let items = v.and_then(Value::as_array);
                    items.cloned().unwrap_or_default()
                };
                let (old_items, new_items) = (items(old), items(new));
                if typed.is_atomic_list() || (old_items.is_empty() && new_items.is_empty()) {
                    return self.leaf(old, new);
                }
                self.list(typed, &old_items, &new_items);
                false
            }
            Atom::Map => {
                let (old_map, new_map) = (as_map(old), as_map(new));
                let is_empty = |m: Option<&Map<String, Value>>| m.is_none_or(Map::is_empty);
                if typed.is_atomic_map() || (is_empty(old_map) && is_empty(new_map)) {
                    return self.leaf(old, new);
                }
                self.map(typed, old_map, new_map);
                false
            }
        }
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) -> bool {
        match (old, new) {
            (None, _) => self.is_added = true,
            (_, None) => self.is_removed = true,
            (Some(old), Some(new)) if !equal(old, new) => self.is_modified = true,
            _ => {}
        }
        true
    }

    fn map(
        &mut self,
        typed: Typed<'_>,
        old: Option<&Map<String, Value>>,
        new: Option<&Map<String, Value>>,
    ) {
        let old_names = old.into_iter().flat_map(Map::keys);
        let only_new = new.into_iter().flat_map(Map::keys);
        let only_new = only_new.filter(|n| !old.is_some_and(|o| o.contains_key(*n)));
        for name in old_names.chain(only_new) {
            let (old, new) = (old.and_then(|m| m.get(name)), new.and_then(|m| m.get(name)));
            let element = PathElement::Field(name.clone());
            self.child(element, |child| child.value(typed.field(name), old, new));
        }
    }

    fn list(&mut self, typed: Typed<'_>, old: &[Value], new: &[Value]) {
        let mut all: BTreeMap<PathElement, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for item in old {
            if let Ok(element) = typed.identify(item) {
                all.entry(element).or_default().0.push(item);
            }
        }
        for item in new {
            if let Ok(element) = typed.identify(item) {
                all.entry(element).or_default().1.push(item);
            }
        }
        for (element, (old, new)) in all {
            self.child(element, |child| {
                match (old.as_slice(), new.as_slice()) {
                    ([] | [_], [] | [_]) => {
                        child.value(typed.item(), old.first().copied(), new.first().copied());
                    }
                    // Items with the same key cannot be told apart, so they are compared as one.
                    ([_, _, ..], [_, _, ..]) => {
                        let same = old.len() == new.len()
                            && old.iter().zip(&new).all(|(a, b)| equal(a, b));
                        if !same {
                            child.is_modified = true;
                        }
                    }
                    ([_, _, ..], _) => {
                        if let Some(new) = new.first() {
                            child.value(typed.item(), None, Some(new));
                        }
                        child.is_removed = true;
                    }
                    _ => {
                        if let Some(old) = old.first() {
                            child.value(typed.item(), Some(old), None);
                        }
                        child.is_added = true;
                    }
                }
            });
        }
    }
}

fn as_map(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}
