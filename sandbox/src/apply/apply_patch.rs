use serde_json::{Map, Value};

use super::check::check;
use super::conflict::ApplyError;
use super::fields::fields_of;
use super::last_applied;
use super::manager::{Manager, Operation};
use super::managers::{Entry, Managers, put, take};
use super::merge::merge;
use super::options::ApplyOptions;
use super::ownership::{pruned, record_update, take_from_others};
use super::reset::{Endpoint, without_identity};
use super::schema_change::reconcile;
use super::value_order::equal;
use super::versions::Versions;
use crate::schema::Schema;

/// The manager of the fields that had no manager before the first apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// The result of an apply.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Applied {
    /// The object to store, with `metadata.managedFields` and without defaults.
    pub object: Value,
    /// Whether anything but `managedFields` changed.
    pub changed: bool,
}

/// Applies a configuration to the live object, or creates the object if `live` is `None`.
///
/// A configuration that equals the live object changes only ownership, and changes nothing when it is applied again.
/// The identity of the object (`metadata.name` and the like) is merged from the patch: the caller must check it against
/// the request.
///
/// # Errors
/// `ApplyError`: a conflict with another manager, a wrong request, or a configuration that does not fit the schema.
pub fn apply(
    schema: &Schema,
    live: Option<&Value>,
    patch: &Value,
    options: &ApplyOptions,
) -> Result<Applied, ApplyError> {
    check_request(patch, options)?;
    let versions = Versions::new(schema, options);
    let typed = versions.own;
    check(typed, patch).map_err(|text| {
        let what = describe(patch, &options.api_version);
        ApplyError::Untyped(format!(
            "failed to create typed patch object ({what}): {text}"
        ))
    })?;
    let mut live_object = live.cloned().unwrap_or_else(|| Value::Object(Map::new()));
    let managed = take(&mut live_object).unwrap_or(Value::Null);
    let mut managers = Managers::from_json(&managed)
        .map_err(|e| ApplyError::Untyped(format!("failed to decode managed fields: {e}")))?;
    reconcile(versions, &mut managers);
    if managers.is_empty() {
        manage_unowned_fields(versions, &live_object, &mut managers, options);
    }
    let force = options.force;
    let result = match merge_in(
        versions,
        &live_object,
        patch,
        managers.clone(),
        options,
        force,
    ) {
        Err(ApplyError::Conflicts(conflicts)) if options.manager == last_applied::MANAGER => {
            let allowed =
                last_applied::client_side_fields(typed, &live_object, &options.api_version);
            let left = last_applied::remove_allowed(conflicts, allowed);
            match left {
                Some(conflicts) => Err(ApplyError::Conflicts(conflicts)),
                None => merge_in(versions, &live_object, patch, managers, options, true),
            }
        }
        other => other,
    };
    let (mut object, managers, mut changed) = result?;
    if options.manager == last_applied::MANAGER {
        last_applied::update_annotation(&mut object, patch);
        // The annotation of the patch may have been the only difference.
        changed &= !equal(&live_object, &object);
    }
    put(&mut object, &managers);
    Ok(Applied { object, changed })
}

fn check_request(patch: &Value, options: &ApplyOptions) -> Result<(), ApplyError> {
    let version = patch.get("apiVersion").and_then(Value::as_str);
    if version != Some(options.api_version.as_str()) {
        return Err(ApplyError::BadRequest(format!(
            "Incorrect version specified in apply patch. Specified patch version: {}, expected: {}",
            version.unwrap_or_default(),
            options.api_version
        )));
    }
    let managed = patch.pointer("/metadata/managedFields");
    if managed.is_some_and(|m| !m.is_null()) {
        let text = "metadata.managedFields must be nil";
        return Err(ApplyError::BadRequest(text.into()));
    }
    Ok(())
}

/// A version with its group, also if the group is empty: `/v1`.
pub(crate) fn full_version(api_version: &str) -> String {
    if api_version.contains('/') {
        api_version.into()
    } else {
        format!("/{api_version}")
    }
}

/// `namespace/name; group/version, Kind=Kind`.
fn describe(object: &Value, api_version: &str) -> String {
    let text = |path: &str| {
        let value = object.pointer(path).and_then(Value::as_str);
        value.unwrap_or_default().to_owned()
    };
    format!(
        "{}/{}; {}, Kind={}",
        text("/metadata/namespace"),
        text("/metadata/name"),
        full_version(api_version),
        text("/kind")
    )
}

/// Before the first apply, gives the fields that have no manager to a manager of their own, so that the applier does
/// not silently take them over.
fn manage_unowned_fields(
    versions: Versions<'_>,
    live: &Value,
    managers: &mut Managers,
    options: &ApplyOptions,
) {
    let writer = Manager::new(
        BEFORE_FIRST_APPLY,
        Operation::Update,
        &options.api_version,
        options.subresource.as_deref(),
    );
    record_update(versions, &options.blank, live, managers, &writer, options);
}

fn merge_in(
    versions: Versions<'_>,
    live: &Value,
    patch: &Value,
    mut managers: Managers,
    options: &ApplyOptions,
    force: bool,
) -> Result<(Value, Managers, bool), ApplyError> {
    let typed = versions.own;
    let endpoint = Endpoint::of(options);
    let writer = Manager::new(
        &options.manager,
        Operation::Apply,
        &options.api_version,
        options.subresource.as_deref(),
    );
    let mut config = patch.clone();
    take(&mut config);
    let mut object = merge(typed, Some(live), Some(&config));
    let fields = endpoint.filter(&fields_of(typed, &config));
    let before = managers.entries().get(&writer).cloned().unwrap_or_default();
    managers.entries_mut().insert(
        writer.clone(),
        Entry {
            fields: fields.clone(),
            api_version: options.api_version.clone(),
            time: before.time.clone(),
        },
    );
    if !before.fields.is_empty()
        && let Some(pruned) = pruned(versions, &object, &before, &managers)
    {
        object = match versions.is_other(&before) {
            true => pruned,
            // The pruning also removes a map that lost all its fields. A map that was applied empty must stay.
            false => merge(typed, Some(&pruned), Some(&config)),
        };
    }
    take_from_others(
        versions,
        live,
        &object,
        &mut managers,
        Some(&writer),
        &endpoint,
        force,
    )
    .map_err(ApplyError::Conflicts)?;
    let changed = !equal(live, &object);
    let entries = managers.entries_mut();
    if let Some(entry) = entries.get_mut(&writer) {
        entry.fields = without_identity(&fields);
        if changed {
            entry.time = Some(options.time_text());
        }
    }
    managers.drop_empty();
    Ok((object, managers, changed))
}
