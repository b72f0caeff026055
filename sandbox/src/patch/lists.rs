use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::PatchError;
use super::strategic::{malformed, merge_maps, unknown_directive};
use crate::go;
use crate::schema::{Node, Schema};

/// Merges the items of a patch into a list.
///
/// # Errors
/// [`PatchError`] if an item lacks its merge key or a directive is wrong.
pub(super) fn merge(
    mut before: Vec<Value>,
    patch: Vec<Value>,
    node: &Node,
) -> Result<Vec<Value>, PatchError> {
    if before.is_empty() && patch.is_empty() {
        return Ok(before);
    }
    let all = || before.iter().chain(&patch);
    if all().any(Value::is_array) {
        let text = "lists of lists are not supported";
        return Err(PatchError::Unprocessable(text.into()));
    }
    let maps = all().filter(|v| v.is_object()).count();
    if maps != 0 && maps != all().count() {
        let text = "list element types are not identical";
        return Err(PatchError::Internal(text.into()));
    }
    let key = node.merge_key.as_deref();
    let live = before.clone();
    let wanted;
    let merged;
    if maps == 0 {
        wanted = patch.clone();
        let mut seen = HashSet::new();
        let items = before.into_iter().chain(patch);
        merged = items.filter(|item| seen.insert(item.to_string())).collect();
    } else {
        let Some(key) = key else {
            let text = "cannot merge lists without merge key";
            return Err(PatchError::Internal(text.into()));
        };
        let mut changes: Vec<Map<String, Value>> = Vec::new();
        let mut replaces = false;
        for item in patch {
            let Value::Object(item) = item else { continue };
            match item.get("$patch") {
                None => changes.push(item),
                Some(Value::String(directive)) if directive == "delete" => {
                    let value = item.get(key).ok_or_else(|| no_key(&item, key))?;
                    before.retain(|v| v.get(key) != Some(value));
                }
                Some(Value::String(directive)) if directive == "replace" => replaces = true,
                Some(Value::String(directive)) if directive == "merge" => {
                    let text = "merging lists cannot yet be specified in the patch";
                    return Err(PatchError::Internal(text.into()));
                }
                Some(directive) => return Err(unknown_directive(directive, &item)),
            }
        }
        if replaces {
            return Ok(changes.into_iter().map(Value::Object).collect());
        }
        wanted = changes.iter().cloned().map(Value::Object).collect();
        merged = merge_items(before, changes, key, node)?;
    }
    let order = Order {
        wanted: &wanted,
        live: &live,
        key: key.filter(|_| maps != 0),
    };
    order.arrange(merged)
}

fn merge_items(
    mut before: Vec<Value>,
    changes: Vec<Map<String, Value>>,
    key: &str,
    node: &Node,
) -> Result<Vec<Value>, PatchError> {
    let item_node = node.items.as_ref().map(Schema::node);
    let mut places = places(&before, Some(key));
    for change in changes {
        let value = change.get(key).ok_or_else(|| no_key(&change, key))?;
        let next = before.len();
        let place = *places.entry(Some(value.to_string())).or_insert(next);
        match before.get_mut(place) {
            Some(found) => {
                let original = found.as_object().cloned().unwrap_or_default();
                *found = Value::Object(merge_maps(original, change, item_node)?);
            }
            None => before.push(Value::Object(change)),
        }
    }
    Ok(before)
}

fn no_key(map: &Map<String, Value>, key: &str) -> PatchError {
    let map = Value::Object(map.clone());
    let map = go::Printed(&map);
    PatchError::Internal(format!(
        "map: {map} does not contain declared merge key: {key}"
    ))
}

/// The order of a merged list: items of the patch in the order of the patch, all others in the order of the live list.
/// The two are interleaved so that the order of the live list is kept where it had one.
pub(super) struct Order<'a> {
    pub(super) wanted: &'a [Value],
    pub(super) live: &'a [Value],
    pub(super) key: Option<&'a str>,
}

/// What tells an item of a list from others, as text: its key, or the whole item. `None` if it lacks the key.
fn identity(item: &Value, key: Option<&str>) -> Option<String> {
    match key {
        Some(key) => item.get(key).map(Value::to_string),
        None => Some(item.to_string()),
    }
}

/// Where each item of a list is for the first time.
fn places(list: &[Value], key: Option<&str>) -> HashMap<Option<String>, usize> {
    let mut places = HashMap::with_capacity(list.len());
    for (place, item) in list.iter().enumerate() {
        places.entry(identity(item, key)).or_insert(place);
    }
    places
}

impl Order<'_> {
    pub(super) fn arrange(&self, merged: Vec<Value>) -> Result<Vec<Value>, PatchError> {
        if let Some(key) = self.key {
            let mut all = merged.iter().chain(self.wanted);
            if let Some(map) = all.find(|v| v.get(key).is_none()) {
                let map = map.as_object().cloned().unwrap_or_default();
                return Err(no_key(&map, key));
            }
        }
        let wanted = places(self.wanted, self.key);
        let live = places(self.live, self.key);
        let (mut ours, mut others) = (Vec::new(), Vec::new());
        for item in merged {
            let identity = identity(&item, self.key);
            let there = live.get(&identity).copied();
            match wanted.get(&identity) {
                Some(place) => ours.push((*place, there, item)),
                None => others.push((there, item)),
            }
        }
        ours.sort_by_key(|(place, ..)| *place);
        others.sort_by_key(|(there, _)| there.unwrap_or(usize::MAX));
        let mut out = Vec::with_capacity(ours.len() + others.len());
        let mut others = others.into_iter().peekable();
        for (_, here, item) in ours {
            let is_before = |(there, _): &(Option<usize>, Value)| matches!((there, here), (Some(there), Some(here)) if *there < here);
            while let Some((_, other)) = others.next_if(is_before) {
                out.push(other);
            }
            out.push(item);
        }
        out.extend(others.map(|(_, other)| other));
        Ok(out)
    }
}

/// Checks that the items of a patch follow the order of its `$setElementOrder`.
///
/// # Errors
/// [`PatchError::Malformed`] if they do not.
pub(super) fn check_order(
    patch: &[Value],
    order: &[Value],
    key: Option<&str>,
) -> Result<(), PatchError> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut left = order.iter();
    for item in patch.iter().filter(|v| v.get("$patch").is_none()) {
        let same = |other: &Value| match key {
            Some(key) => item.get(key) == other.get(key),
            None => item == other,
        };
        if !left.any(same) {
            let (patch, order) = (Value::from(patch), Value::from(order));
            let (patch, order) = (go::Printed(&patch), go::Printed(&order));
            return Err(PatchError::Internal(format!(
                "The order in patch list:\n{patch}\n doesn't match $setElementOrder list:\n{order}\n"
            )));
        }
    }
    if let Some(key) = key
        && order.iter().any(|v| v.get(key).is_none())
    {
        return Err(malformed("invalid patch format of setElementOrder list"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::strategic_merge_patch;
    use super::*;
    use serde_json::json;

    fn schema() -> Schema {
        Schema::trusted(&json!({
            "type": "object",
            "properties": {"spec": {"type": "object", "properties": {
                "replicas": {"type": "integer"},
                "strategy": {
                    "type": "object", "x-kubernetes-patch-strategy": "retainKeys",
                    "properties": {"type": {"type": "string"}, "rollingUpdate": {"type": "object"}}
                },
                "args": {"type": "array", "items": {"type": "string"}},
                "finalizers": {"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"},
                "containers": {
                    "type": "array",
                    "x-kubernetes-patch-merge-key": "name",
                    "x-kubernetes-patch-strategy": "merge",
                    "items": {"type": "object", "properties": {
                        "name": {"type": "string"},
                        "image": {"type": "string"},
                        "env": {
                            "type": "array", "x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge",
                            "items": {"type": "object", "properties": {"name": {"type": "string"}, "value": {"type": "string"}}}
                        }
                    }}
                }
            }}}
        }))
    }

    #[test]
    fn fields_and_lists_are_merged_as_the_server_does() {
        let table = [
            (
                json!({"replicas": 1}),
                json!({"replicas": 2}),
                json!({"replicas": 2}),
            ),
            (json!({"replicas": 1}), json!({"replicas": null}), json!({})),
            (
                json!({"args": ["a"]}),
                json!({"args": ["b"]}),
                json!({"args": ["b"]}),
            ),
            (
                json!({"finalizers": ["a", "b"]}),
                json!({"finalizers": ["c", "a"]}),
                json!({"finalizers": ["c", "a", "b"]}),
            ),
            (
                json!({"finalizers": ["a", "b"]}),
                json!({"$deleteFromPrimitiveList/finalizers": ["a"]}),
                json!({"finalizers": ["b"]}),
            ),
            (
                json!({"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}),
                json!({"containers": [{"name": "b", "image": "2"}]}),
                json!({"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]}),
            ),
            (
                json!({"containers": [{"name": "a"}, {"name": "b"}]}),
                json!({"containers": [{"name": "a", "$patch": "delete"}]}),
                json!({"containers": [{"name": "b"}]}),
            ),
            (
                json!({"containers": [{"name": "a"}, {"name": "b"}]}),
                json!({"containers": [{"$patch": "replace"}, {"name": "c"}]}),
                json!({"containers": [{"name": "c"}]}),
            ),
            (
                json!({"containers": [{"name": "a", "env": [{"name": "x", "value": "1"}]}]}),
                json!({"containers": [{"name": "a", "env": [{"name": "y", "value": "2"}, {"name": "x", "value": null}]}]}),
                json!({"containers": [{"name": "a", "env": [{"name": "y", "value": "2"}, {"name": "x"}]}]}),
            ),
            (
                json!({"containers": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}),
                json!({"$setElementOrder/containers": [{"name": "c"}, {"name": "d"}, {"name": "a"}], "containers": [{"name": "d"}]}),
                json!({"containers": [{"name": "b"}, {"name": "c"}, {"name": "d"}, {"name": "a"}]}),
            ),
            (
                json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}),
                json!({"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}),
                json!({"strategy": {"type": "Recreate"}}),
            ),
            (
                json!({"strategy": {"type": "RollingUpdate"}}),
                json!({"strategy": {"$patch": "replace", "type": "Recreate"}}),
                json!({"strategy": {"type": "Recreate"}}),
            ),
            (
                json!({"strategy": {"type": "RollingUpdate"}}),
                json!({"strategy": {"$patch": "delete"}}),
                json!({"strategy": {}}),
            ),
            (
                json!({}),
                json!({"strategy": {"type": null, "rollingUpdate": {"$patch": "delete"}}, "containers": [{"name": "a"}]}),
                json!({"strategy": {}, "containers": [{"name": "a"}]}),
            ),
        ];
        for (before, patch, after) in table {
            let mut object = json!({"spec": before});
            strategic_merge_patch(&schema(), &mut object, &json!({"spec": patch}))
                .expect("must apply");
            assert_eq!(object, json!({"spec": after}), "{patch}");
        }
    }

    #[test]
    fn a_long_list_is_reordered_without_comparing_each_item_with_each() {
        const COUNT: usize = 20_000;
        let items = |names: &mut dyn Iterator<Item = usize>| -> Value {
            names
                .map(|number| json!({"name": format!("n{number}"), "image": "1"}))
                .collect()
        };
        let mut object = json!({"spec": {"containers": items(&mut (0..COUNT))}});
        let reversed = items(&mut (0..COUNT).rev());
        let patch =
            json!({"spec": {"containers": reversed, "$setElementOrder/containers": reversed}});
        let begun = std::time::Instant::now();
        strategic_merge_patch(&schema(), &mut object, &patch).expect("must apply");
        assert_eq!(object["spec"]["containers"], reversed);
        // It takes a tenth of that; with the square of comparisons it takes minutes.
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }

    #[test]
    fn metadata_is_merged_in_every_kind() {
        let mut object = json!({"metadata": {"finalizers": ["a"], "labels": {"a": "1"}}});
        let patch = json!({"metadata": {"finalizers": ["b"], "labels": {"b": "2"}}});
        strategic_merge_patch(&schema(), &mut object, &patch).expect("must apply");
        assert_eq!(object["metadata"]["labels"], json!({"a": "1", "b": "2"}));
        assert_eq!(object["metadata"]["finalizers"], json!(["b", "a"]));
    }

    #[test]
    fn contradictory_patches_are_refused() {
        let table = [
            (
                json!({"containers": [{"image": "x"}]}),
                500,
                "map: map[image:x] does not contain declared merge key: name",
            ),
            (
                json!({"strategy": {"$patch": "destroy"}}),
                500,
                "unknown patch type: destroy in map: map[$patch:destroy]",
            ),
            (
                json!({"strategy": {"$retainKeys": ["a"], "type": "x"}}),
                400,
                "invalid patch format of retainKeys",
            ),
            (
                json!({"$setElementOrder/containers": "x"}),
                400,
                "invalid patch format of setElementOrder list",
            ),
        ];
        for (patch, code, text) in table {
            let before = json!({"spec": {"containers": [{"name": "a"}], "strategy": {}}});
            let mut object = before.clone();
            let error = strategic_merge_patch(&schema(), &mut object, &json!({"spec": patch}))
                .expect_err("must fail");
            assert_eq!((error.code(), error.to_string().as_str()), (code, text));
            assert_eq!(object, before);
        }
    }
}
