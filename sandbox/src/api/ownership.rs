use serde_json::Value;

use super::{Target, WriteOptions, scale, strategy};
use crate::apply::{self, ApplyError, ApplyOptions, OtherVersion};
use crate::builtin::{self, autoscaler_from_stored, autoscaler_to_stored};
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

/// The version of a HorizontalPodAutoscaler that the request does not use. The two have other fields.
fn other_version(core: &Core, target: &Target) -> Option<OtherVersion> {
    let kind = &target.kind;
    if kind.is_custom() || kind.kind != "HorizontalPodAutoscaler" {
        return None;
    }
    let (version, [convert, convert_back]) = match kind.version.as_str() {
        "v1" => ("v2", [autoscaler_to_stored, autoscaler_from_stored]),
        _ => ("v1", [autoscaler_from_stored, autoscaler_to_stored]),
    };
    let registry = core.registry();
    let other = registry.find(&kind.group, version, &kind.plural)?;
    Some(OtherVersion {
        api_version: other.api_version(),
        schema: other.structural(),
        convert,
        convert_back,
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
    .reset(strategy::reset_fields(&target.kind, subresource))
    .other_version(other_version(core, target))
}
