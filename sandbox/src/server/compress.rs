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

/// Responses up to this size are not compressed.
const THRESHOLD: u64 = 128 * 1024;

/// Whether the client accepts gzip.
pub(super) fn is_accepted(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter();
    let mut names = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    // Like kube-apiserver, which knows neither weights nor `*`.
    names.any(|name| name.trim() == "gzip")
}

/// Compresses a large response, for speed rather than size. Watches and other streams are not compressed.
pub(super) async fn gzip(response: Response<Body>) -> Response<Body> {
    let size = response.body().size_hint().exact();
    if size.is_none_or(|size| size <= THRESHOLD)
        || response.headers().contains_key(CONTENT_ENCODING)
    {
        return response;
    }
    let (mut head, body) = response.into_parts();
    // The whole response is in memory: this neither waits nor fails.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_plain_word_gzip_is_accepted_as_by_kube_apiserver() {
        for (accepted, expected) in [
            ("gzip", true),
            ("br, gzip , identity", true),
            ("gzip;q=0.5", false),
            ("gzip;q=0", false),
            ("GZIP", false),
            ("x-gzip", false),
            ("*", false),
            ("", false),
        ] {
            let value = HeaderValue::from_static(accepted);
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, value)]);
            assert_eq!(is_accepted(&headers), expected, "{accepted}");
        }
    }
}
