//! Kubernetes protobuf in requests and responses. Everything behind this module uses JSON.

use bytes::Bytes;
use serde_json::Value;

use super::options;
use crate::api::{self, summary};
use crate::error::ApiError;
use crate::{json, protobuf};

pub(super) use crate::protobuf::has_message;

pub(super) const MEDIA: &str = "application/vnd.kubernetes.protobuf";
pub(super) const WATCH: &str = "application/vnd.kubernetes.protobuf;stream=watch";

/// Translates the body of a request to JSON. `expected` is the `apiVersion` and the kind of the body.
///
/// # Errors
/// 400 if the body is not such an object.
pub(super) fn request(expected: (&str, &str), body: &[u8]) -> Result<Bytes, ApiError> {
    // A `Value` always serialises.
    let text = protobuf::decode(body, expected, |object| {
        serde_json::to_vec(&object).unwrap_or_default()
    });
    text.map(Bytes::from).map_err(|wrong| {
        let (text, expected) = (wrong.text, expected.1);
        let is_options = expected == options::DELETE;
        ApiError::bad_request(match wrong.kind {
            // Options of a request are read in another way than objects.
            Some((api_version, kind)) if is_options && kind != expected => {
                api::another_kind(&api_version, &kind)
            }
            _ if is_options => text,
            Some((api_version, kind)) => {
                let version = api_version.rsplit('/').next().unwrap_or_default();
                format!("{kind} in version {version:?} cannot be handled as a {expected}: {text}")
            }
            None => format!(
                "the object provided is unrecognized (must be of type {expected}): {text} ({})",
                summary(body)
            ),
        })
    })
}

/// Translates a JSON document.
///
/// # Errors
/// 406 if its kind has no form in protobuf.
pub(super) fn encode(text: &[u8]) -> Result<Bytes, ApiError> {
    let document = json::read(text).map_err(ApiError::internal)?.value;
    let encoded = protobuf::encode(&document);
    encoded.map(Bytes::from).ok_or_else(|| {
        let message = format!(
            "the kind {} cannot be encoded to a protobuf message",
            document["kind"]
        );
        ApiError::new(406, "NotAcceptable", message)
    })
}

/// Translates the events of a watch.
pub(super) fn encode_events(lines: &[u8]) -> Bytes {
    let mut events = serde_json::Deserializer::from_slice(lines);
    events.disable_recursion_limit();
    let events = events.into_iter::<Value>().flatten();
    // Each kind that can be watched in protobuf has a message: the negotiation checks it.
    let encoded = events.filter_map(|event| protobuf::encode_event(&event));
    encoded.collect::<Vec<_>>().concat().into()
}
