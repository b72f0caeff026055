use std::io;

use bytes::Bytes;
use futures_core::Stream;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode, Uri};
use http_body::{Body as _, Frame};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use serde_json::Value;

use super::warnings;
use crate::error::ApiError;
use crate::registry::Registry;
use crate::store::Encoded;

/// The body of every response.
pub(super) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// Marks the response to a dry run.
#[derive(Clone)]
pub(super) struct DryRun;

/// Notes on the response to a `create` the name that the object got.
#[derive(Clone)]
pub(super) struct CreatedName(pub(super) String);

/// A body with these bytes.
pub(super) fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into())
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// A response with these bytes.
pub(super) fn bytes(
    code: u16,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<Body> {
    let mut response = Response::new(whole(body));
    *response.status_mut() =
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(
        HeaderName::from_static("cache-control"),
        HeaderValue::from_static("no-cache, private"),
    );
    response
}

/// A JSON response; `pretty` indents it.
pub(super) fn json(code: u16, value: &Value, pretty: bool) -> Response<Body> {
    let text = if pretty {
        serde_json::to_vec_pretty(value)
    } else {
        serde_json::to_vec(value)
    };
    // A `Value` always serialises.
    let mut text = text.unwrap_or_default();
    text.push(b'\n');
    bytes(code, "application/json", text)
}

/// A JSON response with a stored object.
pub(super) fn encoded(code: u16, object: &Encoded) -> Response<Body> {
    bytes(code, "application/json", [object.json(), b"\n"].concat())
}

/// A JSON response with another content type.
pub(super) fn typed_json(content_type: &'static str, value: &Value) -> Response<Body> {
    let mut response = json(200, value, false);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// The response to a failed request.
pub(super) fn error(error: &ApiError, pretty: bool) -> Response<Body> {
    let mut response = json(error.code, &error.to_status(), pretty);
    if let Some(seconds) = error.retry_after_seconds() {
        response
            .headers_mut()
            .insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    warnings::add(&mut response, error.warnings());
    response
}

/// The response to a path under which nothing is served.
pub(super) fn no_such_path() -> Response<Body> {
    bytes(404, "text/plain; charset=utf-8", "404 page not found\n")
}

/// The response to a path that a real server cannot read. It answers before it knows who asks.
pub(super) fn unreadable(uri: &Uri) -> Response<Body> {
    let asked = uri.path_and_query().map_or("", |asked| asked.as_str());
    let text = format!(
        "Internal Server Error: {asked:?}: failed to create RequestInfo: unable to determine kind and namespace from url, {asked}\n"
    );
    let mut safe = String::new();
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            other => safe.push(other),
        }
    }
    bytes(500, "text/plain; charset=utf-8", safe)
}

/// The response to an unknown path of a group.
///
/// # Errors
/// 404 for built-in groups.
pub(super) fn unserved(registry: &Registry, group: &str) -> Result<Response<Body>, ApiError> {
    let mut kinds = registry.kinds().iter();
    if kinds.any(|kind| kind.group == group && !kind.is_custom()) {
        return Err(ApiError::no_such_resource());
    }
    Ok(no_such_path())
}

/// Leaves out the body, as the response to HEAD does. HTTP/2 would send it.
pub(super) fn cut_body(response: &mut Response<Body>) {
    if let Some(length) = response.body().size_hint().exact() {
        let length = HeaderValue::from(length);
        response.headers_mut().insert(CONTENT_LENGTH, length);
    }
    *response.body_mut() = BodyExt::boxed_unsync(Full::default().map_err(|never| match never {}));
}

/// A response whose body is a stream.
pub(super) fn stream(
    chunks: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
) -> Response<Body> {
    let mut response = bytes(200, "application/json", Bytes::new());
    let frames = futures_util::StreamExt::map(chunks, |chunk| chunk.map(Frame::data));
    *response.body_mut() = BodyExt::boxed_unsync(StreamBody::new(frames));
    response
}
