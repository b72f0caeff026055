use std::future::Future;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};

use super::Client;
use crate::{
    client::{
        Body, BoxError, Encoding, Error, ErrorKind,
        codec::{Encoded, content_type},
        decode::decode_status,
        stack::{SentSecrets, TotalDeadline, retry_after},
    },
    resource::Status,
};

/// The client reads at most this many bytes of an answer, after decompression. Enough for a hundred thousand Pods in
/// one list.
const MAX_ANSWER: usize = 1024 * 1024 * 1024;
/// The client reads at most this many bytes of an error answer.
const MAX_ERROR: usize = 1024 * 1024;
/// An error shows at most this many bytes of an answer that is not a `Status`.
const MAX_SHOWN: usize = 120;

impl Client {
    /// The error in an answer: the `Status` of an API server, or one made from the status code.
    pub(crate) async fn response_error(
        &self,
        verb: &'static str,
        target: String,
        response: Response<Body>,
    ) -> Error {
        let (head, body) = response.into_parts();
        let deadline = head.extensions.get::<TotalDeadline>().copied();
        let body = match within(deadline, Limited::new(body, MAX_ERROR).collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            // The status code is enough.
            Ok(Err(error)) if error.is::<LengthLimitError>() => Bytes::new(),
            Ok(Err(error)) | Err(error) => return Error::from_stack(verb, target, error),
        };
        let encoding = self.inner.encodings.of_error(&head.headers);
        let encoding = encoding.unwrap_or(Encoding::Json);
        let status = encoding.received(body.clone()).and_then(|bytes| {
            let told = Encoded { encoding, bytes };
            decode_status(&told)
        });
        let mut status = status
            .ok()
            .filter(|status| {
                status.code != 0 || !status.message.is_empty() || !status.reason.is_empty()
            })
            .unwrap_or_else(|| status_of_foreign_answer(head.status, &head.headers, &body));
        if status.code == 0 {
            status.code = head.status.as_u16();
        }
        if let Some(after) = retry_after(&head.headers) {
            let details = status.details.get_or_insert_default();
            if details.retry_after_seconds == 0 {
                details.retry_after_seconds = after.as_secs().try_into().unwrap_or(u32::MAX);
            }
        }
        if let Some(secrets) = head.extensions.get::<SentSecrets>() {
            secrets.redact_status(&mut status);
        }
        let is_cleartext = self.inner.server.starts_with("http://");
        let advice = match head.status {
            StatusCode::UNAUTHORIZED => self.inner.hint_on_401.clone(),
            StatusCode::BAD_REQUEST if is_cleartext && expects_tls(&status.message) => {
                // The hint continues the sentence.
                let length = status.message.trim_end_matches('.').len();
                status.message.truncate(length);
                Some("begin the cluster's `server` with https://".into())
            }
            _ => None,
        };
        Error::new(verb, target, ErrorKind::Api(Box::new(status))).with_hint(advice)
    }
}
/// Whether a server says that it expects TLS. These are the sentences of Go's server and of nginx.
fn expects_tls(message: &str) -> bool {
    [
        "HTTP request to an HTTPS server",
        "HTTP request was sent to HTTPS port",
    ]
    .iter()
    .any(|sentence| message.contains(sentence))
}

/// The error in an answer that is not from an API server: a proxy's page, or plain text.
fn status_of_foreign_answer(code: StatusCode, headers: &http::HeaderMap, body: &[u8]) -> Status {
    let text = String::from_utf8_lossy(body);
    let mut shown = String::new();
    for word in text.split_whitespace() {
        if !shown.is_empty() {
            shown.push(' ');
        }
        shown.extend(word.chars().filter(|letter| !letter.is_control()));
        if shown.len() > MAX_SHOWN {
            let end = (0..=MAX_SHOWN).rev().find(|at| shown.is_char_boundary(*at));
            shown.truncate(end.unwrap_or(0));
            shown.push('…');
            break;
        }
    }
    let message = match (content_type(headers), shown.is_empty()) {
        (_, true) => String::new(),
        (Some("text/plain") | None, false) => shown,
        (Some(content_type), false) => {
            // Anything else than text may be an object, for example a Secret.
            let shown = if content_type.starts_with("text/") {
                format!(" (\"{shown}\")")
            } else {
                String::new()
            };
            format!(
                "HTTP {} with {content_type} instead of an API server's answer{shown}: check the cluster's `server`, and proxies on the way",
                code.as_u16()
            )
        }
    };
    Status::from_code(code.as_u16(), message)
}

/// Reads the whole body of an answer.
pub(crate) async fn collect(
    verb: &'static str,
    target: impl Fn() -> String,
    response: Response<Body>,
) -> Result<Bytes, Error> {
    if let Some(bytes) = response.body().whole() {
        return Ok(bytes.clone());
    }
    let deadline = response.extensions().get::<TotalDeadline>().copied();
    let body = Limited::new(response.into_body(), MAX_ANSWER);
    match within(deadline, body.collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Error::new(
            verb,
            target(),
            ErrorKind::Decode {
                reason: format!(
                    "it is longer than {} MiB: ask for less at a time (`ListParams::limit`)",
                    MAX_ANSWER >> 20
                ),
            },
        )),
        Ok(Err(error)) | Err(error) => Err(Error::from_stack(verb, target(), error)),
    }
}

/// Awaits `future`, at most until the deadline.
async fn within<F: Future>(
    deadline: Option<TotalDeadline>,
    future: F,
) -> Result<F::Output, BoxError> {
    let Some(deadline) = deadline else {
        return Ok(future.await);
    };
    tokio::time::timeout_at(deadline.at, future)
        .await
        .map_err(|_| deadline.passed().into())
}
