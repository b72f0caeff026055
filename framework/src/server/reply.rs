use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;

/// A complete response.
pub type Reply = Response<Full<Bytes>>;

pub(super) fn not_found() -> Reply {
    text_reply(StatusCode::NOT_FOUND, "404 page not found\n")
}

pub(super) fn text_reply(status: StatusCode, body: impl Into<Bytes>) -> Reply {
    const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
    reply(status, TEXT, body)
}

pub(super) fn reply(
    status: StatusCode,
    content_type: HeaderValue,
    body: impl Into<Bytes>,
) -> Reply {
    let mut reply = Response::new(Full::new(body.into()));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(header::CONTENT_TYPE, content_type);
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    reply
}
