use serde_json::Value;

use super::request::Request;
use super::{body, options};
use crate::api::{self, Patched, WriteOptions, Written};
use crate::core::Core;
use crate::depth;
use crate::error::{ApiError, Cause};
use crate::json;
use crate::patch::{PatchError, json_patch, merge_patch, strategic_merge_patch};

pub(super) const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// Carries out a PATCH in any of the four formats.
pub(super) async fn patch(core: &Core, request: &Request) -> Result<Written, ApiError> {
    let media = body::media_type(&request.record.content_type);
    let custom = request.target.kind.is_custom();
    match media.as_str() {
        JSON | MERGE | APPLY => {}
        STRATEGIC if !custom => {}
        _ if !custom => return Err(ApiError::no_such_route()),
        _ => return Err(body::unknown_format(&[JSON, MERGE, APPLY])),
    }
    let options = options::write(request)?;
    check_options(request, &media)?;
    if media == APPLY {
        return apply(core, request, &options).await;
    }
    let read = json::read(&request.body);
    let read = read.map_err(|_| ApiError::bad_request("invalid JSON patch"))?;
    let document = read.value;
    let shown = match media.as_str() {
        STRATEGIC => Patched::Patch(&document),
        _ => Patched::Result,
    };
    let change = |object: &mut Value| {
        change(request, &media, &document, object)?;
        if media == JSON && !depth::within(object, depth::USUAL) {
            core.stack.enlarge();
        }
        Ok(())
    };
    if request.subresource == "scale" {
        return api::write_scale(
            core,
            &request.target,
            &request.name,
            &options,
            |mut scale| {
                change(&mut scale)?;
                Ok(scale)
            },
        )
        .await;
    }
    api::patch(
        core,
        &request.target,
        &request.name,
        &request.subresource,
        &options,
        shown,
        change,
    )
    .await
}

fn check_options(request: &Request, media: &str) -> Result<(), ApiError> {
    let wrong = |cause| {
        Err(ApiError::invalid_kind(
            "meta.k8s.io",
            "PatchOptions",
            "",
            vec![cause],
        ))
    };
    if media == APPLY {
        if request.query.get("fieldManager").is_empty() {
            return wrong(Cause::required(
                "fieldManager",
                "is required for apply patch",
            ));
        }
    } else if request.query.find("force").is_some() {
        return wrong(Cause::forbidden(
            "force",
            "may not be specified for non-apply patch",
        ));
    }
    Ok(())
}

async fn apply(
    core: &Core,
    request: &Request,
    options: &WriteOptions,
) -> Result<Written, ApiError> {
    let configuration = body::yaml(&request.body)?;
    if request.subresource == "scale" {
        return api::apply_scale(
            core,
            &request.target,
            &request.name,
            &configuration,
            options,
        )
        .await;
    }
    let Request {
        target,
        name,
        subresource,
        ..
    } = request;
    api::apply(core, target, name, subresource, configuration, options).await
}

fn change(
    request: &Request,
    media: &str,
    document: &Value,
    object: &mut Value,
) -> Result<(), ApiError> {
    let target = &request.target;
    let done = match media {
        JSON => json_patch(object, document),
        MERGE => merge_patch(object, document),
        // A scale has no lists, so both kinds of merge patch are the same for it.
        _ if request.subresource == "scale" => merge_patch(object, document),
        _ => strategic_merge_patch(&target.kind.structural(), object, document),
    };
    done.map_err(|error| match error {
        PatchError::Malformed(message) => ApiError::bad_request(message),
        PatchError::Unprocessable(message) => {
            tracing::debug!(%message, "a patch does not fit its object");
            ApiError::unprocessable()
        }
        PatchError::TooLarge(message) => ApiError::new(413, "RequestEntityTooLarge", message),
        PatchError::Internal(message) => ApiError::new(500, "", message),
    })
}
