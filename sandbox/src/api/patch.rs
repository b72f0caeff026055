use serde_json::Value;

use super::decode::{Undecodable, decode, unknown};
use super::identity::place;
use super::update::Change;
use super::{Target, WriteOptions, Written, create, ownership, update};
use crate::apply;
use crate::builtin;
use crate::core::Core;
use crate::error::{ApiError, Cause};
use crate::go;
use crate::meta;

/// Applies a configuration to an object or to one of its subresources. Creates the object if it does not exist.
///
/// # Errors
/// 400; 404 for a subresource of an object that does not exist; 409; 422.
pub(crate) async fn apply(
    core: &Core,
    target: &Target,
    name: &str,
    subresource: &str,
    mut configuration: Value,
    options: &WriteOptions,
) -> Result<Written, ApiError> {
    let named = configuration.pointer("/metadata/namespace").is_some();
    let nameless = meta::name(&configuration).is_empty();
    is_of_kind(target, &configuration)?;
    place(target, &mut configuration, Some(name))?;
    if !named && let Some(metadata) = configuration.get_mut("metadata") {
        // Errors show the namespace of the configuration, not the namespace of the path.
        metadata
            .as_object_mut()
            .map(|fields| fields.remove("namespace"));
    }
    loop {
        let missing = core
            .store
            .get(&target.storage(), &target.key(name))
            .is_none();
        if !missing || !subresource.is_empty() {
            return update(core, target, name, subresource, options, |current| {
                ownership::merge(
                    core,
                    target,
                    subresource,
                    options,
                    Some(current),
                    &configuration,
                )
                .map(Change::Owned)
            })
            .await;
        }
        if nameless {
            return Err(ApiError::bad_request(format!(
                "the name of the object ({name} based on URL) was undeterminable: name must be provided"
            )));
        }
        let uid = meta::uid(&configuration);
        if !uid.is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(ApiError::conflict(&target.resource(), name, &why));
        }
        let object = ownership::merge(core, target, "", options, None, &configuration)?;
        match create(core, target, object, options, true).await {
            // Another client created the object meanwhile: apply to its state.
            Err(error) if error.reason == "AlreadyExists" && !options.dry_run => {}
            other => return other,
        }
    }
}

/// # Errors
/// 400 if the configuration has another kind or version.
fn is_of_kind(target: &Target, configuration: &Value) -> Result<(), ApiError> {
    let text = |field: &str| {
        let value = configuration.get(field).and_then(Value::as_str);
        value.unwrap_or_default()
    };
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if api_version == target.kind.api_version() && kind == target.kind.kind {
        return Ok(());
    }
    let api_version = apply::full_version(api_version);
    Err(ApiError::bad_request(format!(
        "invalid object type: {api_version}, Kind={kind}"
    )))
}

/// What an error shows when the result of a patch cannot be decoded.
#[derive(Clone, Copy)]
pub(crate) enum Patched<'a> {
    /// The result.
    Result,
    /// The patch itself.
    Patch(&'a Value),
}

/// Changes an object or one of its subresources with a function of its current state.
///
/// # Errors
/// 404, 409, 422, and the errors of the function.
pub(crate) async fn patch(
    core: &Core,
    target: &Target,
    name: &str,
    subresource: &str,
    options: &WriteOptions,
    shown: Patched<'_>,
    mut change: impl FnMut(&mut Value) -> Result<(), ApiError>,
) -> Result<Written, ApiError> {
    update(core, target, name, subresource, options, |current| {
        let mut new = current.clone();
        change(&mut new)?;
        let text = match shown {
            Patched::Result => new.to_string(),
            Patched::Patch(patch) => go::Printed(patch).to_string(),
        };
        let decoded = typed(target, &new, &text).and_then(|unknown_fields| match unknown_fields {
            Some(fields) => unknown(fields, options),
            None => decode(target, &mut new, options),
        });
        let warnings = decoded.map_err(|wrong| {
            let detail = match shown {
                Patched::Result => wrong.text,
                Patched::Patch(_) => wrong.of_map,
            };
            let cause = Cause::invalid("patch", &text.into(), &detail);
            ApiError::invalid_kind("", "", "", vec![cause])
        })?;
        place(target, &mut new, Some(name))?;
        Ok(Change::Patched(new, warnings))
    })
    .await
}

/// Checks that the result of a patch has a kind and version. For a custom object of another version, whose schema is
/// not known, returns the fields that are dropped because of that.
fn typed(target: &Target, object: &Value, text: &str) -> Result<Option<Vec<String>>, Undecodable> {
    let kind = &target.kind;
    let field = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api_version, name) = (field("apiVersion"), field("kind"));
    let expected = kind.api_version();
    if !kind.is_custom() {
        if api_version == expected && name == kind.kind {
            return Ok(None);
        }
        let package = |group: &str| match group.split('.').next() {
            Some("") | None => "core".to_owned(),
            Some(first) => first.to_owned(),
        };
        let known = builtin::kinds();
        let known = known
            .iter()
            .find(|known| known.api_version() == api_version && known.kind == name);
        return Err(match known {
            Some(found) => format!(
                "converting ({}.{}) to ({}.{}): unknown conversion",
                found.version,
                found.kind,
                package(&kind.group),
                kind.kind
            ),
            None => format!(
                "no kind {name:?} is registered for version {api_version:?} in scheme \"pkg/api/legacyscheme/scheme.go:30\""
            ),
        }
        .into());
    }
    for (field, title) in [(name, "Kind"), (api_version, "apiVersion")] {
        if field.is_empty() {
            return Err(format!("Object '{title}' is missing in '{text}'").into());
        }
    }
    let same_group = api_version
        .split_once('/')
        .is_some_and(|(group, _)| group == kind.group);
    if api_version == expected || !same_group || name != kind.kind {
        return Ok(None);
    }
    let fields = object
        .as_object()
        .into_iter()
        .flat_map(|fields| fields.keys());
    let known = ["apiVersion", "kind", "metadata"];
    Ok(Some(
        fields
            .filter(|name| !known.contains(&name.as_str()))
            .cloned()
            .collect(),
    ))
}
