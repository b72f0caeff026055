use serde_json::Value;

use super::update::Change;
use super::{ApiError, Target, WriteOptions, Written, create, identify, meta, ownership, update};
use crate::core::Core;

/// Applies a configuration to an object or to a subresource of it; creates the object if there is none.
///
/// # Errors
/// 400, 404 for a subresource of nothing, 409, 422.
pub(crate) fn apply(
    core: &Core,
    target: &Target,
    name: &str,
    subresource: &str,
    mut configuration: Value,
    options: &WriteOptions,
) -> Result<Written, ApiError> {
    let named = configuration.pointer("/metadata/namespace").is_some();
    let nameless = meta::name(&configuration).is_empty();
    identify(target, &mut configuration, Some(name))?;
    if !named && let Some(metadata) = configuration.get_mut("metadata") {
        // Errors show the configuration's namespace, not the path's.
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
            });
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
        match create(core, target, object, options, true) {
            // Somebody else was faster: apply to what is there now.
            Err(error) if error.reason == "AlreadyExists" && !options.dry_run => {}
            other => return other,
        }
    }
}

/// Changes an object or a subresource of it by a function of its current state.
///
/// # Errors
/// 404, 409, 422 and the function's own.
pub(crate) fn patch(
    core: &Core,
    target: &Target,
    name: &str,
    subresource: &str,
    options: &WriteOptions,
    mut change: impl FnMut(&mut Value) -> Result<(), ApiError>,
) -> Result<Written, ApiError> {
    update(core, target, name, subresource, options, |current| {
        let mut new = current.clone();
        change(&mut new)?;
        Ok(Change::Plain(new))
    })
}
