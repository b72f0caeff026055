use json_patch::{Patch, PatchErrorKind, PatchOperation};
use serde_json::Value;

use super::PatchError;

/// The most operations one patch may have.
const MAX_OPERATIONS: usize = 10_000;

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
    json_patch::patch(object, &operations).map_err(|error| {
        let operation = operations.get(error.operation);
        let path = operation.map(|o| o.path().to_string()).unwrap_or_default();
        let name = operation.map_or("patch", name);
        PatchError::Unprocessable(match error.kind {
            PatchErrorKind::TestFailed => format!("testing value {path} failed: test failed"),
            PatchErrorKind::InvalidFromPointer => {
                format!("{name} operation does not apply: doc is missing from path: missing value")
            }
            PatchErrorKind::InvalidPointer => format!(
                "{name} operation does not apply: doc is missing path: {path:?}: missing value"
            ),
            other => format!("{name} operation does not apply: {other}"),
        })
    })
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
}
