use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderMap, header::CONTENT_TYPE};
use serde::Serialize;

use super::{AddedCodec, Json, ObjectCodec, Protobuf, Unwritable, WriteCodec};
use crate::resource::ApiResource;

/// The encoding of objects in requests and answers.
///
/// A server that does not know the encoding gets JSON: `Accept` names JSON as the second choice, and if the server
/// refuses a request for its encoding (415, 406), the client sends it again as JSON at once. The client remembers this
/// for the group of the kind as long as it lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// JSON, which every server knows.
    Json,
    /// Protobuf for the objects of the built-in kinds that the server sends: half as large as JSON, and cheaper to decode for both sides. A type
    /// gets the same values as from JSON. Requests about these kinds are JSON, and so is what a [`DynamicObject`](crate::resource::DynamicObject) reads of them.
    /// All other kinds have [an encoding of their own](crate::client::ClientBuilder::encoding_of_other_kinds), which is JSON by default.
    ///
    /// The client knows the fields of Kubernetes 1.33 to 1.37. It skips the others of newer servers, also for a type of the program that has them: choose JSON for
    /// such a type.
    #[default]
    Protobuf,
    /// CBOR (RFC 8949), in the form that Kubernetes uses: smaller, and cheaper to decode for both sides. API servers
    /// accept it if their feature gate `CBORServingAndStorage` is on (KEP-4222).
    #[cfg(feature = "cbor")]
    Cbor,
    /// An encoding that the program has added: see [`Encoding::added`].
    Added(AddedCodec),
    /// A codec for tests, which stands for codecs that know only some kinds.
    #[cfg(test)]
    #[doc(hidden)]
    Framed,
}

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// The media type of a body, without its parameters.
pub(crate) fn content_type(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let media_type = value.split(';').next()?.trim();
    (!media_type.is_empty()).then_some(media_type)
}

impl Encoding {
    /// An encoding that the program adds. [`ObjectCodec`] has an example.
    pub fn added(codec: &'static dyn ObjectCodec) -> Self {
        Self::Added(AddedCodec(codec))
    }

    /// The encoding of an answer with these headers, to a request that named this encoding in `Accept`. JSON if there is no `Content-Type`. The
    /// error is the other media type.
    pub(crate) fn of_answer(self, headers: &HeaderMap) -> Result<Self, &str> {
        let is_this = |media_type: &str| media_type.eq_ignore_ascii_case(self.media_type());
        match self {
            Self::Added(_) if content_type(headers).is_some_and(is_this) => Ok(self),
            _ => Self::of_body(headers),
        }
    }

    /// What to decode of a document that came in this encoding. See [`Format`](super::Format).
    ///
    /// # Errors
    /// The codec that a program has added cannot read it.
    pub(crate) fn received(self, bytes: Bytes) -> Result<Bytes, String> {
        match self {
            Self::Added(codec) => codec.0.decode(&bytes).map(Bytes::from),
            _ => Ok(bytes),
        }
    }

    /// The encoding of a body with these headers. JSON if there is no `Content-Type`. The error is the other media type.
    pub(crate) fn of_body(headers: &HeaderMap) -> Result<Self, &str> {
        let Some(media_type) = content_type(headers) else {
            return Ok(Self::Json);
        };
        Self::of(media_type).ok_or(media_type)
    }

    /// The encoding of an answer with that media type, which must be without parameters.
    pub(crate) fn of(media_type: &str) -> Option<Self> {
        Some(match media_type.to_ascii_lowercase().as_str() {
            PROTOBUF => Self::Protobuf,
            #[cfg(feature = "cbor")]
            "application/cbor" | "application/cbor-seq" => Self::Cbor,
            #[cfg(test)]
            "application/framed" => Self::Framed,
            json if json.contains("json") => Self::Json,
            _ => return None,
        })
    }

    /// The name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Protobuf => "protobuf or JSON",
            Self::Added(_) => "JSON or in the chosen encoding",
            #[cfg(feature = "cbor")]
            Self::Cbor => "CBOR or JSON",
            #[cfg(test)]
            Self::Framed => "framed or JSON",
        }
    }

    /// Whether it can hold objects of the kind.
    pub(crate) fn has(self, resource: &ApiResource) -> bool {
        match self {
            Self::Protobuf => Protobuf::has(resource),
            Self::Added(codec) => codec.0.has(resource),
            #[cfg(test)]
            Self::Framed => super::Framed::has(resource),
            _ => true,
        }
    }

    /// This encoding, or JSON if it has no writer.
    pub(crate) fn for_body(self) -> Self {
        match self {
            Self::Protobuf => Self::Json,
            Self::Added(codec) if !codec.0.has_writer() => Self::Json,
            other => other,
        }
    }

    /// This encoding, or JSON if it has only certain kinds and fields.
    pub(crate) fn for_any_kind(self) -> Self {
        match self {
            Self::Protobuf | Self::Added(_) => Self::Json,
            other => other,
        }
    }

    /// The value of `Content-Type`.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => PROTOBUF,
            Self::Added(codec) => codec.0.media_type(),
            #[cfg(feature = "cbor")]
            Self::Cbor => "application/cbor",
            #[cfg(test)]
            Self::Framed => "application/framed",
        }
    }

    /// The value of `Content-Type` for a server-side apply, if there is one beside YAML's.
    pub(crate) fn apply_media_type(self) -> Option<&'static str> {
        match self {
            Self::Json | Self::Protobuf | Self::Added(_) => None,
            #[cfg(feature = "cbor")]
            Self::Cbor => Some("application/apply-patch+cbor"),
            #[cfg(test)]
            Self::Framed => None,
        }
    }

    /// The value of `Accept`. The server answers a watch of `application/cbor` with `application/cbor-seq`.
    pub(crate) fn accept(self) -> Cow<'static, str> {
        let accept = match self {
            Self::Json => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf, application/json;q=0.9",
            Self::Added(codec) => {
                return format!("{}, application/json;q=0.9", codec.0.media_type()).into();
            }
            #[cfg(feature = "cbor")]
            Self::Cbor => "application/cbor, application/json;q=0.9",
            #[cfg(test)]
            Self::Framed => "application/framed, application/json;q=0.9",
        };
        accept.into()
    }

    /// Writes one value.
    pub(crate) fn write<T: Serialize + ?Sized>(self, value: &T) -> Result<Bytes, Unwritable> {
        let _span = tracing::trace_span!("encode", encoding = self.media_type()).entered();
        let written = match self {
            Self::Json => Json.write(value),
            #[cfg(feature = "cbor")]
            Self::Cbor => super::Cbor.write(value),
            #[cfg(test)]
            Self::Framed => super::Framed.write(value),
            // No body is in this encoding: see `for_body`.
            Self::Protobuf => Err(Unwritable),
            Self::Added(codec) => {
                let json = Json.write(value)?;
                codec.0.encode(&json).map_err(|_| Unwritable)
            }
        };
        written.map(Bytes::from)
    }
}

/// A whole document as it came, with its encoding.
#[derive(Clone)]
pub(crate) struct Encoded {
    pub(crate) encoding: Encoding,
    pub(crate) bytes: Bytes,
}

#[cfg(test)]
impl Encoded {
    pub(crate) fn json(bytes: impl Into<Bytes>) -> Self {
        Self {
            encoding: Encoding::Json,
            bytes: bytes.into(),
        }
    }
}
