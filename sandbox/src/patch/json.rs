use serde_json::{Map, Value};

use super::PatchError;
use crate::{depth, go};

/// The most operations in one patch.
const MAX_OPERATIONS: usize = 10_000;

/// The most bytes that all copies of one patch may add.
const MAX_COPIED: usize = 3 * 1024 * 1024;

/// Applies a JSON Patch: a list of operations, all or none.
///
/// As on a real server this is a lenient RFC 6902: a missing field can be replaced and equals null, and `-1` is the
/// last item of a list.
///
/// # Errors
/// `PatchError` if the patch is not a list of operations, an operation does not apply, there are too many operations, or copies are too large.
pub fn json_patch(object: &mut Value, patch: &Value) -> Result<(), PatchError> {
    let operations = operations(patch)?;
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::TooLarge(format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        )));
    }
    let mut patched = object.clone();
    let mut copied = 0;
    for operation in operations {
        apply(&mut patched, operation, &mut copied)?;
    }
    *object = patched;
    Ok(())
}

fn operations(patch: &Value) -> Result<Vec<&Map<String, Value>>, PatchError> {
    let wrong = |value: &Value, into: &str| {
        let kind = go::json_kind(value);
        PatchError::Malformed(format!(
            "error decoding patch: json: cannot unmarshal {kind} into Go {into}"
        ))
    };
    let items = match patch {
        Value::Null => return Ok(Vec::new()),
        Value::Array(items) => items,
        other => return Err(wrong(other, "value of type []handlers.jsonPatchOp")),
    };
    let mut operations = Vec::new();
    for item in items {
        let Value::Object(operation) = item else {
            return Err(wrong(item, "value of type handlers.jsonPatchOp"));
        };
        for field in ["op", "path", "from"] {
            match operation.get(field) {
                None | Some(Value::Null | Value::String(_)) => {}
                Some(other) => {
                    let into = format!("struct field jsonPatchOp.{field} of type string");
                    return Err(wrong(other, &into));
                }
            }
        }
        operations.push(operation);
    }
    Ok(operations)
}

fn misfit(text: String) -> PatchError {
    PatchError::Unprocessable(text)
}

fn apply(
    object: &mut Value,
    operation: &Map<String, Value>,
    copied: &mut usize,
) -> Result<(), PatchError> {
    let name = operation.get("op").and_then(Value::as_str);
    let name = name.unwrap_or("unknown");
    let pointer = |field: &str| {
        let text = operation.get(field).and_then(Value::as_str);
        text.ok_or_else(|| misfit(format!("{name} operation, missing {field} field")))
    };
    let value = || operation.get("value").cloned().unwrap_or_default();
    match name {
        "add" => PatchTarget::find(object, pointer("path")?, name)?.add(value()),
        "remove" => PatchTarget::find(object, pointer("path")?, name)?
            .remove()
            .map(drop),
        "replace" => match pointer("path")? {
            "" if matches!(value(), Value::Object(_) | Value::Array(_)) => {
                *object = value();
                Ok(())
            }
            path => PatchTarget::find(object, path, name)?.replace(value()),
        },
        "move" => {
            let moved = PatchTarget::find(object, pointer("from")?, name)?.remove()?;
            PatchTarget::find(object, pointer("path")?, name)?.add(moved)
        }
        "copy" => {
            let place = PatchTarget::find(object, pointer("from")?, name)?;
            let copy = place.get()?.cloned().unwrap_or_default();
            *copied += copy.to_string().len();
            if *copied > MAX_COPIED {
                return Err(misfit(format!(
                    "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit \
                     {MAX_COPIED}"
                )));
            }
            PatchTarget::find(object, pointer("path")?, name)?.add(copy)
        }
        "test" => {
            let path = pointer("path")?;
            let found = match path {
                "" => object.clone(),
                path => {
                    let place = PatchTarget::find(object, path, name)?;
                    place.get()?.cloned().unwrap_or_default()
                }
            };
            if found == value() {
                Ok(())
            } else {
                Err(misfit(format!("testing value {path} failed: test failed")))
            }
        }
        other => Err(misfit(format!("Unexpected kind: {other}"))),
    }
}

/// The target of an operation: a field of an object or an item of a list.
struct PatchTarget<'a> {
    container: &'a mut Value,
    key: String,
    /// The number of containers around it.
    depth: usize,
    /// The path for messages.
    path: &'a str,
    operation: &'a str,
}

impl<'a> PatchTarget<'a> {
    fn find(object: &'a mut Value, path: &'a str, operation: &'a str) -> Result<Self, PatchError> {
        let missing = || {
            misfit(format!(
                "{operation} operation does not apply: doc is missing path: {path:?}: missing value"
            ))
        };
        let decode = |part: &str| part.replace("~1", "/").replace("~0", "~");
        let mut parts: Vec<String> = path.split('/').skip(1).map(decode).collect();
        let key = parts.pop().ok_or_else(missing)?;
        let depth = parts.len();
        let mut container = object;
        for part in parts {
            let next = match container {
                Value::Object(fields) => fields.get_mut(&part),
                Value::Array(items) => {
                    let index = index(&part, items.len());
                    index.and_then(|index| items.get_mut(index))
                }
                _ => None,
            };
            container = next.ok_or_else(missing)?;
        }
        if !matches!(container, Value::Object(_) | Value::Array(_)) {
            return Err(missing());
        }
        Ok(Self {
            container,
            key,
            depth: depth + 1,
            path,
            operation,
        })
    }

    fn out_of_range(&self) -> PatchError {
        let Self {
            operation,
            path,
            key,
            ..
        } = self;
        misfit(format!(
            "error in {operation} for path: '{path}': Unable to access invalid index: {key}"
        ))
    }

    /// The index of the item that the key names, in a list of `length` items.
    fn item(&self, length: usize) -> Result<usize, PatchError> {
        index(&self.key, length)
            .filter(|index| *index < length)
            .ok_or_else(|| self.out_of_range())
    }

    fn get(&self) -> Result<Option<&Value>, PatchError> {
        match &*self.container {
            Value::Array(items) => {
                let index = self.item(items.len())?;
                Ok(items.get(index))
            }
            other => Ok(other.get(&self.key)),
        }
    }

    fn replace(self, value: Value) -> Result<(), PatchError> {
        self.check_depth(&value)?;
        if let Value::Array(items) = &*self.container {
            let index = self.item(items.len())?;
            if let Some(item) = self.container.get_mut(index) {
                *item = value;
            }
            return Ok(());
        }
        self.set(value)
    }

    fn add(self, value: Value) -> Result<(), PatchError> {
        self.check_depth(&value)?;
        let length = match &*self.container {
            Value::Array(items) => items.len(),
            _ => return self.set(value),
        };
        let index = match self.key.as_str() {
            "-" => length,
            // An insertion has one more position than the list has items.
            _ => self.item(length + 1)?,
        };
        if let Value::Array(items) = self.container {
            items.insert(index, value);
        }
        Ok(())
    }

    fn set(self, value: Value) -> Result<(), PatchError> {
        if let Value::Object(fields) = self.container {
            fields.insert(self.key, value);
        }
        Ok(())
    }

    fn remove(self) -> Result<Value, PatchError> {
        if let Value::Array(items) = &*self.container {
            let index = self.item(items.len())?;
            return match self.container {
                Value::Array(items) => Ok(items.remove(index)),
                _ => Ok(Value::Null),
            };
        }
        let removed = self
            .container
            .as_object_mut()
            .and_then(|fields| fields.remove(&self.key));
        removed.ok_or_else(|| {
            misfit(format!(
                "error in {} for path: '{}': Unable to remove nonexistent key: {}: missing value",
                self.operation, self.path, self.key
            ))
        })
    }

    /// Refuses a value that is too deep: a few copies of copies would exceed every stack.
    fn check_depth(&self, value: &Value) -> Result<(), PatchError> {
        let left = depth::LIMIT.checked_sub(self.depth);
        if left.is_some_and(|left| depth::within(value, left)) {
            return Ok(());
        }
        Err(misfit(format!(
            "{} operation does not apply: it nests deeper than {} levels",
            self.operation,
            depth::LIMIT
        )))
    }
}

/// An index into a list of this length. A negative one counts from the end. It may be beyond the end.
fn index(key: &str, length: usize) -> Option<usize> {
    let index: isize = key.parse().ok()?;
    match usize::try_from(index) {
        Ok(index) => Some(index),
        Err(_) => length.checked_sub(index.unsigned_abs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn operations_apply_all_or_none() {
        let table = [
            (
                json!([{"op": "replace", "path": "/spec/replicas", "value": 2}]),
                Ok(json!({"spec": {"replicas": 2}})),
            ),
            (
                json!([{"op": "test", "path": "/spec/replicas", "value": 1}, {"op": "add", "path": "/spec/a", "value": []}, {"op": "add", "path": "/spec/a/-", "value": 1}]),
                Ok(json!({"spec": {"replicas": 1, "a": [1]}})),
            ),
            (
                json!([{"op": "replace", "path": "/spec/absent", "value": 1}]),
                Ok(json!({"spec": {"replicas": 1, "absent": 1}})),
            ),
            (
                json!([{"op": "test", "path": "/spec/absent", "value": null}]),
                Ok(json!({"spec": {"replicas": 1}})),
            ),
            (
                json!([{"op": "add", "path": "/a", "value": [1, 2]}, {"op": "replace", "path": "/a/-1", "value": 3}, {"op": "move", "from": "/a/0", "path": "/a/1"}, {"op": "copy", "from": "/a/0", "path": "/b~1c"}, {"op": "remove", "path": "/a/1"}]),
                Ok(json!({"spec": {"replicas": 1}, "a": [3], "b/c": 3})),
            ),
            (
                json!([{"op": "remove", "path": "/spec/replicas"}, {"op": "test", "path": "/spec", "value": 1}]),
                Err((422, "testing value /spec failed: test failed")),
            ),
            (
                json!([{"op": "remove", "path": "/spec/x"}]),
                Err((
                    422,
                    "error in remove for path: '/spec/x': Unable to remove nonexistent key: x: missing value",
                )),
            ),
            (
                json!([{"op": "add", "path": "/a/b", "value": 1}]),
                Err((
                    422,
                    "add operation does not apply: doc is missing path: \"/a/b\": missing value",
                )),
            ),
            (
                json!([{"op": "add", "path": "/a", "value": [1]}, {"op": "add", "path": "/a/2", "value": 1}]),
                Err((
                    422,
                    "error in add for path: '/a/2': Unable to access invalid index: 2",
                )),
            ),
            (
                json!([{"op": "explode"}]),
                Err((422, "Unexpected kind: explode")),
            ),
            (
                json!([{"op": "remove"}]),
                Err((422, "remove operation, missing path field")),
            ),
            (
                json!({"op": "add"}),
                Err((
                    400,
                    "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
                )),
            ),
            (
                json!([{"op": 1}]),
                Err((
                    400,
                    "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
                )),
            ),
        ];
        for (patch, expected) in table {
            let before = json!({"spec": {"replicas": 1}});
            let mut object = before.clone();
            let result = json_patch(&mut object, &patch);
            match expected {
                Ok(after) => assert_eq!((result, object), (Ok(()), after), "{patch}"),
                Err((code, text)) => {
                    let error = result.expect_err("must fail");
                    assert_eq!((error.code(), error.to_string().as_str()), (code, text));
                    assert_eq!(object, before);
                }
            }
        }
    }

    #[test]
    fn copies_of_copies_stay_small_and_shallow() {
        let deeper = json!([{"op": "copy", "from": "/a", "path": "/a/a"}]);
        let mut object = json!({"a": {}});
        crate::stack::large(|| {
            for _ in 0..depth::LIMIT - 10 {
                object = Value::Object([("a".to_owned(), object)].into_iter().collect());
            }
            let failed = (0..20).find_map(|_| json_patch(&mut object, &deeper).err());
            assert_eq!(failed.map(|error| error.code()), Some(422));
            assert!(depth::within(&object, depth::LIMIT));
            drop(object);
        });
        let add = json!({"op": "add", "path": "/a", "value": ["x".repeat(1024)]});
        let doubled = json!({"op": "copy", "from": "/a", "path": "/a/-"});
        let mut operations = vec![add];
        operations.extend(vec![doubled; 40]);
        let error = json_patch(&mut json!({}), &operations.into()).expect_err("must fail");
        assert_eq!(error.code(), 422);
    }
}
