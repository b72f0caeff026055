use bytes::Bytes;
use serde::Serialize;

use super::{Codec, Unwritable};
use crate::resource::ApiResource;

/// What objects are written in on the wire.
///
/// Whatever is chosen, a server that does not know it is talked to in JSON: `Accept` names JSON as
/// second choice, and a request that the server refuses for its encoding (415, 406) is sent again
/// as JSON at once. That is remembered for the group of the kind as long as the client lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// JSON: what every server knows.
    #[default]
    Json,
    /// CBOR (RFC 8949), in the form that Kubernetes gives it: smaller, and cheaper to read for
    /// both sides. API servers take it when their feature gate `CBORServingAndStorage` is on
    /// (KEP-4222).
    #[cfg(feature = "cbor")]
    Cbor,
    /// A codec that stands for those that know some kinds only.
    #[cfg(test)]
    #[doc(hidden)]
    Framed,
}

/// Binds `$codec` to the codec of `$encoding` in `$body`.
macro_rules! with_codec {
    ($encoding:expr, $codec:ident => $body:expr) => {
        match $encoding {
            $crate::client::codec::Encoding::Json => {
                let $codec = $crate::client::codec::Json;
                $body
            }
            #[cfg(feature = "cbor")]
            $crate::client::codec::Encoding::Cbor => {
                let $codec = $crate::client::codec::Cbor;
                $body
            }
            #[cfg(test)]
            $crate::client::codec::Encoding::Framed => {
                let $codec = $crate::client::codec::Framed;
                $body
            }
        }
    };
}
pub(crate) use with_codec;

impl Encoding {
    /// The encoding of an answer with that media type, which stands without parameters.
    pub(crate) fn of(media_type: &str) -> Option<Self> {
        Some(match media_type.to_ascii_lowercase().as_str() {
            #[cfg(feature = "cbor")]
            "application/cbor" | "application/cbor-seq" => Self::Cbor,
            #[cfg(test)]
            "application/framed" => Self::Framed,
            json if json.contains("json") => Self::Json,
            _ => return None,
        })
    }

    /// Its name, for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            #[cfg(feature = "cbor")]
            Self::Cbor => "CBOR or JSON",
            #[cfg(test)]
            Self::Framed => "framed or JSON",
        }
    }

    /// This encoding, or JSON when it cannot hold the kind.
    pub(crate) fn for_kind(self, resource: &ApiResource) -> Self {
        match with_codec!(self, codec => codec.takes(resource)) {
            true => self,
            false => Self::Json,
        }
    }

    /// The value of `Content-Type`.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            #[cfg(feature = "cbor")]
            Self::Cbor => "application/cbor",
            #[cfg(test)]
            Self::Framed => "application/framed",
        }
    }

    /// The value of `Content-Type` for a server-side apply, if there is one but YAML's.
    pub(crate) fn apply_media_type(self) -> Option<&'static str> {
        match self {
            Self::Json => None,
            #[cfg(feature = "cbor")]
            Self::Cbor => Some("application/apply-patch+cbor"),
            #[cfg(test)]
            Self::Framed => None,
        }
    }

    /// The value of `Accept`. A watch of `application/cbor` is answered as `application/cbor-seq`.
    pub(crate) fn accept(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            #[cfg(feature = "cbor")]
            Self::Cbor => "application/cbor, application/json;q=0.9",
            #[cfg(test)]
            Self::Framed => "application/framed, application/json;q=0.9",
        }
    }

    /// Writes one value.
    pub(crate) fn write<T: Serialize + ?Sized>(self, value: &T) -> Result<Bytes, Unwritable> {
        with_codec!(self, codec => codec.write(value)).map(Bytes::from)
    }
}
