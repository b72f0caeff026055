use std::io::{self, Write};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::Response;
use http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderValue, VARY,
};
use http_body::Body as _;
use http_body_util::{BodyExt, Full};

use super::respond::Body;

/// Answers up to this size are sent as they are.
const THRESHOLD: u64 = 128 * 1024;

/// Whether the client takes gzip.
pub(super) fn is_accepted(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter();
    let mut names = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    // Like kube-apiserver, which knows of no weights.
    names.any(|name| name.trim() == "gzip")
}

/// Compresses a large answer, fast rather than well. Watches and other streams stay as they are.
pub(super) async fn gzip(response: Response<Body>) -> Response<Body> {
    let size = response.body().size_hint().exact();
    if size.is_none_or(|size| size <= THRESHOLD)
        || response.headers().contains_key(CONTENT_ENCODING)
    {
        return response;
    }
    let (mut head, body) = response.into_parts();
    // The whole answer is there: this neither waits nor fails.
    let plain = body
        .collect()
        .await
        .map(|body| body.to_bytes())
        .unwrap_or_default();
    let body = match packed(&plain) {
        Ok(packed) => {
            head.headers.remove(CONTENT_LENGTH);
            head.headers
                .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            head.headers
                .append(VARY, HeaderValue::from_static("Accept-Encoding"));
            packed
        }
        Err(_) => plain,
    };
    let body = Full::new(body)
        .map_err(|never| match never {})
        .boxed_unsync();
    Response::from_parts(head, body)
}

fn packed(plain: &[u8]) -> io::Result<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain)?;
    Ok(encoder.finish()?.into())
}
