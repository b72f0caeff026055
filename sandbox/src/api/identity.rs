use serde_json::Value;

use super::Target;
use crate::error::{ApiError, Cause};
use crate::meta;

/// Checks that a body is an object of the target's kind, in its namespace and, if `name` is known, with this name.
/// Fills in the fields that a body may leave out.
///
/// # Errors
/// 400, with the texts of kube-apiserver.
pub(crate) fn identify(
    target: &Target,
    object: &mut Value,
    name: Option<&str>,
) -> Result<(), ApiError> {
    let kind = &target.kind;
    let api_version = kind.api_version();
    let Some(fields) = object.as_object_mut() else {
        return Err(ApiError::bad_request(
            "couldn't get version/kind; json parse error: the body is not an object",
        ));
    };
    for (field, expected) in [
        ("apiVersion", api_version.as_str()),
        ("kind", kind.kind.as_str()),
    ] {
        match fields
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
        {
            "" if kind.is_custom() => {
                let title = if field == "kind" {
                    "Kind"
                } else {
                    "apiVersion"
                };
                return Err(ApiError::bad_request(format!(
                    "Object '{title}' is missing in the body"
                )));
            }
            "" => {
                fields.insert(field.into(), expected.into());
            }
            found if found == expected => {}
            found if field == "apiVersion" => {
                return Err(ApiError::bad_request(format!(
                    "the API version in the data ({found}) does not match the expected API version ({expected})"
                )));
            }
            found if kind.is_custom() => {
                let cause = Cause::invalid("kind", &found.into(), &format!("must be {expected}"));
                let found = found.to_owned();
                return Err(ApiError::invalid_kind(
                    &kind.group,
                    &found,
                    meta::name(object),
                    vec![cause],
                ));
            }
            found => {
                let version = &kind.version;
                return Err(ApiError::bad_request(format!(
                    "{found} in version {version:?} cannot be handled as a {expected}: no kind {found:?} is registered for \
                     version {api_version:?}"
                )));
            }
        }
    }
    if fields
        .get("metadata")
        .is_some_and(|metadata| !metadata.is_object() && !metadata.is_null())
    {
        return Err(ApiError::bad_request("metadata must be an object"));
    }
    place(target, object, name)
}

/// Checks that an object is in the target's namespace and, if `name` is known, has this name. Fills in the fields that
/// it may leave out.
///
/// # Errors
/// 400, with the texts of kube-apiserver.
pub(super) fn place(
    target: &Target,
    object: &mut Value,
    name: Option<&str>,
) -> Result<(), ApiError> {
    namespace(target, object)?;
    match name {
        Some(name) if meta::name(object).is_empty() => meta::set(object, "name", name),
        Some(name) => named(target, object, name)?,
        None => {}
    }
    Ok(())
}

/// Checks that a replacing body has the name of its path and, if it has a namespace, the namespace of its path.
///
/// # Errors
/// 400, with the texts of kube-apiserver.
pub(crate) fn named(target: &Target, object: &Value, name: &str) -> Result<(), ApiError> {
    let namespace = meta::text(object, "namespace");
    if !namespace.is_empty() && Some(namespace) != target.namespace.as_deref() {
        return Err(other_namespace());
    }
    match meta::name(object) {
        "" => Err(ApiError::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        found if found == name => Ok(()),
        found => Err(ApiError::bad_request(format!(
            "the name of the object ({found}) does not match the name on the URL ({name})"
        ))),
    }
}

fn other_namespace() -> ApiError {
    ApiError::bad_request(
        "the namespace of the provided object does not match the namespace sent on the request",
    )
}

fn namespace(target: &Target, object: &mut Value) -> Result<(), ApiError> {
    let given = meta::text(object, "namespace");
    match &target.namespace {
        Some(namespace) if given.is_empty() => meta::set(object, "namespace", namespace.as_str()),
        Some(namespace) if given != namespace => {
            return Err(other_namespace());
        }
        Some(_) => {}
        None => meta::remove(object, "namespace"),
    }
    Ok(())
}
