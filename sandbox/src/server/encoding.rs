use bytes::Bytes;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue};
use http_body_util::BodyExt;

use super::respond::{self, Body};
use super::{cbor, protobuf};
use crate::error::ApiError;
use crate::{json, stack};

pub(super) const YAML: &str = "application/yaml";

/// The format of a response. Everything behind writes JSON; the other formats are translations of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Json,
    Yaml,
    Cbor,
    Protobuf,
}

impl Encoding {
    /// Translates a JSON response. `is_watch` says whether it is a sequence of events. Other responses stay as they are.
    pub(super) async fn translate(
        self,
        response: Response<Body>,
        is_watch: bool,
    ) -> Response<Body> {
        let is_json = |value: &HeaderValue| value.as_bytes().starts_with(b"application/json");
        let content_type = response.headers().get(CONTENT_TYPE);
        if self == Self::Json || !content_type.is_some_and(is_json) {
            return response;
        }
        let is_watch = is_watch && response.status().is_success();
        match (self, is_watch) {
            // A response is one frame, and so is each batch of whole lines of a watch.
            (Self::Cbor, true) => frames(response, cbor::SEQUENCE, cbor::encode_all),
            (Self::Cbor, false) => frames(response, cbor::MEDIA, cbor::encode_all),
            (Self::Protobuf, true) => frames(response, protobuf::WATCH, protobuf::encode_events),
            (Self::Protobuf, false) => whole(response, protobuf::MEDIA, protobuf::encode).await,
            // The negotiation offers no watches in YAML.
            (Self::Yaml | Self::Json, _) => whole(response, YAML, yaml).await,
        }
    }
}

fn yaml(text: &[u8]) -> Result<Bytes, ApiError> {
    let document = json::read(text).map_err(ApiError::internal)?.value;
    let text = stack::large(|| serde_saphyr::to_string(&document));
    text.map(Bytes::from).map_err(ApiError::internal)
}

fn frames(
    response: Response<Body>,
    content_type: &'static str,
    translate: fn(&[u8]) -> Bytes,
) -> Response<Body> {
    let (mut head, body) = response.into_parts();
    head.headers
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    let body = body.map_frame(move |frame| frame.map_data(|json| translate(&json)));
    Response::from_parts(head, BodyExt::boxed_unsync(body))
}

/// Translates a whole response to another format.
async fn whole(
    response: Response<Body>,
    media: &str,
    translate: fn(&[u8]) -> Result<Bytes, ApiError>,
) -> Response<Body> {
    let (mut head, body) = response.into_parts();
    let content_type = head.headers.get(CONTENT_TYPE);
    let parameters =
        content_type.and_then(|value| value.as_bytes().strip_prefix(b"application/json"));
    let media_type = [media.as_bytes(), parameters.unwrap_or_default()].concat();
    if let Ok(media_type) = HeaderValue::from_bytes(&media_type) {
        head.headers.insert(CONTENT_TYPE, media_type);
    }
    let encoded = match body.collect().await {
        Ok(body) => translate(&body.to_bytes()),
        Err(error) => Err(ApiError::internal(error)),
    };
    match encoded {
        Ok(bytes) => Response::from_parts(head, respond::whole(bytes)),
        Err(error) => respond::error(&error, false),
    }
}
