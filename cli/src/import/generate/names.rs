//! The names of the types of a version.
//!
//! A type is named after the field that has it: the items of `spec.rules` are a `Rule`. If several types would have the same name, the one that
//! is nearest to the object has it, and the names of the others begin with that of the type around them.

use std::collections::BTreeSet;

use super::{
    types::{Item, Types},
    words::{distinct, type_name},
};

/// Names that the source uses for other things.
pub(super) const TAKEN: &[&str] = &[
    "BTreeMap",
    "Clone",
    "Condition",
    "Debug",
    "Default",
    "Deserialize",
    "Err",
    "IntOrString",
    "LabelSelector",
    "None",
    "ObjectMeta",
    "Ok",
    "Option",
    "PartialEq",
    "Resource",
    "Schema",
    "Self",
    "Serialize",
    "Some",
    "String",
    "Time",
    "Value",
    "Vec",
];

/// Names that say nothing alone.
const VAGUE: &[&str] = &[
    "Config", "Item", "Key", "Kind", "Metadata", "Mode", "Name", "Options", "Policy", "Spec",
    "State", "Status", "Type", "Value",
];

/// A name for each of the items.
pub(super) fn names(types: &Types<'_>, kind: &str) -> Vec<String> {
    let mut taken: BTreeSet<String> = TAKEN.iter().map(|name| (*name).to_owned()).collect();
    taken.insert(kind.to_owned());
    let mut names = vec![String::new(); types.items.len()];
    for root in ["spec", "status"] {
        if let Some(item) = types.item_of(root) {
            let name = distinct(format!("{kind}{}", type_name(root)), "", |name| {
                taken.contains(name)
            });
            taken.insert(name.clone());
            names[item] = name;
        }
    }
    let mut order: Vec<usize> = (0..types.items.len()).collect();
    order.sort_by_key(|at| types.items[*at].path.len());
    for at in order {
        if !names[at].is_empty() {
            continue;
        }
        let name = name(&types.items[at], kind, &taken);
        taken.insert(name.clone());
        names[at] = name;
    }
    names
}

fn name(item: &Item<'_>, kind: &str, taken: &BTreeSet<String>) -> String {
    let words: Vec<String> = item.path.iter().map(|part| type_name(part)).collect();
    let is_free = |name: &str| !name.is_empty() && !taken.contains(name);
    for first in (1..words.len()).rev() {
        let name = joined(&words[first..]);
        if is_free(&name) && !VAGUE.contains(&name.as_str()) {
            return name;
        }
    }
    let inner = joined(words.get(1..).unwrap_or_default());
    let whole = joined(&words);
    for name in [format!("{kind}{inner}"), format!("{kind}{whole}")] {
        if is_free(&name) && name != kind {
            return name;
        }
    }
    distinct(format!("{kind}{whole}"), "", |name| taken.contains(name))
}

/// The words without those that repeat: `Issuer` in `IssuerRef` stands once.
fn joined(words: &[String]) -> String {
    let mut name = String::new();
    for word in words {
        match word.strip_prefix(name.as_str()) {
            Some(rest) if rest.starts_with(|first: char| first.is_ascii_uppercase()) => {
                name.push_str(rest);
            }
            _ if name == *word => {}
            _ => name.push_str(word),
        }
    }
    name
}
