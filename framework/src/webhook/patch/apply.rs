use serde_json::Value;

use super::Operation;

/// Applies operations in their order, as an API server does.
///
/// # Errors
/// The path that does not exist.
pub(in crate::webhook) fn apply(object: &mut Value, patch: &[Operation]) -> Result<(), String> {
    patch.iter().try_for_each(|operation| {
        let (Operation::Add { path, .. }
        | Operation::Replace { path, .. }
        | Operation::Remove { path }) = operation;
        apply_one(object, path, operation).ok_or_else(|| path.clone())
    })
}

fn apply_one(object: &mut Value, path: &str, operation: &Operation) -> Option<()> {
    let (parent, last) = path.rsplit_once('/')?;
    let last = last.replace("~1", "/").replace("~0", "~");
    let parent = object.pointer_mut(parent)?;
    match (parent, operation) {
        (Value::Object(members), Operation::Add { value, .. }) => {
            members.insert(last, value.clone());
        }
        (Value::Object(members), Operation::Replace { value, .. }) => {
            value.clone_into(members.get_mut(&last)?);
        }
        (Value::Object(members), Operation::Remove { .. }) => {
            members.remove(&last)?;
        }
        (Value::Array(items), operation) => {
            let place: usize = last.parse().ok()?;
            match operation {
                Operation::Add { value, .. } if place <= items.len() => {
                    items.insert(place, value.clone());
                }
                Operation::Replace { value, .. } => value.clone_into(items.get_mut(place)?),
                Operation::Remove { .. } if place < items.len() => {
                    items.remove(place);
                }
                _ => return None,
            }
        }
        _ => return None,
    }
    Some(())
}
