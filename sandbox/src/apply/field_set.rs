use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::path_element::PathElement;

/// A set of fields of an object: the `fieldsV1` of a manager.
///
/// A field can be in the set itself (a *member*), can have fields below it in the set, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    members: BTreeSet<PathElement>,
    children: BTreeMap<PathElement, FieldSet>,
}

/// The JSON is not a valid `fieldsV1`.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a valid set of fields: {0}")]
pub struct FieldSetError(String);

impl FieldSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads `fieldsV1`.
    ///
    /// # Errors
    /// [`FieldSetError`] if a value is not an object or a key is malformed.
    pub fn from_json(json: &Value) -> Result<Self, FieldSetError> {
        let map = json
            .as_object()
            .ok_or_else(|| FieldSetError(format!("expected an object, found {json}")))?;
        let mut set = Self::new();
        for (key, value) in map {
            if key == "." {
                continue;
            }
            let element = PathElement::decode(key)
                .ok_or_else(|| FieldSetError(format!("malformed field {key:?}")))?;
            let below = value
                .as_object()
                .ok_or_else(|| FieldSetError(format!("expected an object at {key:?}")))?;
            if below.is_empty() || below.contains_key(".") {
                set.members.insert(element.clone());
            }
            let child = Self::from_json(value)?;
            if !child.is_empty() {
                set.children.insert(element, child);
            }
        }
        Ok(set)
    }

    /// Writes `fieldsV1`.
    pub fn to_json(&self) -> Value {
        let mut map = Map::new();
        for (element, child) in &self.children {
            let mut json = child.to_json();
            if self.members.contains(element)
                && let Value::Object(json) = &mut json
            {
                json.insert(".".into(), Value::Object(Map::new()));
            }
            map.insert(element.encode(), json);
        }
        for element in &self.members {
            map.entry(element.encode())
                .or_insert_with(|| Value::Object(Map::new()));
        }
        Value::Object(map)
    }

    /// Whether no field is in the set.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    /// How many fields are in the set.
    pub fn len(&self) -> usize {
        self.members.len() + self.children.values().map(Self::len).sum::<usize>()
    }

    /// Adds a field. The empty path names the whole object, which no manager can own: it is left out.
    pub fn insert(&mut self, path: &[PathElement]) {
        let Some((last, parents)) = path.split_last() else {
            return;
        };
        let mut set = self;
        for element in parents {
            set = set.children.entry(element.clone()).or_default();
        }
        set.members.insert(last.clone());
    }

    /// Whether the field itself is in the set.
    pub fn contains(&self, path: &[PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.members.contains(last),
            [first, rest @ ..] => self.children.get(first).is_some_and(|c| c.contains(rest)),
        }
    }

    /// The fields in either set.
    pub fn union(&self, other: &Self) -> Self {
        let mut out = self.clone();
        out.extend(other);
        out
    }

    fn extend(&mut self, other: &Self) {
        self.members.extend(other.members.iter().cloned());
        for (element, child) in &other.children {
            self.children
                .entry(element.clone())
                .or_default()
                .extend(child);
        }
    }

    /// The fields in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        let children = self.children.iter().filter_map(|(element, child)| {
            let both = child.intersection(other.children.get(element)?);
            (!both.is_empty()).then(|| (element.clone(), both))
        });
        Self {
            members: self.members.intersection(&other.members).cloned().collect(),
            children: children.collect(),
        }
    }

    /// The fields that are not in the other set. A field stays even if its parent is in the other set.
    pub fn difference(&self, other: &Self) -> Self {
        let children = self.children.iter().filter_map(|(element, child)| {
            let rest = match other.children.get(element) {
                Some(other) => child.difference(other),
                None => child.clone(),
            };
            (!rest.is_empty()).then(|| (element.clone(), rest))
        });
        Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: children.collect(),
        }
    }

    /// The fields that are not in the other set and have no ancestor in it.
    pub fn recursive_difference(&self, other: &Self) -> Self {
        let children = self.children.iter().filter_map(|(element, child)| {
            if other.members.contains(element) {
                return None;
            }
            let rest = match other.children.get(element) {
                Some(other) => child.recursive_difference(other),
                None => child.clone(),
            };
            (!rest.is_empty()).then(|| (element.clone(), rest))
        });
        Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: children.collect(),
        }
    }

    /// Every path in the set, in order.
    pub fn paths(&self) -> Vec<Vec<PathElement>> {
        let mut out = Vec::new();
        self.collect(&mut Vec::new(), &mut out);
        out
    }

    fn collect(&self, at: &mut Vec<PathElement>, out: &mut Vec<Vec<PathElement>>) {
        for element in &self.members {
            at.push(element.clone());
            out.push(at.clone());
            at.pop();
        }
        for (element, child) in &self.children {
            at.push(element.clone());
            child.collect(at, out);
            at.pop();
        }
    }

    pub(super) fn child(&self, element: &PathElement) -> Option<&Self> {
        self.children.get(element).filter(|c| !c.is_empty())
    }

    pub(super) fn children(&self) -> impl Iterator<Item = (&PathElement, &Self)> {
        self.children.iter().filter(|(_, c)| !c.is_empty())
    }

    pub(super) fn members(&self) -> impl Iterator<Item = &PathElement> {
        self.members.iter()
    }

    pub(super) fn is_member(&self, element: &PathElement) -> bool {
        self.members.contains(element)
    }

    pub(super) fn insert_member(&mut self, element: PathElement) {
        self.members.insert(element);
    }

    pub(super) fn insert_child(&mut self, element: PathElement, child: Self) {
        if !child.is_empty() {
            self.children.insert(element, child);
        }
    }
}

/// A path as conflict messages show it.
pub(super) fn path_text(path: &[PathElement]) -> String {
    path.iter().map(ToString::to_string).collect()
}
