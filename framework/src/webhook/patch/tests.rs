use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Operation, apply, difference};

fn patch(raw: &Value, before: &Value, after: &Value) -> Vec<Operation> {
    let texts = [raw, before, after].map(Value::to_string);
    super::patch(&texts[0], &texts[1], &texts[2]).unwrap()
}

fn texts(patch: &[Operation]) -> Value {
    serde_json::to_value(patch).unwrap()
}

#[test]
fn an_unchanged_object_has_no_patch() {
    let raw = json!({"spec": {"unknown": 1}});
    let typed = json!({"spec": {"replicas": 1}});
    assert_eq!(patch(&raw, &typed, &typed), []);
}

#[test]
fn only_what_has_changed_is_in_the_patch() {
    let raw = json!({"metadata": {"name": "a", "labels": {"x": "1"}}, "spec": {"size": 1, "extra": {"y": 2}}});
    let before = json!({"metadata": {"name": "a", "labels": {"x": "1"}}, "spec": {"size": 1, "color": "red"}});
    let after = json!({"metadata": {"name": "a", "labels": {"x": "1", "a/b~c": "2"}}, "spec": {"size": 2, "color": "red"}});
    let expected = json!([
        {"op": "add", "path": "/metadata/labels/a~1b~0c", "value": "2"},
        {"op": "replace", "path": "/spec/size", "value": 2},
    ]);
    assert_eq!(texts(&patch(&raw, &before, &after)), expected);
}

#[test]
fn a_set_that_the_type_reads_in_another_order_is_changed_as_a_whole() {
    for (raw, before, after) in [
        (json!(["b", "a"]), json!(["a", "b"]), json!(["b"])),
        (
            json!([{"n": 2}, {"n": 1}]),
            json!([{"n": 1}, {"n": 2}]),
            json!([{"n": 2}]),
        ),
    ] {
        let mut patched = json!({"set": raw});
        let patch = patch(&patched, &json!({"set": before}), &json!({"set": after}));
        apply(&mut patched, &patch).unwrap();
        assert_eq!(patched["set"], after);
    }
}

#[test]
fn a_default_of_the_type_is_not_written_beside_a_change() {
    // The API server sent no `spec`, and the type filled in one.
    let before = json!({"spec": {"replicas": 1, "color": "red"}});
    let after = json!({"spec": {"replicas": 2, "color": "red"}});
    let expected = json!([{"op": "add", "path": "/spec", "value": {"replicas": 2}}]);
    assert_eq!(texts(&patch(&json!({}), &before, &after)), expected);
    let removed = json!({});
    assert_eq!(patch(&json!({}), &before, &removed), []);
}

#[test]
fn a_value_that_the_type_leaves_out_when_it_is_empty_is_changed_in_place() {
    let raw = json!({"labels": {}, "items": null});
    let after = json!({"labels": {"a": "1"}, "items": [1]});
    let expected = json!([
        {"op": "replace", "path": "/items", "value": [1]},
        {"op": "add", "path": "/labels/a", "value": "1"},
    ]);
    assert_eq!(texts(&patch(&raw, &json!({}), &after)), expected);
}

#[test]
fn items_of_lists_keep_the_fields_that_the_type_does_not_know() {
    let raw = json!({"containers": [
        {"name": "a", "image": "1", "unknown": true},
        {"name": "b", "image": "2", "unknown": false},
        {"name": "c", "image": "3", "unknown": null},
    ]});
    let before = json!({"containers": [
        {"name": "a", "image": "1"}, {"name": "b", "image": "2"}, {"name": "c", "image": "3"},
    ]});
    let after = json!({"containers": [
        {"name": "side", "image": "0"}, {"name": "b", "image": "4"}, {"name": "c", "image": "3"},
    ]});
    let patch = patch(&raw, &before, &after);
    let mut patched = raw;
    apply(&mut patched, &patch).unwrap();
    let expected = json!({"containers": [
        {"name": "side", "image": "0"},
        {"name": "b", "image": "4", "unknown": false},
        {"name": "c", "image": "3", "unknown": null},
    ]});
    assert_eq!(patched, expected);
    assert_eq!(patch.len(), 3, "{patch:?}");
}

#[test]
fn items_that_move_keep_the_fields_that_the_type_does_not_know() {
    let raw = json!([
        {"name": "a", "image": "1", "unknown": 1}, {"name": "b", "image": "2", "unknown": 2}, {"name": "c", "image": "3", "unknown": 3},
        {"port": 1, "unknown": 4}, {"port": 2, "unknown": 5}, {"port": 3, "unknown": 6},
    ]);
    let after = json!([
        {"port": 3}, {"port": 2}, {"port": 1},
        {"name": "c", "image": "3"}, {"name": "b", "image": "2"}, {"name": "a", "image": "new"},
    ]);
    let mut patched = raw.clone();
    apply(&mut patched, &patch(&raw, &without_unknown(&raw), &after)).unwrap();
    let expected = json!([
        {"port": 3, "unknown": 6}, {"port": 2, "unknown": 5}, {"port": 1, "unknown": 4},
        {"name": "c", "image": "3", "unknown": 3}, {"name": "b", "image": "2", "unknown": 2}, {"name": "a", "image": "new", "unknown": 1},
    ]);
    assert_eq!(patched, expected);
}

#[test]
fn the_items_of_a_set_keep_the_fields_that_the_type_does_not_know() {
    let raw = json!({"set": [{"unknown": 1}, {"n": 3, "unknown": 2}, {"n": 2, "unknown": 3}]});
    // The type sorts them, and fills in a default.
    let before = json!({"set": [{"n": 1}, {"n": 2}, {"n": 3}]});
    let after = json!({"set": [{"n": 0}, {"n": 1}, {"n": 3}]});
    let mut patched = raw.clone();
    apply(&mut patched, &patch(&raw, &before, &after)).unwrap();
    let expected = json!([{"n": 0}, {"unknown": 1}, {"n": 3, "unknown": 2}]);
    assert_eq!(patched["set"], expected);
}

/// A change of a list by the user's code. Places are taken modulo the length.
#[derive(Clone, Debug)]
enum Edit {
    Insert(usize),
    Remove(usize),
    Move(usize, usize),
    /// Changes an item, if it has a name.
    Change(usize),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = prop_oneof![
        (0..9_usize).prop_map(Edit::Insert),
        (0..9_usize).prop_map(Edit::Remove),
        (0..9_usize, 0..9_usize).prop_map(|(from, to)| Edit::Move(from, to)),
        (0..9_usize).prop_map(Edit::Change),
    ];
    proptest::collection::vec(edit, 0..6)
}

/// An item with something that tells it from the others: a name, or another member.
fn item(number: usize, is_named: bool) -> Value {
    match is_named {
        true => json!({"name": format!("item-{number}"), "size": 1}),
        false => json!({"port": number, "inner": {"x": [1]}}),
    }
}

/// The list with its unknown members after the edits, as the user's code would make it if it knew them.
fn edited(mut list: Vec<Value>, edits: &[Edit]) -> Vec<Value> {
    for (number, edit) in edits.iter().enumerate() {
        let length = list.len();
        match edit {
            Edit::Insert(at) => list.insert(at % (length + 1), item(100 + number, number % 2 == 0)),
            _ if list.is_empty() => {}
            Edit::Remove(at) => drop(list.remove(at % length)),
            Edit::Move(from, to) => {
                let moved = list.remove(from % length);
                list.insert(to % length, moved);
            }
            Edit::Change(at) => {
                let item = &mut list[at % length];
                if item.get("name").is_some() {
                    item["size"] = json!(200 + number);
                }
            }
        }
    }
    list
}

/// JSON whose objects have few names, so that two values often have the same.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        (0..3_i32).prop_map(|number| json!(number)),
        Just(json!("text")),
        any::<bool>().prop_map(|is| json!(is)),
    ];
    let names = proptest::sample::select(&["a", "b/~", "name", "~1"][..]);
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            proptest::collection::btree_map(names.clone().prop_map(str::to_owned), inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn json_object() -> impl Strategy<Value = Value> {
    proptest::collection::btree_map("[a-c]", json_value(), 0..4)
        .prop_map(|members| Value::Object(members.into_iter().collect()))
}

const UNKNOWN: &str = "unknown";

/// The same value with one more member in each object.
fn with_unknown(value: &Value, next: &mut u32) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| with_unknown(item, next)).collect(),
        Value::Object(members) => {
            *next += 1;
            let own = (UNKNOWN.to_owned(), json!(*next));
            let members = members
                .iter()
                .map(|(name, value)| (name.clone(), with_unknown(value, next)));
            Value::Object(
                [own]
                    .into_iter()
                    .chain(members.collect::<Map<_, _>>())
                    .collect(),
            )
        }
        value => value.clone(),
    }
}

fn without_unknown(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(without_unknown).collect(),
        Value::Object(members) => {
            let members = members.iter().filter(|(name, _)| *name != UNKNOWN);
            let members = members.map(|(name, value)| (name.clone(), without_unknown(value)));
            Value::Object(members.collect())
        }
        value => value.clone(),
    }
}

/// Checks that each object which is an object in all three values, and which no list contains, still has its unknown member.
fn check_unknown(raw: &Value, before: &Value, after: &Value, patched: &Value) {
    let (Some(raw), Some(before), Some(after)) =
        (raw.as_object(), before.as_object(), after.as_object())
    else {
        return;
    };
    assert_eq!(raw.get(UNKNOWN), patched.get(UNKNOWN));
    for (name, after) in after {
        if let (Some(raw), Some(before)) = (raw.get(name), before.get(name)) {
            check_unknown(raw, before, after, &patched[name]);
        }
    }
}

proptest! {
    #[test]
    fn items_that_still_exist_keep_unknown_fields_whatever_happens_to_the_list(
        named in proptest::collection::vec(any::<bool>(), 0..8), edits in edits(),
    ) {
        let items = named.iter().enumerate().map(|(number, is_named)| item(number, *is_named));
        let raw = with_unknown(&items.collect(), &mut 0);
        let expected = Value::Array(edited(raw.as_array().unwrap().clone(), &edits));
        let (before, after) = (without_unknown(&raw), without_unknown(&expected));
        let mut patched = raw.clone();
        apply(&mut patched, &patch(&raw, &before, &after)).unwrap();
        prop_assert_eq!(&without_unknown(&patched), &after);
        for item in expected.as_array().unwrap() {
            // A new item may take the place of one without a name that is gone.
            prop_assert!(item.get(UNKNOWN).is_none() || patched.as_array().unwrap().contains(item), "{} in {}", item, patched);
        }
    }

    #[test]
    fn texts_and_values_have_the_same_patch(before in json_object(), after in json_object()) {
        let raw = with_unknown(&before, &mut 0);
        prop_assert_eq!(patch(&raw, &before, &after), difference(&raw, &before, &after));
    }

    #[test]
    fn a_patch_makes_the_changed_object_of_the_first_one(before in json_object(), after in json_object()) {
        let patch = patch(&before, &before, &after);
        let mut patched = before;
        apply(&mut patched, &patch).unwrap();
        prop_assert_eq!(patched, after);
    }

    #[test]
    fn fields_unknown_to_the_type_survive(before in json_object(), after in json_object()) {
        let raw = with_unknown(&before, &mut 0);
        let patch = patch(&raw, &before, &after);
        let mut patched = raw.clone();
        apply(&mut patched, &patch).unwrap();
        prop_assert_eq!(without_unknown(&patched), after.clone());
        check_unknown(&raw, &before, &after, &patched);
    }
}
