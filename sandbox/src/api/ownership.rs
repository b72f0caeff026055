use serde_json::Value;

use super::{Target, WriteOptions, scale, strategy};
use crate::apply::{self, ApplyError, ApplyOptions};
use crate::builtin;
use crate::core::Core;
use crate::error::{ApiError, Cause};
use crate::meta;

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
        settings = settings.blank(builtin::blank_object(&target.kind));
    }
    let schema = target.kind.structural();
    if subresource != "scale" {
        return apply::update(&schema, live, new, &settings);
    }
    // A scale shows zero replicas where the object has no field.
    let mut seen = new.clone();
    if let Some(paths) = &target.kind.scale {
        scale::hide_zero(&mut seen, &paths.spec);
    }
    let owned = apply::update(&schema, live, seen, &settings);
    let mut new = new;
    meta::copy(&mut new, &owned, "managedFields");
    forget_scale_times(&mut new);
    new
}

/// Removes the times of managers that wrote through a scale. A real server loses them when it translates these entries.
fn forget_scale_times(object: &mut Value) {
    let managers = object
        .pointer_mut("/metadata/managedFields")
        .and_then(Value::as_array_mut);
    for manager in managers.into_iter().flatten() {
        if manager["subresource"] == "scale"
            && let Some(fields) = manager.as_object_mut()
        {
            fields.remove("time");
        }
    }
}

/// Applies a configuration to the live object and updates `managedFields`.
///
/// # Errors
/// 409 if others own fields with other values; 400 or 500 if the configuration is invalid.
pub(super) fn merge(
    core: &Core,
    target: &Target,
    subresource: &str,
    options: &WriteOptions,
    live: Option<&Value>,
    configuration: &Value,
) -> Result<Value, ApiError> {
    if let Some(live) = live {
        one_version(target, live)?;
    }
    let mut settings = settings(core, target, subresource, options).force(options.force);
    if !target.kind.is_custom() {
        settings = settings.blank(builtin::blank_object(&target.kind));
    }
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

/// Refuses an apply to a HorizontalPodAutoscaler whose fields have owners in its other version: they own other fields.
fn one_version(target: &Target, live: &Value) -> Result<(), ApiError> {
    let kind = &target.kind;
    if kind.is_custom() || kind.kind != "HorizontalPodAutoscaler" {
        return Ok(());
    }
    let managers = live
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array);
    let version = kind.api_version();
    let mut managers = managers.into_iter().flatten();
    match managers.any(|manager| manager["apiVersion"] != version) {
        true => Err(ApiError::not_implemented(
            "server-side apply of a HorizontalPodAutoscaler that was written in both of its versions",
        )),
        false => Ok(()),
    }
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
    .reset(strategy::reset_fields(&target.kind, subresource))
}
