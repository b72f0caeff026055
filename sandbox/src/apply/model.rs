//! Compares [`apply`](super::apply()) and [`update`](super::update()) with a model that knows neither trees nor schemas.
//!
//! The model's object is a flat table of leaves, `map/k` or `items/r/x`. A manager owns leaves, and items of the keyed
//! list (`items/r`). Four rules, from the documentation of server-side apply, say what a write does:
//!
//! 1. An apply sets each leaf of its configuration. A leaf that another manager owns with another value is a conflict.
//!    With force, the other managers lose it.
//! 2. A leaf that the manager applied before and leaves out now is removed, unless another manager owns it. An item goes as
//!    a whole when nobody owns the item itself any more.
//! 3. An update sets exactly the given leaves. Its manager owns what it changed, and nobody else does.
//! 4. Nobody owns what does not exist.
//!
//! The model leaves out who owns the maps and lists around leaves: it does not change what a write does.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::Value;

use super::properties::{Write, do_apply, do_update, managers, typed_spec, write};
use super::{ApplyError, PathElement};

type Leaves = BTreeMap<String, Value>;

/// The managers and the paths that conflict.
type Conflicts = BTreeSet<(String, String)>;

#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    leaves: Leaves,
    owned: BTreeMap<String, BTreeSet<String>>,
}

impl Model {
    fn apply(&mut self, manager: &str, given: &Leaves, force: bool) -> Result<(), Conflicts> {
        let changed = |path: &String| {
            self.leaves
                .get(path)
                .is_some_and(|value| *value != given[path])
        };
        let changed: BTreeSet<String> =
            given.keys().filter(|path| changed(path)).cloned().collect();
        let others = self.owned.iter().filter(|(name, _)| *name != manager);
        let conflicts: Conflicts = others
            .flat_map(|(name, owned)| {
                let both = owned.intersection(&changed);
                both.map(|path| (name.clone(), path.clone()))
            })
            .collect();
        if !force && !conflicts.is_empty() {
            return Err(conflicts);
        }
        self.lose(&changed);
        self.leaves.extend(given.clone());
        let before = self.owned.insert(manager.to_owned(), paths(given));
        let still: BTreeSet<String> = self.owned.values().flatten().cloned().collect();
        for path in before.unwrap_or_default().difference(&still) {
            let below = format!("{path}/");
            self.leaves
                .retain(|leaf, _| leaf != path && !leaf.starts_with(&below));
        }
        self.forget();
        Ok(())
    }

    fn update(&mut self, manager: &str, given: &Leaves) {
        let (before, after) = (paths(&self.leaves), paths(given));
        let changed: BTreeSet<String> = after
            .iter()
            .filter(|path| !before.contains(*path) || self.leaves.get(*path) != given.get(*path))
            .cloned()
            .collect();
        self.lose(&changed);
        self.leaves = given.clone();
        self.owned
            .entry(manager.to_owned())
            .or_default()
            .extend(changed);
        self.forget();
    }

    fn lose(&mut self, paths: &BTreeSet<String>) {
        for owned in self.owned.values_mut() {
            owned.retain(|path| !paths.contains(path));
        }
    }

    fn forget(&mut self) {
        let there = paths(&self.leaves);
        for owned in self.owned.values_mut() {
            owned.retain(|path| there.contains(path));
        }
        self.owned.retain(|_, owned| !owned.is_empty());
    }
}

/// All that can be owned: the leaves, and the items of the keyed list.
fn paths(leaves: &Leaves) -> BTreeSet<String> {
    let items = leaves.keys().filter_map(|path| path.strip_suffix("/name"));
    items
        .map(str::to_owned)
        .chain(leaves.keys().cloned())
        .collect()
}

/// The leaves of a `spec` of the generator.
fn leaves(spec: &Value) -> Leaves {
    let mut leaves = Leaves::new();
    for (field, value) in spec.as_object().into_iter().flatten() {
        match (field.as_str(), value) {
            ("map", Value::Object(map)) => {
                leaves.extend(
                    map.iter()
                        .map(|(key, value)| (format!("map/{key}"), value.clone())),
                );
            }
            ("set", Value::Array(items)) => {
                let items = items.iter().map(|item| item.as_str().unwrap());
                leaves.extend(items.map(|item| (format!("set/{item}"), Value::Null)));
            }
            ("items", Value::Array(items)) => {
                for item in items {
                    let name = item["name"].as_str().unwrap();
                    let fields = item.as_object().unwrap().iter();
                    leaves.extend(
                        fields.map(|(key, value)| (format!("items/{name}/{key}"), value.clone())),
                    );
                }
            }
            _ => {
                leaves.insert(field.clone(), value.clone());
            }
        }
    }
    leaves
}

/// A path below `spec`.
fn text(path: &[PathElement]) -> String {
    let parts = path.iter().skip(1).map(|element| match element {
        PathElement::Field(name) => name.clone(),
        PathElement::Value(value) => value.as_str().unwrap().to_owned(),
        PathElement::Key(keys) => keys[0].1.as_str().unwrap().to_owned(),
        PathElement::Index(index) => index.to_string(),
    });
    parts.collect::<Vec<_>>().join("/")
}

/// What the object and its `managedFields` say, in the form of the model.
fn shown(object: &Value) -> Model {
    let leaves = leaves(&object["spec"]);
    let known = paths(&leaves);
    let mut owned = BTreeMap::new();
    for (manager, fields) in managers(object).iter() {
        let paths = fields.paths().into_iter().filter_map(|path| {
            let path = text(&path);
            let is_container = ["", "map", "set", "items"].contains(&path.as_str());
            assert!(
                is_container || known.contains(&path),
                "{path} is owned by {manager:?} and not there"
            );
            (!is_container).then_some(path)
        });
        let paths: BTreeSet<String> = paths.collect();
        if !paths.is_empty() {
            owned.insert(manager.name.clone(), paths);
        }
    }
    Model { leaves, owned }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn writes_do_what_the_model_does(writes in prop::collection::vec(write(typed_spec().boxed()), 1..12)) {
        let mut model = Model::default();
        let mut live: Option<Value> = None;
        for write in &writes {
            let before = model.clone();
            match write {
                Write::Apply { manager, spec, force } => {
                    let expected = model.apply(manager, &leaves(spec), *force);
                    match (do_apply(live.as_ref(), manager, spec, *force), expected) {
                        (Ok(object), Ok(())) => live = Some(object),
                        (Err(ApplyError::Conflicts(found)), Err(expected)) => {
                            let found = found.iter().map(|one| (one.manager.name.clone(), text(&one.path)));
                            prop_assert_eq!(found.collect::<Conflicts>(), expected);
                        }
                        (got, expected) => prop_assert!(false, "{:?} and not {:?}, after {:?}", got, expected, before),
                    }
                }
                Write::Update { manager, spec } => {
                    model.update(manager, &leaves(spec));
                    live = Some(do_update(live.as_ref(), manager, spec));
                }
            }
            let Some(object) = &live else { continue };
            prop_assert_eq!(&shown(object), &model, "after {:?}, which was {:?}", write, before);
            // Updates of an object without owners are not tracked.
            if model.owned.is_empty() {
                return Ok(());
            }
        }
    }
}
