use serde_json::Value;

use super::{ApiError, Cause, Target, WriteOptions};
use crate::apply::{self, ApplyError, ApplyOptions};
use crate::builtin;
use crate::core::Core;

/// Records in `managedFields` what a create, update or patch changed.
pub(super) fn record(
    core: &Core,
    target: &Target,
    subresource: &str,
    options: &WriteOptions,
    live: Option<&Value>,
    new: Value,
) -> Value {
    let mut settings = settings(core, target, subresource, options);
    if live.is_none() && !target.kind.is_custom() {
        settings = settings.blank(builtin::blank_object(&target.kind.kind));
    }
    apply::update(&target.kind.structural(), live, new, &settings)
}

/// The live object with a configuration applied, `managedFields` included.
///
/// # Errors
/// 409 if others own fields with other values, 400 and 500 for configurations that are none.
pub(super) fn merge(
    core: &Core,
    target: &Target,
    subresource: &str,
    options: &WriteOptions,
    live: Option<&Value>,
    configuration: &Value,
) -> Result<Value, ApiError> {
    let settings = settings(core, target, subresource, options).force(options.force);
    let applied = apply::apply(&target.kind.structural(), live, configuration, &settings);
    applied
        .map(|applied| applied.object)
        .map_err(|error| match error {
            ApplyError::Conflicts(conflicts) => {
                let causes = conflicts.iter().map(|conflict| {
                    Cause::field("FieldManagerConflict", conflict.field(), conflict.message())
                });
                ApiError::apply_conflict(conflicts.to_string(), causes.collect())
            }
            ApplyError::BadRequest(message) => ApiError::bad_request(message),
            ApplyError::Untyped(message) => ApiError::new(500, "", message),
        })
}

fn settings(
    core: &Core,
    target: &Target,
    subresource: &str,
    options: &WriteOptions,
) -> ApplyOptions {
    ApplyOptions::new(
        &*options.manager,
        target.kind.api_version(),
        core.clock.now(),
    )
    .subresource(Some(subresource).filter(|name| !name.is_empty()))
    .has_status(target.kind.status)
}
