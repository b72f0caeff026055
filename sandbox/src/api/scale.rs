use serde_json::{Value, json};

use super::update::Change;
use super::{Target, WriteOptions, Written, ownership, update};
use crate::core::Core;
use crate::error::{ApiError, Cause};
use crate::meta;
use crate::registry::ScalePaths;

/// The `scale` of an object.
///
/// # Errors
/// 404 if the kind has no scale.
pub(crate) fn read_scale(target: &Target, object: &Value) -> Result<Value, ApiError> {
    let paths = paths(target, meta::name(object))?;
    let number = |path: &str| at(object, path).and_then(Value::as_i64);
    let mut metadata = json!({"name": meta::name(object)});
    for field in ["namespace", "uid", "resourceVersion", "creationTimestamp"] {
        meta_copy(&mut metadata, object, field);
    }
    let mut status = json!({"replicas": number(&paths.status).unwrap_or(0)});
    if let Some(selector) = paths.selector.as_deref().and_then(|path| at(object, path)) {
        match selector {
            Value::String(text) => status["selector"] = text.as_str().into(),
            // The selector of a ReplicationController is a map of labels.
            labels if target.kind.kind == "ReplicationController" => {
                status["selector"] = selector_text(&json!({"matchLabels": labels})).into();
            }
            labels => status["selector"] = selector_text(labels).into(),
        }
    }
    let spec = match number(&paths.spec) {
        Some(0) | None => json!({}),
        Some(replicas) => json!({"replicas": replicas}),
    };
    Ok(json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }))
}

/// Changes the desired replicas of an object with a function of its `scale`.
///
/// # Errors
/// 404 if the kind has no scale, 409, 422, and the errors of the function.
pub(crate) async fn write_scale(
    core: &Core,
    target: &Target,
    name: &str,
    options: &WriteOptions,
    mut change: impl FnMut(Value) -> Result<Value, ApiError>,
) -> Result<Written, ApiError> {
    let paths = paths(target, name)?;
    let mut written = update(core, target, name, "scale", options, |current| {
        let new = change(read_scale(target, current)?)?;
        let wrong = |cause| {
            Err(ApiError::invalid_kind(
                "autoscaling",
                "Scale",
                name,
                vec![cause],
            ))
        };
        let replicas = match new.pointer("/spec/replicas") {
            None | Some(Value::Null) => 0,
            Some(value) => match value.as_i64().and_then(|number| i32::try_from(number).ok()) {
                Some(number) => number,
                None => {
                    return wrong(Cause::invalid(
                        "spec.replicas",
                        value,
                        "must be an integer of 32 bits",
                    ));
                }
            },
        };
        // A custom resource is validated as a whole.
        if replicas < 0 && !target.kind.is_custom() {
            let detail = "must be greater than or equal to 0";
            return wrong(Cause::invalid("spec.replicas", &replicas.into(), detail));
        }
        let mut object = current.clone();
        let (uid, given) = (meta::uid(current), meta::uid(&new));
        if !given.is_empty() && given != uid {
            let why = format!(
                "Precondition failed: UID in precondition: {given}, UID in object meta: {uid}"
            );
            return Err(ApiError::conflict(&target.resource(), name, &why));
        }
        let version = meta::resource_version(&new);
        if !version.is_empty() {
            meta::set(&mut object, "resourceVersion", version);
        }
        put(&mut object, &paths.spec, replicas.into());
        Ok(Change::Plain(object))
    })
    .await?;
    written.object = read_scale(target, &written.object)?.into();
    written.stored = None;
    Ok(written)
}

/// Applies a `scale`. The manager then owns one field of the object: the desired replicas.
///
/// # Errors
/// 404 if the kind has no scale, 409 if others own the field, 422.
pub(crate) async fn apply_scale(
    core: &Core,
    target: &Target,
    name: &str,
    scale: &Value,
    options: &WriteOptions,
) -> Result<Written, ApiError> {
    let paths = paths(target, name)?;
    let mut configuration = json!({
        "apiVersion": target.kind.api_version(),
        "kind": target.kind.kind,
        "metadata": {"name": name},
    });
    if let Some(namespace) = &target.namespace {
        meta::set(&mut configuration, "namespace", namespace.as_str());
    }
    if let Some(replicas) = scale.pointer("/spec/replicas") {
        put(&mut configuration, &paths.spec, replicas.clone());
    }
    let mut written = update(core, target, name, "scale", options, |current| {
        ownership::merge(
            core,
            target,
            "scale",
            options,
            Some(current),
            &configuration,
        )
        .map(Change::Owned)
    })
    .await?;
    written.object = read_scale(target, &written.object)?.into();
    written.stored = None;
    Ok(written)
}

/// An object as those who admit a write of a subresource see it: for a scale only that.
pub(super) fn shown(target: &Target, subresource: &str, object: &Value) -> Result<Value, ApiError> {
    match subresource {
        "scale" => read_scale(target, object),
        _ => Ok(object.clone()),
    }
}

/// The opposite of [`shown`]: `object` with what was changed in the part that was shown.
pub(super) fn taken(
    target: &Target,
    subresource: &str,
    mut object: Value,
    changed: Value,
) -> Result<Value, ApiError> {
    if subresource != "scale" {
        return Ok(changed);
    }
    let paths = paths(target, meta::name(&object))?;
    let replicas = changed.pointer("/spec/replicas").cloned();
    put(
        &mut object,
        &paths.spec,
        replicas.unwrap_or_else(|| 0.into()),
    );
    Ok(object)
}

fn paths<'a>(target: &'a Target, name: &str) -> Result<&'a ScalePaths, ApiError> {
    target
        .kind
        .scale
        .as_ref()
        .ok_or_else(|| target.not_found(name))
}

fn meta_copy(metadata: &mut Value, object: &Value, field: &str) {
    let text = meta::text(object, field);
    if !text.is_empty() {
        metadata[field] = text.into();
    }
}

/// The value at a simple JSON path such as `.spec.replicas`.
fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.')
        .filter(|part| !part.is_empty())
        .try_fold(object, |value, part| value.get(part))
}

/// Removes the number at a simple JSON path if it is zero.
pub(super) fn hide_zero(object: &mut Value, path: &str) {
    let mut parts: Vec<&str> = path.split('.').filter(|part| !part.is_empty()).collect();
    let Some(last) = parts.pop() else { return };
    let parent = parts
        .into_iter()
        .try_fold(object, |value, part| value.get_mut(part));
    if let Some(fields) = parent.and_then(Value::as_object_mut)
        && fields.get(last).and_then(Value::as_i64) == Some(0)
    {
        fields.remove(last);
    }
}

fn put(object: &mut Value, path: &str, value: Value) {
    let mut place = object;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        if !place.is_object() {
            *place = json!({});
        }
        let Some(fields) = place.as_object_mut() else {
            return;
        };
        place = fields.entry(part).or_insert(Value::Null);
    }
    *place = value;
}

/// A LabelSelector in the form that a query uses.
pub(super) fn selector_text(selector: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut terms = Vec::new();
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    for (key, value) in labels.into_iter().flatten() {
        terms.push((key.clone(), format!("{key}={}", text(value))));
    }
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    for expression in expressions.into_iter().flatten() {
        let key = text(expression.get("key").unwrap_or(&Value::Null));
        let values = expression.get("values").and_then(Value::as_array);
        let mut values: Vec<String> = values.into_iter().flatten().map(text).collect();
        values.sort();
        let values = values.join(",");
        let term = match expression.get("operator").and_then(Value::as_str) {
            Some("In") => format!("{key} in ({values})"),
            Some("NotIn") => format!("{key} notin ({values})"),
            Some("DoesNotExist") => format!("!{key}"),
            _ => key.clone(),
        };
        terms.push((key, term));
    }
    terms.sort();
    let terms: Vec<String> = terms.into_iter().map(|(_, term)| term).collect();
    terms.join(",")
}
