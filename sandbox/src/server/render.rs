//! Objects in the form in which responses contain them.

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::negotiate::Form;
use super::request::Request;
use crate::api::{Listed, Target};
use crate::core::Core;
use crate::error::ApiError;
use crate::meta;
use crate::table::{Include, scale_table, table};

/// An object without `apiVersion` and `kind`, as in lists of built-in kinds.
struct Untyped<'a>(&'a Value);

impl Serialize for Untyped<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(fields) = self.0.as_object() else {
            return self.0.serialize(serializer);
        };
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in fields
            .iter()
            .filter(|(name, _)| *name != "apiVersion" && *name != "kind")
        {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct List<'a, I> {
    kind: &'a str,
    #[serde(rename = "apiVersion")]
    api_version: &'a str,
    metadata: Value,
    items: Vec<I>,
}

/// An object in the form that the request asks for.
///
/// # Errors
/// 400 for an invalid `includeObject`, 406 if the request asks for the form of a list.
pub(super) fn object(core: &Core, request: &Request, object: Value) -> Result<Value, ApiError> {
    if object.get("kind").and_then(Value::as_str) == Some("Status") {
        return Ok(object);
    }
    Ok(match request.form {
        Form::Object => object,
        Form::Partial => partial(&object),
        Form::PartialList => return Err(no_list(&request.target)),
        Form::Table => {
            let metadata = json!({"resourceVersion": meta::resource_version(&object)});
            let include = include(request)?;
            let kind = &request.target.kind;
            table(kind, [&object], metadata, include, true, core.clock.now())
        }
    })
}

/// The `scale` of an object in the form that the request asks for.
///
/// # Errors
/// 400 for an invalid `includeObject`, 406 if the request asks for the form of a list.
pub(super) fn scale(core: &Core, request: &Request, scale: Value) -> Result<Value, ApiError> {
    if request.form != Form::Table {
        return object(core, request, scale);
    }
    let metadata = json!({"resourceVersion": meta::resource_version(&scale)});
    let include = include(request)?;
    let kind = &request.target.kind;
    Ok(scale_table(
        kind,
        &scale,
        metadata,
        include,
        core.clock.now(),
    ))
}

/// The `includeObject` of a request.
///
/// # Errors
/// 400 for an unknown value.
pub(super) fn include(request: &Request) -> Result<Include, ApiError> {
    let text = request.query.get("includeObject");
    Include::parse(text).ok_or_else(|| {
        ApiError::bad_request(format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: {text:?}: must be 'Metadata', 'Object', \
             'None', or empty"
        ))
    })
}

/// The Go type of a built-in kind in the messages of a real server.
fn go_type(target: &Target, kind: &str) -> String {
    let group = target.kind.group.split('.').next().unwrap_or_default();
    let package = if group.is_empty() { "core" } else { group };
    format!("*{package}.{kind}")
}

/// The error for a request that asks for the form of a list and gets one object.
fn no_list(target: &Target) -> ApiError {
    if target.kind.is_custom() {
        return ApiError::new(500, "", "content is not a list");
    }
    let shown = go_type(target, &target.kind.kind);
    let message = format!(
        "you requested PartialObjectMetadataList, but the requested object is not a list ({shown})"
    );
    ApiError::new(406, "NotAcceptable", message)
}

/// The error for a request that asks for the form of one object and gets a list.
fn a_list(target: &Target) -> ApiError {
    let shown = if target.kind.is_custom() {
        "*unstructured.UnstructuredList".to_owned()
    } else {
        go_type(target, &target.kind.list_kind)
    };
    let message = format!(
        "you requested PartialObjectMetadata, but the requested object is a list ({shown})"
    );
    ApiError::new(406, "NotAcceptable", message)
}

/// The metadata of an object.
pub(super) fn partial(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object.get("metadata").cloned().unwrap_or_else(|| json!({})),
    })
}

/// A stored object in the target's version. It is cloned only if it must change.
pub(super) fn read(target: &Target, stored: &Arc<Value>) -> Arc<Value> {
    if target.reads_as_stored(stored) {
        stored.clone()
    } else {
        Arc::new(target.read(stored))
    }
}

/// A list in the form that the request asks for, as JSON text.
///
/// # Errors
/// 400 for an invalid `includeObject`, 406 if the request asks for the form of one object.
pub(super) fn list(core: &Core, request: &Request, listed: &Listed) -> Result<Vec<u8>, ApiError> {
    let mut metadata = list_metadata(request, listed.version, &listed.continue_token);
    if let Some(remaining) = listed.remaining {
        metadata.insert("remainingItemCount".into(), remaining.into());
    }
    let target = &request.target;
    let objects: Vec<Arc<Value>> = listed
        .entries
        .iter()
        .map(|entry| read(target, &entry.object))
        .collect();
    items(core, request, Value::Object(metadata), &objects)
}

/// The metadata of a list.
pub(super) fn list_metadata(request: &Request, version: u64, token: &str) -> Map<String, Value> {
    let mut metadata = Map::new();
    metadata.insert("resourceVersion".into(), version.to_string().into());
    // Lists of custom resources also show an empty token, except in the other forms.
    let untyped = request.target.kind.is_custom() && request.form == Form::Object;
    if !token.is_empty() || untyped {
        metadata.insert("continue".into(), token.into());
    }
    metadata
}

/// A list of these objects in the form that the request asks for, as JSON text.
///
/// # Errors
/// 400 for an invalid `includeObject`, 406 if the request asks for the form of one object.
pub(super) fn items(
    core: &Core,
    request: &Request,
    metadata: Value,
    objects: &[Arc<Value>],
) -> Result<Vec<u8>, ApiError> {
    let kind = &request.target.kind;
    let text = match request.form {
        Form::Table => {
            let objects = objects.iter().map(AsRef::as_ref);
            let include = include(request)?;
            serde_json::to_vec(&table(
                kind,
                objects,
                metadata,
                include,
                true,
                core.clock.now(),
            ))
        }
        Form::Partial => return Err(a_list(&request.target)),
        Form::PartialList => serde_json::to_vec(&List {
            kind: "PartialObjectMetadataList",
            api_version: "meta.k8s.io/v1",
            metadata,
            items: objects.iter().map(|object| partial(object)).collect(),
        }),
        Form::Object if kind.is_custom() => serde_json::to_vec(&List {
            kind: &kind.list_kind,
            api_version: &kind.api_version(),
            metadata,
            items: objects.iter().map(AsRef::as_ref).collect::<Vec<&Value>>(),
        }),
        Form::Object => serde_json::to_vec(&List {
            kind: &kind.list_kind,
            api_version: &kind.api_version(),
            metadata,
            items: objects.iter().map(|object| Untyped(object)).collect(),
        }),
    };
    text.map_err(ApiError::internal)
}
