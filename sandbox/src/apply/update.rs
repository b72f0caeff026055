use serde_json::Value;

use super::manager::{Manager, Operation};
use super::managers::{Managers, put, take};
use super::options::ApplyOptions;
use super::ownership::record_update;
use super::schema_change::reconcile;
use super::updater_limit::limit_updaters;
use super::versions::Versions;
use crate::schema::Schema;

/// Records who owns which field after a create, a replace or a patch. Returns the new object with its `managedFields`.
///
/// A client may send `managedFields` of its own. A valid list replaces the live one. An empty list (`[]` or `[{}]`)
/// removes all owners, and an object without owners is not tracked again before the next apply. On a subresource the
/// client's list is ignored.
pub fn update(
    schema: &Schema,
    live: Option<&Value>,
    mut new: Value,
    options: &ApplyOptions,
) -> Value {
    let versions = Versions::new(schema, options);
    let mut old = live.unwrap_or(&options.blank).clone();
    let before = take(&mut old).unwrap_or(Value::Null);
    let given = take(&mut new);
    let mut managers = owners(&before, given.as_ref(), options);
    if managers.is_empty() && live.is_some() {
        put(&mut new, &managers);
        return new;
    }
    reconcile(versions, &mut managers);
    let writer = Manager::new(
        &options.manager,
        Operation::Update,
        &options.api_version,
        options.subresource.as_deref(),
    );
    record_update(versions, &old, &new, &mut managers, &writer, options);
    limit_updaters(&mut managers);
    put(&mut new, &managers);
    new
}

/// The owners before the write: the client's list if it is usable, else the live one.
fn owners(before: &Value, given: Option<&Value>, options: &ApplyOptions) -> Managers {
    // A list that cannot be decoded counts as empty.
    let live = || Managers::from_json(before).unwrap_or_default();
    let Some(given) = given.filter(|_| options.subresource.is_none()) else {
        return live();
    };
    if is_reset(given) {
        return Managers::default();
    }
    match Managers::from_json(given) {
        Ok(managers) if !managers.is_empty() => managers,
        _ => live(),
    }
}

fn is_reset(given: &Value) -> bool {
    match given.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([Value::Object(only)]) => only.is_empty(),
        _ => false,
    }
}
