use bytes::Bytes;
use http_body::Body;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::Value;

use super::{cbor, protobuf};
use crate::core::Core;
use crate::error::ApiError;
use crate::json;
use crate::{depth, stack};

/// The largest request body, as on a real server.
const LIMIT: usize = 3 * 1024 * 1024;

/// Reads a whole body, and makes sure that the task has a stack on which it can be decoded.
///
/// # Errors
/// 413 beyond 3 MiB, 400 if the client disconnects.
pub(super) async fn read<B>(core: &Core, body: B) -> Result<Bytes, ApiError>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match Limited::new(body, LIMIT).collect().await {
        Ok(body) => {
            let body = body.to_bytes();
            core.stack.prepare(&body).await;
            Ok(body)
        }
        Err(error) if error.is::<LengthLimitError>() => Err(ApiError::new(
            413,
            "RequestEntityTooLarge",
            format!("Request entity too large: limit is {LIMIT}"),
        )),
        Err(error) => Err(ApiError::bad_request(format!(
            "unable to read the body: {error}"
        ))),
    }
}

/// The media type of a `Content-Type`, without parameters and in lower case.
pub(super) fn media_type(content_type: &str) -> String {
    content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase()
}

/// Decodes a body that is an object in JSON or YAML. Bodies in other formats were translated before.
///
/// # Errors
/// 415 for another media type, 400 for a body that cannot be decoded.
pub(crate) fn decode(media_type: &str, body: &[u8]) -> Result<Value, ApiError> {
    match media_type {
        "" | "application/json" => json(body),
        "application/yaml" => yaml(body),
        _ => Err(unknown_format(&[
            "application/json",
            "application/yaml",
            protobuf::MEDIA,
        ])),
    }
}

pub(super) fn unknown_format(known: &[&str]) -> ApiError {
    let known = known.join(", ");
    let message = format!(
        "the body of the request was in an unknown format - accepted media types include: {known}"
    );
    ApiError::new(415, "UnsupportedMediaType", message)
}

/// Translates a body in CBOR or protobuf to JSON, and returns it with its new media type. `expected` is the `apiVersion` and
/// the kind of the object in it. Returns `None` for other media types.
///
/// # Errors
/// 400 for a body that cannot be decoded.
pub(super) async fn translate(
    core: &Core,
    content_type: &str,
    body: &Bytes,
    expected: (&str, &str),
) -> Result<Option<(&'static str, Bytes)>, ApiError> {
    let translated = match media_type(content_type).as_str() {
        protobuf::MEDIA => Some(("application/json", protobuf::request(expected, body)?)),
        media_type if core.cbor => cbor::request(media_type, body)?,
        _ => None,
    };
    if let Some((_, body)) = &translated {
        core.stack.prepare(body).await;
    }
    Ok(translated)
}

pub(super) fn json(body: &[u8]) -> Result<Value, ApiError> {
    let document = json::read(body).map_err(|error| {
        ApiError::bad_request(format!(
            "couldn't get version/kind; json parse error: {error}"
        ))
    })?;
    Ok(document.value)
}

/// The levels of YAML that can be read: the limit of the reader.
const YAML_LEVELS: usize = 64;

/// Decodes YAML. A body that is JSON, as most are, may be nested as deeply as JSON. Other YAML may have 64 levels.
///
/// # Errors
/// 400 for a body that cannot be decoded.
pub(super) fn yaml(body: &[u8]) -> Result<Value, ApiError> {
    if depth::of_text(body) > YAML_LEVELS {
        return json(body);
    }
    let text = std::str::from_utf8(body)
        .map_err(|error| ApiError::bad_request(format!("error decoding YAML: {error}")))?;
    stack::large(|| serde_saphyr::from_str(text))
        .map_err(|error| ApiError::bad_request(format!("error decoding YAML: {error}")))
}
