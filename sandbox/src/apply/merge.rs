use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::path_element::PathElement;
use super::typed::{Atom, Typed};

/// Merges a configuration into the live value. The configuration has been checked before.
pub(super) fn merge(typed: Typed<'_>, live: Option<&Value>, config: Option<&Value>) -> Value {
    let (live, config) = match (live, config) {
        (Some(live), None) => return live.clone(),
        (None, Some(config)) => return config.clone(),
        (None, None) => return Value::Null,
        (Some(live), Some(config)) => (live, config),
    };
    match typed.atom(Some(config)) {
        Atom::Scalar => config.clone(),
        Atom::List => {
            let (old, new) = (live.as_array(), config.as_array());
            let is_empty = |l: Option<&Vec<Value>>| l.is_none_or(Vec::is_empty);
            if typed.is_atomic_list() || (is_empty(old) && is_empty(new)) {
                return config.clone();
            }
            let items = |l: Option<&Vec<Value>>| l.cloned().unwrap_or_default();
            Value::Array(lists(typed, &items(old), &items(new)))
        }
        Atom::Map => {
            let (old, new) = (live.as_object(), config.as_object());
            let is_empty = |m: Option<&Map<String, Value>>| m.is_none_or(Map::is_empty);
            if typed.is_atomic_map() || (is_empty(old) && is_empty(new)) {
                return config.clone();
            }
            let mut out = old.cloned().unwrap_or_default();
            for (name, value) in new.into_iter().flatten() {
                let merged = merge(typed.field(name), out.get(name), Some(value));
                out.insert(name.clone(), merged);
            }
            Value::Object(out)
        }
    }
}

/// Merges items by their keys. Items of the configuration keep their order. An item of the live list stays before the
/// item of the configuration that it preceded.
fn lists(typed: Typed<'_>, live: &[Value], config: &[Value]) -> Vec<Value> {
    let left = Items::new(typed, live);
    let right = Items::new(typed, config);
    let mut shared: VecDeque<&PathElement> = right
        .order
        .iter()
        .map(|(element, _)| element)
        .filter(|element| left.by_key.contains_key(*element))
        .collect();
    let mut next_shared = shared.pop_front();
    let mut taken: BTreeSet<&PathElement> = BTreeSet::new();
    let mut out = Vec::with_capacity(live.len().max(config.len()));
    let join = |element: &PathElement| {
        let old = left.by_key.get(element).copied().flatten();
        merge(
            typed.item(),
            old,
            right.by_key.get(element).copied().flatten(),
        )
    };
    let (mut l, mut r) = (0, 0);
    loop {
        let (old, new) = (left.order.get(l), right.order.get(r));
        match (old, new) {
            (None, None) => return out,
            (Some((element, _)), Some((other, _))) if element == other => {
                out.push(join(element));
                taken.insert(element);
                (l, r) = (l + 1, r + 1);
                next_shared = shared.pop_front();
                continue;
            }
            // A shared item that comes later in the order of the configuration.
            (Some((element, _)), Some(_))
                if right.by_key.contains_key(element)
                    && next_shared.is_some_and(|next| next != element) =>
            {
                l += 1;
                continue;
            }
            _ => {}
        }
        if let Some((element, item)) = old {
            if !right.by_key.contains_key(element) {
                out.push(Value::clone(item));
                l += 1;
                continue;
            }
            if taken.contains(element) {
                l += 1;
            }
        }
        if let Some((element, _)) = new {
            out.push(join(element));
            taken.insert(element);
            r += 1;
            if next_shared == Some(element) {
                next_shared = shared.pop_front();
            }
        }
    }
}

struct Items<'a> {
    order: Vec<(PathElement, &'a Value)>,
    /// The item of each key; `None` if several items share the key.
    by_key: BTreeMap<PathElement, Option<&'a Value>>,
}

impl<'a> Items<'a> {
    fn new(typed: Typed<'_>, items: &'a [Value]) -> Self {
        let mut out = Self {
            order: Vec::with_capacity(items.len()),
            by_key: BTreeMap::new(),
        };
        for item in items {
            let Ok(element) = typed.identify(item) else {
                continue;
            };
            out.by_key
                .entry(element.clone())
                .and_modify(|known| *known = None)
                .or_insert(Some(item));
            out.order.push((element, item));
        }
        out
    }
}
