use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;

use super::request_subject::RequestSubject;
use crate::client::{Encoding, Error, codec::Encoded, decode::decode_any, stack::SentSecrets};

/// The whole answer to a [request](super::RequestBuilder), as bytes. It can be decoded several times, into different
/// types.
#[derive(Clone)]
pub struct Answer {
    pub(super) subject: RequestSubject,
    pub(super) answers_object: bool,
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// What an error must not repeat.
    pub(super) secrets: SentSecrets,
    pub(super) bytes: Bytes,
}

impl Answer {
    /// The status code, which is never an error's: it tells 201 (created) from 200.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The body as it came, after decompression.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The body as text.
    ///
    /// # Errors
    /// [`ErrorKind::Decode`](crate::client::ErrorKind::Decode) if it is not UTF-8.
    pub fn text(&self) -> Result<&str, Error> {
        std::str::from_utf8(&self.bytes).map_err(|_| self.subject.undecodable("it is not UTF-8"))
    }

    /// Decodes the body, which is JSON unless the caller's own `Accept` asked for another encoding that the client
    /// knows. Nothing is left out: managed fields stay.
    ///
    /// If the request is about one object and has no `Accept` of its own, the answer must be about that object.
    ///
    /// # Errors
    /// [`ErrorKind::Decode`](crate::client::ErrorKind::Decode) if the body does not fit `T`, or is about another object.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let encoding = Encoding::of_body(&self.headers);
        let body = Encoded {
            encoding: encoding.unwrap_or(Encoding::Json),
            bytes: self.bytes.clone(),
        };
        let decoded = decode_any(&body).map_err(|reason| {
            self.subject.undecodable(match encoding {
                Err(other) => {
                    let mut reason =
                        format!("it is {other}, not JSON: read it with `text` or `bytes`");
                    self.secrets.redact(&mut reason);
                    reason
                }
                Ok(_) => reason,
            })
        })?;
        if let Some(call) = self.subject.call().filter(|_| self.answers_object) {
            call.check_object(&body)?;
        }
        Ok(decoded)
    }
}

/// Shows the length of the body only, because it may be a Secret.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (status, length) = (self.status.as_u16(), self.bytes.len());
        write!(f, "Answer({status}, {length} bytes)")
    }
}
