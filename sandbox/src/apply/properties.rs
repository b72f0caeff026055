//! Properties that hold after any sequence of writes.
//!
//! The generated values contain no empty lists and maps, and no value that changes its type where the schema allows any
//! type: their ownership follows no rule, not even in kube-apiserver.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::fields::fields_of;
use super::typed::Typed;
use super::{ApplyError, ApplyOptions, FieldSet, Managers, PathElement, apply, update};
use crate::schema::Schema;

fn schema() -> Schema {
    Schema::trusted(
        &json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "a": {"type": "string"},
            "b": {"type": "string"},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "atom": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
            "list": {"type": "array", "items": {"type": "string"}},
            "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "items": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "properties": {
                    "name": {"type": "string"}, "x": {"type": "string"}, "y": {"type": "string"}
                }}
            },
            "free": {"x-kubernetes-preserve-unknown-fields": true}
        }}}}),
    )
}

fn text() -> impl Strategy<Value = Value> {
    "[pq]".prop_map(Value::from)
}

fn map() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[kl]", text(), 1..3)
        .prop_map(|m| Value::Object(m.into_iter().collect()))
}

/// Specs without the field whose type the schema leaves open.
pub(super) fn typed_spec() -> impl Strategy<Value = Value> {
    let item = ("[rst]", prop::option::of(text()), prop::option::of(text()));
    let items = prop::collection::vec(item, 1..4).prop_map(|items| {
        let mut seen = std::collections::BTreeSet::new();
        let items = items.into_iter().filter(|(n, _, _)| seen.insert(n.clone()));
        let items = items.map(|(name, x, y)| {
            let mut item = Map::from_iter([("name".to_owned(), Value::from(name))]);
            item.extend(x.map(|x| ("x".to_owned(), x)));
            item.extend(y.map(|y| ("y".to_owned(), y)));
            Value::Object(item)
        });
        Value::Array(items.collect())
    });
    let set = prop::collection::btree_set("[mno]", 1..3)
        .prop_map(|s| s.into_iter().map(Value::from).collect::<Value>())
        .boxed();
    (
        prop::option::of(text()),
        prop::option::of(text()),
        prop::option::of(map()),
        prop::option::of(map()),
        prop::option::of(prop::collection::vec(text(), 1..3).prop_map(Value::from)),
        prop::option::of(set),
        prop::option::of(items),
    )
        .prop_map(|(a, b, map, atom, list, set, items)| {
            let fields = [
                ("a", a),
                ("b", b),
                ("map", map),
                ("atom", atom),
                ("list", list),
                ("set", set),
                ("items", items),
            ];
            let given = fields.into_iter();
            let given = given.filter_map(|(name, value)| Some((name.to_owned(), value?)));
            Value::Object(given.collect())
        })
}

fn spec() -> impl Strategy<Value = Value> {
    let free = prop_oneof![map(), Just(json!({"deep": {"deeper": [1]}}))];
    (typed_spec(), prop::option::of(free)).prop_map(|(mut spec, free)| {
        if let Some(free) = free {
            spec["free"] = free;
        }
        spec
    })
}

#[derive(Clone, Debug)]
pub(super) enum Write {
    Apply {
        manager: String,
        spec: Value,
        force: bool,
    },
    Update {
        manager: String,
        spec: Value,
    },
}

pub(super) fn write(spec: BoxedStrategy<Value>) -> impl Strategy<Value = Write> {
    prop_oneof![
        3 => ("[ABC]", spec.clone(), any::<bool>())
            .prop_map(|(manager, spec, force)| Write::Apply { manager, spec, force }),
        1 => ("[UV]", spec).prop_map(|(manager, spec)| Write::Update { manager, spec }),
    ]
}

fn object(spec: &Value) -> Value {
    json!({"apiVersion": "e/v1", "kind": "E", "metadata": {"name": "e"}, "spec": spec})
}

fn options(manager: &str) -> ApplyOptions {
    ApplyOptions::new(manager, "e/v1", jiff::Timestamp::UNIX_EPOCH)
}

pub(super) fn do_apply(
    live: Option<&Value>,
    manager: &str,
    spec: &Value,
    force: bool,
) -> Result<Value, ApplyError> {
    let options = options(manager).force(force);
    apply(&schema(), live, &object(spec), &options).map(|a| a.object)
}

pub(super) fn do_update(live: Option<&Value>, manager: &str, spec: &Value) -> Value {
    update(&schema(), live, object(spec), &options(manager))
}

/// Performs writes one after the other. A write that conflicts changes nothing. Stops when no manager owns anything,
/// because updates are not tracked after that.
fn run(writes: &[Write]) -> Option<Value> {
    let mut live: Option<Value> = None;
    for write in writes {
        match write {
            Write::Apply {
                manager,
                spec,
                force,
            } => {
                if let Ok(object) = do_apply(live.as_ref(), manager, spec, *force) {
                    live = Some(object);
                }
            }
            Write::Update { manager, spec } => {
                live = Some(do_update(live.as_ref(), manager, spec));
            }
        }
        if managers(live.as_ref()?).is_empty() {
            return live;
        }
    }
    live
}

pub(super) fn managers(object: &Value) -> Managers {
    let managed = object.pointer("/metadata/managedFields");
    Managers::from_json(managed.unwrap_or(&Value::Null)).expect("managed fields decode")
}

fn leaves(object: &Value) -> FieldSet {
    let schema = schema();
    let mut spec = Map::new();
    spec.extend(object.get("spec").map(|s| ("spec".to_owned(), s.clone())));
    fields_of(Typed::root(&schema), &Value::Object(spec))
}

/// Whether the path leads to a value in the object.
fn exists(object: &Value, path: &[PathElement]) -> bool {
    let mut here = object;
    for element in path {
        let next = match element {
            PathElement::Field(name) => here.get(name),
            PathElement::Index(_) => None,
            PathElement::Value(value) => {
                let mut items = here.as_array().into_iter().flatten();
                items.find(|v| *v == value)
            }
            PathElement::Key(keys) => {
                let mut items = here.as_array().into_iter().flatten();
                items.find(|v| keys.iter().all(|(name, value)| v.get(name) == Some(value)))
            }
        };
        match next {
            Some(next) => here = next,
            None => return false,
        }
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn applying_twice_is_applying_once(writes in prop::collection::vec(write(spec().boxed()), 0..5), spec in spec()) {
        let live = run(&writes);
        let once = do_apply(live.as_ref(), "A", &spec, true).expect("forced");
        let twice = do_apply(Some(&once), "A", &spec, false).expect("no conflict with oneself");
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn two_applies_without_a_conflict_are_both_in_the_object(a in spec(), b in spec()) {
        let live = do_apply(None, "A", &a, false).expect("nothing to conflict with");
        if let Ok(both) = do_apply(Some(&live), "B", &b, false) {
            let owned = managers(&both);
            for spec in [&a, &b] {
                for path in leaves(&object(spec)).paths() {
                    prop_assert!(exists(&both, &path), "{:?}", path);
                    prop_assert!(owned.owned(|_| true).contains(&path), "{:?}", path);
                }
            }
        }
    }

    #[test]
    fn a_manager_that_lost_a_field_by_force_conflicts_when_it_applies_it_again(a in spec(), b in spec()) {
        let live = do_apply(None, "A", &a, false).expect("nothing to conflict with");
        if do_apply(Some(&live), "B", &b, false).is_err() {
            let taken = do_apply(Some(&live), "B", &b, true).expect("forced");
            let again = do_apply(Some(&taken), "A", &a, false);
            prop_assert!(matches!(again, Err(ApplyError::Conflicts(_))), "{:?}", again);
        }
    }

    #[test]
    fn every_leaf_is_owned_and_every_owned_path_exists(writes in prop::collection::vec(write(spec().boxed()), 1..8)) {
        let Some(live) = run(&writes) else { return Ok(()) };
        let owned = managers(&live).owned(|_| true);
        for path in owned.paths() {
            prop_assert!(exists(&live, &path), "{:?} is owned but not there in {}", path, live);
        }
        let mut unowned = leaves(&live).difference(&owned).paths();
        // A map or item that fields of other managers keep exists without an owner of its own.
        unowned.retain(|path| {
            let is_container = owned.paths().iter().any(|p| p.len() > path.len() && p.starts_with(path));
            !is_container
        });
        unowned.retain(|path| path.len() > 1);
        prop_assert!(unowned.is_empty(), "{:?} is not owned in {}", unowned, live);
    }

    #[test]
    fn an_applier_that_leaves_out_everything_owns_nothing(a in spec(), b in spec()) {
        let live = do_apply(None, "A", &a, false).expect("nothing to conflict with");
        let live = do_apply(Some(&live), "B", &b, true).expect("forced");
        let gone = do_apply(Some(&live), "A", &json!({}), false).expect("nothing to conflict with");
        let alone = do_apply(None, "B", &b, false).expect("nothing to conflict with");
        let fields = |object: &Value| {
            let mut fields = leaves(object).paths();
            fields.retain(|p| p.len() > 1);
            fields
        };
        prop_assert_eq!(fields(&gone), fields(&alone));
    }

    #[test]
    fn field_sets_follow_the_laws_of_sets(a in spec(), b in spec(), c in spec()) {
        let [a, b, c] = [a, b, c].map(|s| leaves(&object(&s)));
        prop_assert_eq!(a.union(&b), b.union(&a));
        prop_assert_eq!(a.union(&b).union(&c), a.union(&b.union(&c)));
        prop_assert_eq!(a.intersection(&b), b.intersection(&a));
        prop_assert_eq!(a.union(&a), a.clone());
        prop_assert_eq!(a.intersection(&a), a.clone());
        prop_assert!(a.difference(&a).is_empty());
        prop_assert!(a.difference(&b).intersection(&b).is_empty());
        prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
        prop_assert_eq!(a.union(&b).len() + a.intersection(&b).len(), a.len() + b.len());
        prop_assert!(a.recursive_difference(&b).difference(&a).is_empty());
        for path in a.paths() {
            prop_assert!(a.contains(&path) && a.union(&b).contains(&path));
            prop_assert_eq!(a.intersection(&b).contains(&path), b.contains(&path));
        }
    }

    #[test]
    fn field_sets_survive_json(spec in spec()) {
        let set = leaves(&object(&spec));
        prop_assert_eq!(FieldSet::from_json(&set.to_json()), Ok(set));
    }

    #[test]
    fn managed_fields_survive_json(writes in prop::collection::vec(write(spec().boxed()), 1..6)) {
        if let Some(live) = run(&writes) {
            let managers = managers(&live);
            prop_assert_eq!(Managers::from_json(&managers.to_json()), Ok(managers));
        }
    }
}
