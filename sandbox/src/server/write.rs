use std::sync::Arc;

use http::Response;
use serde_json::{Value, json};

use super::negotiate::Form;
use super::request::Request;
use super::respond::{self, Body, CreatedName, DryRun};
use super::{body, options, patch, render, warnings};
use crate::api::{self, Answered, DeleteOptions, Replace, Target, WriteOptions, Written, strategy};
use crate::core::Core;
use crate::error::ApiError;
use crate::meta;
use crate::registry::ServedKind;
use crate::store::Encoded;

/// Answers the verbs that change something.
pub(super) async fn handle(core: &Core, request: &Request) -> Result<Response<Body>, ApiError> {
    match request.verb {
        "create" if !request.subresource.is_empty() => {
            let answered = create_subresource(core, request).await?;
            Ok(answer(request, &answered))
        }
        "create" if is_binding(&request.target.kind) => {
            let answered = create_binding(core, request).await?;
            Ok(answer(request, &answered))
        }
        "create" => {
            let (object, options) = decode(core, request)?;
            let written = api::create(core, &request.target, object, &options, false).await?;
            let name = CreatedName(meta::name(&written.object).to_owned());
            let mut response = respond(core, request, written)?;
            response.extensions_mut().insert(name);
            Ok(response)
        }
        "update" => respond(core, request, update(core, request).await?),
        "patch" => respond(core, request, patch::patch(core, request).await?),
        "delete" | "deletecollection" => delete(core, request).await,
        _ => Err(ApiError::method_not_allowed()),
    }
}

async fn delete(core: &Core, request: &Request) -> Result<Response<Body>, ApiError> {
    let options = options::delete(request)?;
    let warning = strategy::deletion_warning(&request.target.kind, &options);
    let mut response = match request.verb {
        "delete" => delete_one(core, request, &options).await,
        _ => delete_collection(core, request, &options).await,
    }
    .map_err(|error| error.warned(warning.map(String::from).as_slice()))?;
    if let Some(warning) = warning {
        warnings::add(&mut response, &[warning.to_owned()]);
    }
    // kubectl asks for it in the body.
    if options.dry_run {
        response.extensions_mut().insert(DryRun);
    }
    Ok(response)
}

async fn delete_one(
    core: &Core,
    request: &Request,
    options: &DeleteOptions,
) -> Result<Response<Body>, ApiError> {
    let mut deleted = api::delete(core, &request.target, &request.name, options).await?;
    let warnings = std::mem::take(&mut deleted.warnings);
    let answer = render::object(core, request, deleted.answer(&request.target))?;
    request.audit.answer(&answer);
    let mut response = respond::json(200, &answer, request.query.flag("pretty"));
    warnings::add(&mut response, &warnings);
    Ok(response)
}

async fn delete_collection(
    core: &Core,
    request: &Request,
    options: &DeleteOptions,
) -> Result<Response<Body>, ApiError> {
    let selection = options::selection(request)?;
    let limit = request.query.number::<i64>("limit")?;
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    let limit = limit.filter(|limit| *limit > 0);
    let deleted = api::delete_collection(core, &request.target, &selection, limit, options).await?;
    let mut warnings = Vec::new();
    let deleted: Vec<Arc<Encoded>> = deleted
        .into_iter()
        .map(|mut one| {
            warnings.append(&mut one.warnings);
            Arc::new(Encoded::new(0, &Arc::new(one.object)))
        })
        .collect();
    let metadata = render::list_metadata(request, core.store.version(), "");
    if let Form::PartialList(version) = request.form
        && deleted.is_empty()
    {
        let none = json!({
            "kind": "PartialObjectMetadataList", "apiVersion": version.api_version(), "metadata": metadata, "items": null,
        });
        return Ok(respond::json(200, &none, request.query.flag("pretty")));
    }
    let text = render::items(core, request, Value::Object(metadata), &deleted)?;
    let mut response = respond::bytes(200, "application/json", text);
    warnings::add(&mut response, &warnings);
    Ok(response)
}

fn answer(request: &Request, answered: &Answered) -> Response<Body> {
    request.audit.answer(&answered.answer);
    let mut response = respond::json(201, &answered.answer, request.query.flag("pretty"));
    warnings::add(&mut response, &answered.warnings);
    response
}

/// The object in the body, and the options of the write, which contain the warnings about the body.
fn decode(core: &Core, request: &Request) -> Result<(Value, WriteOptions), ApiError> {
    let mut options = options::write(request)?;
    let registry = core.registry();
    let recognize = |text: &[u8]| api::recognize(&registry, &request.target, text);
    let media = body::media_type(&request.record.content_type);
    let recognized = match media.as_str() {
        "" | "application/json" => recognize(&request.body)?,
        media => {
            let value = body::decode(media, &request.body)?;
            recognize(value.to_string().as_bytes())?
        }
    };
    options.duplicates = recognized.duplicates;
    request.audit.object(&recognized.object);
    Ok((recognized.object, options))
}

/// Creates a subresource that is not an object itself.
async fn create_subresource(core: &Core, request: &Request) -> Result<Answered, ApiError> {
    let (target, name) = (&request.target, request.name.as_str());
    let kind = api::own_kind(&request.subresource).ok_or_else(ApiError::method_not_allowed)?;
    let body = document(request, kind)?;
    let options = options::write(request)?;
    match request.subresource.as_str() {
        "eviction" => {
            let deletion = body.get("deleteOptions").cloned().unwrap_or_default();
            let deletion = options::deletion(request, &deletion)?;
            api::evict(core, target, name, body, &options, deletion).await
        }
        "binding" => api::bind(core, target, name, body, &options).await,
        "token" => api::issue(core, target, name, body, &options).await,
        _ => Err(ApiError::method_not_allowed()),
    }
}

fn is_binding(kind: &ServedKind) -> bool {
    !kind.is_custom() && kind.group.is_empty() && kind.plural == "bindings"
}

/// Binds the Pod that has the name of the Binding.
async fn create_binding(core: &Core, request: &Request) -> Result<Answered, ApiError> {
    let body = document(request, ["", "v1", "Binding"])?;
    let options = options::write(request)?;
    let registry = core.registry();
    let pods = registry
        .storage("", "pods")
        .ok_or_else(ApiError::no_such_resource)?;
    let target = Target::new(pods, request.target.namespace.as_deref());
    let name = meta::name(&body).to_owned();
    api::bind(core, &target, &name, body, &options).await
}

/// The decoded body, which has this group, version and kind.
fn document(request: &Request, kind: [&str; 3]) -> Result<Value, ApiError> {
    let media = body::media_type(&request.record.content_type);
    let object = body::decode(&media, &request.body)?;
    api::recognize_as(kind, object, &request.body)
}

async fn update(core: &Core, request: &Request) -> Result<Written, ApiError> {
    if request.subresource == "scale" {
        let options = options::write(request)?;
        let scale = document(request, ["autoscaling", "v1", "Scale"])?;
        api::named(&request.target, &scale, &request.name)?;
        return api::write_scale(core, &request.target, &request.name, &options, |_| {
            Ok(scale.clone())
        })
        .await;
    }
    let (object, options) = decode(core, request)?;
    let replace = Replace {
        name: &request.name,
        subresource: &request.subresource,
        object,
    };
    api::replace(core, &request.target, replace, &options).await
}

fn respond(core: &Core, request: &Request, written: Written) -> Result<Response<Body>, ApiError> {
    let code = if written.created { 201 } else { 200 };
    let pretty = request.query.flag("pretty");
    let mut response = match &written.stored {
        Some(stored) if request.form == Form::Object && !pretty => respond::encoded(code, stored),
        _ => {
            let object = Arc::unwrap_or_clone(written.object);
            let object = match request.subresource.as_str() {
                "scale" => render::scale(core, request, object)?,
                _ => render::object(core, request, object)?,
            };
            respond::json(code, &object, pretty)
        }
    };
    warnings::add(&mut response, &written.warnings);
    Ok(response)
}
