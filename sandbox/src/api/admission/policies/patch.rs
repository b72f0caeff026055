use serde_json::Value;

use crate::api::admission::expressions::{BUDGET, Scope};
use crate::apply;
use crate::patch::{self, PatchError};
use crate::registry::ServedKind;
use crate::schema::{Returns, to_json};
use crate::stack;

/// An object after one mutation of a policy.
///
/// # Errors
/// The text of a real server if the expression fails, or if its result does not fit the object.
pub(super) fn patched(
    kind: &ServedKind,
    object: &Value,
    mutation: &Value,
    scope: &mut Scope<'_>,
) -> Result<Value, String> {
    let applies = mutation["patchType"] == "ApplyConfiguration";
    let (body, returns) = match applies {
        true => ("applyConfiguration", Returns::Object),
        false => ("jsonPatch", Returns::Patch),
    };
    let source = mutation[body]["expression"].as_str().unwrap_or_default();
    let result = scope.evaluate(source, returns, &mut BUDGET.clone());
    let result = to_json(&result.map_err(|failure| failure.to_string())?)?;
    match applies {
        true => {
            let mut configuration = result;
            for field in ["apiVersion", "kind"] {
                configuration[field] = object[field].clone();
            }
            apply::merge_unowned(&kind.structural(), object, &configuration)
                .map_err(|why| format!("error applying patch: {why}"))
        }
        false => by_json_patch(object, &result),
    }
}

fn by_json_patch(object: &Value, operations: &Value) -> Result<Value, String> {
    let mut patched = object.clone();
    match stack::large(|| patch::json_patch(&mut patched, operations)) {
        Ok(()) => Ok(patched),
        // A failed test says that the patch is not for this object.
        Err(PatchError::Unprocessable(why)) if why.starts_with("testing value") => {
            Ok(object.clone())
        }
        Err(why) => Err(format!("JSON Patch: {why}")),
    }
}
