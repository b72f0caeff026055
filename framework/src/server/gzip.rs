use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, HeaderValue, header};
use http_body_util::{BodyExt, Full};

use super::Reply;

const GZIP: HeaderValue = HeaderValue::from_static("gzip");

/// Whether a request takes an answer in gzip, and does not like it less than a plain one (RFC 9110, 12.5.3).
pub(super) fn is_accepted(headers: &HeaderMap) -> bool {
    let (mut gzip, mut identity, mut others) = (None, None, None);
    let values = headers.get_all(header::ACCEPT_ENCODING).iter();
    let codings = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    for coding in codings {
        let mut parts = coding.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let weight = parts.next().map_or(1.0, weight);
        match &*name {
            "gzip" | "x-gzip" => gzip = Some(weight),
            "identity" => identity = Some(weight),
            "*" => others = Some(weight),
            _ => {}
        }
    }
    let gzip = gzip.or(others).unwrap_or(0.0);
    gzip > 0.0 && gzip >= identity.unwrap_or(0.0)
}

/// `q=0.5` as a number; what is no weight is the least one.
fn weight(parameter: &str) -> f32 {
    let number = parameter
        .split_once('=')
        .filter(|(name, _)| name.trim() == "q");
    let number = number.and_then(|(_, number)| number.trim().parse().ok());
    number.unwrap_or(0.0)
}

/// The same answer in gzip. It is compressed fast rather than small: metrics repeat so much that this is enough.
pub(super) async fn compressed(reply: Reply) -> Reply {
    let (mut head, body) = reply.into_parts();
    let Ok(plain) = body.collect().await;
    let plain = plain.to_bytes();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let compressed = encoder.write_all(&plain).and_then(|()| encoder.finish());
    let body = match compressed {
        Ok(compressed) => {
            head.headers.insert(header::CONTENT_ENCODING, GZIP);
            compressed.into()
        }
        // Writing to memory does not fail.
        Err(_) => plain,
    };
    Reply::from_parts(head, Full::new(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_to_those_who_take_it() {
        for (accepted, expected) in [
            (&["gzip"][..], true),
            (&["gzip, deflate, br"], true),
            (&["deflate", "GZIP"], true),
            (&["deflate;q=0.5, gzip;q=0.3"], true),
            (&["*"], true),
            (&["identity;q=0.5, *;q=0.8"], true),
            (&[], false),
            (&[""], false),
            (&["identity"], false),
            (&["br"], false),
            (&["gzip;q=0"], false),
            (&["gzip; q=0.0, *"], false),
            (&["*;q=0"], false),
            (&["gzip;q=0.2, identity"], false),
            (&["gzip;q=much"], false),
        ] {
            let mut headers = HeaderMap::new();
            for value in accepted {
                headers.append(header::ACCEPT_ENCODING, value.parse().unwrap());
            }
            assert_eq!(is_accepted(&headers), expected, "{accepted:?}");
        }
    }
}
