use std::{convert::Infallible, future::ready};

use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use tower::{ServiceExt, service_fn};
use tower_http::{CompressionLevel, compression::Compression};

use super::Reply;

/// Compresses a response with gzip if the headers of its request accept it (RFC 9110, 12.5.3). It uses the fast level,
/// because the text of metrics repeats so much that a higher level gains little.
pub(super) async fn compressed(reply: Reply, accepted: HeaderMap) -> Reply {
    let mut request = Request::new(());
    *request.headers_mut() = accepted;
    let plain = service_fn(|_| ready(Ok::<_, Infallible>(reply.clone())));
    let gzip = Compression::new(plain).quality(CompressionLevel::Fastest);
    let Ok(compressed) = gzip.oneshot(request).await;
    let (head, body) = compressed.into_parts();
    match body.collect().await {
        Ok(body) => Reply::from_parts(head, Full::new(body.to_bytes())),
        // Writing to memory does not fail.
        Err(_) => reply,
    }
}

#[cfg(test)]
mod tests {
    use http::header;

    use super::*;

    #[tokio::test]
    async fn gzip_is_used_only_if_the_request_accepts_it() {
        for (accepted, status, in_gzip) in [
            (&["gzip"][..], 200, true),
            (&["gzip, deflate, br"], 200, true),
            (&["deflate", "GZIP"], 200, true),
            (&["deflate;q=0.5, gzip;q=0.3"], 200, true),
            (&["*"], 200, true),
            (&["identity;q=0.5, *;q=0.8"], 200, true),
            (&[], 200, false),
            (&[""], 200, false),
            (&["identity"], 200, false),
            (&["br"], 200, false),
            (&["gzip;q=0"], 200, false),
            (&["gzip; q=0.0, *"], 200, false),
            (&["gzip;q=0.2, identity"], 200, false),
            (&["gzip;q=much"], 200, false),
            // The request accepts nothing.
            (&["*;q=0"], 406, false),
        ] {
            let mut headers = HeaderMap::new();
            for value in accepted {
                headers.append(header::ACCEPT_ENCODING, value.parse().unwrap());
            }
            let reply = Reply::new("a".repeat(1000).into());
            let head = compressed(reply, headers).await.into_parts().0;
            let encoding = head.headers.get(header::CONTENT_ENCODING);
            assert_eq!(head.status, status, "{accepted:?}");
            assert_eq!(encoding.is_some(), in_gzip, "{accepted:?}");
        }
    }
}
