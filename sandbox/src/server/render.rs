//! Objects in the form in which responses contain them.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::negotiate::Form;
use super::request::Request;
use crate::api::{Listed, Target};
use crate::core::Core;
use crate::error::ApiError;
use crate::meta;
use crate::store::Encoded;
use crate::table::{
    Include, MetaVersion, TableOptions, list_table, partial_metadata, scale_table, table,
};

#[derive(Serialize)]
struct List<'a> {
    kind: &'a str,
    #[serde(rename = "apiVersion")]
    api_version: &'a str,
    metadata: Value,
    items: &'a [Value],
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
        Form::Partial(version) => partial_metadata(&object, version),
        Form::PartialList(_) => return Err(no_list(&request.target)),
        Form::Table(version) => {
            let metadata = match meta::resource_version(&object) {
                "" => json!({}),
                version => json!({"resourceVersion": version}),
            };
            let options = table_options(request, version)?;
            let kind = &request.target.kind;
            table(kind, [&object], metadata, options, true, core.clock.now())
        }
    })
}

/// The `scale` of an object in the form that the request asks for.
///
/// # Errors
/// 400 for an invalid `includeObject`, 406 if the request asks for the form of a list.
pub(super) fn scale(core: &Core, request: &Request, scale: Value) -> Result<Value, ApiError> {
    let Form::Table(version) = request.form else {
        return object(core, request, scale);
    };
    let metadata = json!({"resourceVersion": meta::resource_version(&scale)});
    let options = table_options(request, version)?;
    let kind = &request.target.kind;
    Ok(scale_table(
        kind,
        &scale,
        metadata,
        options,
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

fn table_options(request: &Request, version: MetaVersion) -> Result<TableOptions, ApiError> {
    let include = include(request)?;
    Ok(TableOptions { version, include })
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

/// A stored object in the target's version.
pub(super) fn read(target: &Target, stored: &Arc<Encoded>) -> Arc<Encoded> {
    if target.reads_as_stored(stored) {
        return stored.clone();
    }
    let object = target.read(&stored.value());
    Arc::new(Encoded::new(stored.version, &Arc::new(object)))
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
    let objects: Vec<Arc<Encoded>> = listed
        .entries
        .iter()
        .map(|(_, object)| read(target, object))
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
    objects: &[Arc<Encoded>],
) -> Result<Vec<u8>, ApiError> {
    let kind = &request.target.kind;
    let text = match request.form {
        Form::Table(version) => {
            let objects: Vec<Arc<Value>> = objects.iter().map(|object| object.value()).collect();
            let objects = objects.iter().map(AsRef::as_ref);
            let options = table_options(request, version)?;
            serde_json::to_vec(&list_table(
                kind,
                objects,
                metadata,
                options,
                core.clock.now(),
            ))
        }
        Form::Partial(_) => return Err(a_list(&request.target)),
        Form::PartialList(version) => {
            let objects = objects.iter();
            let objects = objects.map(|object| partial_metadata(&object.value(), version));
            serde_json::to_vec(&List {
                kind: "PartialObjectMetadataList",
                api_version: version.api_version(),
                metadata,
                items: &objects.collect::<Vec<Value>>(),
            })
        }
        Form::Object => {
            let empty = serde_json::to_vec(&List {
                kind: &kind.list_kind,
                api_version: &kind.api_version(),
                metadata,
                items: &[],
            });
            empty.map(|empty| whole_list(empty, objects, !kind.is_custom()))
        }
    };
    // Go ends each document with a line break.
    let ended = text.map(|mut text| {
        text.push(b'\n');
        text
    });
    ended.map_err(ApiError::internal)
}

/// The text of a list with these objects. `empty` is the text without any.
fn whole_list(empty: Vec<u8>, objects: &[Arc<Encoded>], untyped: bool) -> Vec<u8> {
    const END: &[u8] = b"]}";
    let mut text = empty;
    text.truncate(text.len() - END.len());
    let length = objects.iter().map(|object| object.json().len() + 1);
    text.reserve_exact(length.sum::<usize>() + END.len());
    for (index, object) in objects.iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        match untyped {
            true => object.write_untyped(&mut text),
            false => text.extend_from_slice(object.json()),
        }
    }
    text.extend_from_slice(END);
    text
}
