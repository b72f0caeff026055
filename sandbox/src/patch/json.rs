use json_patch::{Patch, PatchErrorKind, PatchOperation};
use serde_json::Value;

use super::PatchError;
use crate::depth;

/// The most operations one patch may have.
const MAX_OPERATIONS: usize = 10_000;

/// What all copies of one patch may add, in bytes.
const MAX_COPIED: usize = 3 * 1024 * 1024;

/// Applies a JSON Patch (RFC 6902): a list of operations, all or none.
pub fn json_patch(object: &mut Value, patch: &Value) -> Result<(), PatchError> {
    let Patch(operations) = serde_json::from_value(patch.clone())
        .map_err(|e| PatchError::Malformed(format!("error decoding patch: {e}")))?;
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::TooLarge(format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        )));
    }
    let mut patched = object.clone();
    let mut copied = 0;
    for operation in &operations {
        bounded(&patched, operation, &mut copied)?;
        json_patch::patch(&mut patched, std::slice::from_ref(operation))
            .map_err(|error| PatchError::Unprocessable(explain(operation, &error.kind)))?;
    }
    *object = patched;
    Ok(())
}

/// Checks before an operation that it makes nothing too deep or too large: a few copies of copies would.
fn bounded(
    object: &Value,
    operation: &PatchOperation,
    copied: &mut usize,
) -> Result<(), PatchError> {
    let value = match operation {
        PatchOperation::Add(add) => Some(&add.value),
        PatchOperation::Replace(replace) => Some(&replace.value),
        PatchOperation::Move(moving) => object.pointer(moving.from.as_str()),
        PatchOperation::Copy(copy) => object.pointer(copy.from.as_str()),
        PatchOperation::Remove(_) | PatchOperation::Test(_) => None,
    };
    let Some(value) = value else { return Ok(()) };
    let above = operation.path().tokens().count();
    if !(depth::LIMIT.checked_sub(above)).is_some_and(|left| depth::within(value, left)) {
        return Err(PatchError::Unprocessable(format!(
            "{} operation does not apply: it nests deeper than {} levels",
            name(operation),
            depth::LIMIT
        )));
    }
    if matches!(operation, PatchOperation::Copy(_)) {
        *copied += value.to_string().len();
        if *copied > MAX_COPIED {
            return Err(PatchError::TooLarge(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit {MAX_COPIED}"
            )));
        }
    }
    Ok(())
}

fn explain(operation: &PatchOperation, kind: &PatchErrorKind) -> String {
    let (name, path) = (name(operation), operation.path().to_string());
    match kind {
        PatchErrorKind::TestFailed => format!("testing value {path} failed: test failed"),
        PatchErrorKind::InvalidFromPointer => {
            format!("{name} operation does not apply: doc is missing from path: missing value")
        }
        PatchErrorKind::InvalidPointer => {
            format!("{name} operation does not apply: doc is missing path: {path:?}: missing value")
        }
        other => format!("{name} operation does not apply: {other}"),
    }
}

fn name(operation: &PatchOperation) -> &'static str {
    match operation {
        PatchOperation::Add(_) => "add",
        PatchOperation::Remove(_) => "remove",
        PatchOperation::Replace(_) => "replace",
        PatchOperation::Move(_) => "move",
        PatchOperation::Copy(_) => "copy",
        PatchOperation::Test(_) => "test",
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
                json!([{"op": "remove", "path": "/spec/replicas"}, {"op": "test", "path": "/spec", "value": 1}]),
                Err((422, "testing value /spec failed: test failed")),
            ),
            (
                json!([{"op": "remove", "path": "/spec/x"}]),
                Err((
                    422,
                    "remove operation does not apply: doc is missing path: \"/spec/x\": missing value",
                )),
            ),
            (
                json!([{"op": "add", "path": "/a/b", "value": 1}]),
                Err((
                    422,
                    "add operation does not apply: doc is missing path: \"/a/b\": missing value",
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
        let mut object = json!({});
        let error = json_patch(&mut object, &json!({"op": "add"})).expect_err("must fail");
        assert_eq!(error.code(), 400);
    }

    #[test]
    fn copies_of_copies_stay_small_and_shallow() {
        let deeper = json!([{"op": "copy", "from": "/a", "path": "/a/a"}]);
        let mut object = json!({"a": {}});
        let failed = (0..200).find_map(|_| json_patch(&mut object, &deeper).err());
        assert_eq!(failed.map(|error| error.code()), Some(422));
        assert!(depth::within(&object, depth::LIMIT));
        let add = json!({"op": "add", "path": "/a", "value": ["x".repeat(1024)]});
        let doubled = json!({"op": "copy", "from": "/a", "path": "/a/-"});
        let mut operations = vec![add];
        operations.extend(vec![doubled; 40]);
        let error = json_patch(&mut json!({}), &operations.into()).expect_err("must fail");
        assert_eq!(error.code(), 413);
    }
}
