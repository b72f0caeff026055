use std::sync::Arc;

use http::Response;
use serde_json::Value;

use super::resource::Request;
use super::respond::{self, Body};
use super::{body, options, patch, render};
use crate::api::{self, ApiError, Replace, Written};
use crate::core::Core;

/// Answers the verbs that change something.
pub(super) fn answer(core: &Core, request: &Request) -> Result<Response<Body>, ApiError> {
    match request.verb {
        "create" if !request.subresource.is_empty() => {
            let answer = create_subresource(core, request)?;
            Ok(respond::json(201, &answer, request.query.flag("pretty")))
        }
        "create" => {
            let object = decode(request)?;
            let written = api::create(
                core,
                &request.target,
                object,
                &options::write(request)?,
                false,
            )?;
            respond(core, request, written)
        }
        "update" => respond(core, request, update(core, request)?),
        "patch" => respond(core, request, patch::patch(core, request)?),
        "delete" => {
            let deleted = api::delete(
                core,
                &request.target,
                &request.name,
                &options::delete(request)?,
            )?;
            let answer = render::object(core, request, deleted.answer(&request.target))?;
            Ok(respond::json(200, &answer, request.query.flag("pretty")))
        }
        "deletecollection" => {
            let selection = options::selection(request)?;
            let deleted = api::delete_collection(
                core,
                &request.target,
                &selection,
                &options::delete(request)?,
            )?;
            let deleted: Vec<Arc<Value>> = deleted.into_iter().map(Arc::new).collect();
            let metadata = serde_json::json!({"resourceVersion": core.store.version().to_string()});
            let text = render::items(core, request, metadata, &deleted)?;
            Ok(respond::bytes(200, "application/json", text))
        }
        _ => Err(ApiError::method_not_allowed()),
    }
}

fn decode(request: &Request) -> Result<Value, ApiError> {
    body::decode(
        &body::media_type(&request.record.content_type),
        &request.body,
    )
}

/// What is created below an object and is no object itself.
fn create_subresource(core: &Core, request: &Request) -> Result<Value, ApiError> {
    let (target, name) = (&request.target, request.name.as_str());
    let body = decode(request)?;
    let options = options::write(request)?;
    match request.subresource.as_str() {
        "eviction" => {
            let deletion = body.get("deleteOptions").cloned().unwrap_or_default();
            let deletion = options::deletion(request, &deletion)?;
            api::evict(core, target, name, &body, &options, deletion)
        }
        "binding" => api::bind(core, target, name, &body, &options),
        "token" => api::issue(core, target, name, &body, &options),
        _ => Err(ApiError::method_not_allowed()),
    }
}

fn update(core: &Core, request: &Request) -> Result<Written, ApiError> {
    let object = decode(request)?;
    let options = options::write(request)?;
    if request.subresource == "scale" {
        return api::write_scale(core, &request.target, &request.name, &options, |_| {
            Ok(object.clone())
        });
    }
    let replace = Replace {
        name: &request.name,
        subresource: &request.subresource,
        object,
    };
    api::replace(core, &request.target, replace, &options)
}

fn respond(core: &Core, request: &Request, written: Written) -> Result<Response<Body>, ApiError> {
    let code = if written.created { 201 } else { 200 };
    let object = if request.subresource == "scale" {
        written.object
    } else {
        render::object(core, request, written.object)?
    };
    let mut response = respond::json(code, &object, request.query.flag("pretty"));
    for warning in &written.warnings {
        respond::warn(&mut response, warning);
    }
    Ok(response)
}
