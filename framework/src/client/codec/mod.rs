//! How objects are encoded, and which encodings a server accepts.
//!
//! * [`Encoding`] is the choice of a program, made with [`ClientBuilder::encoding`](super::ClientBuilder::encoding).
//! * [`Codec`] reads and writes one encoding. A codec may decline a kind, which is then sent as JSON. So a codec that
//!   needs a schema, such as protobuf for the built-in kinds, would fit in.
//! * [`NegotiatedEncodings`] remembers the groups of kinds for which a server refused an encoding. They use JSON from
//!   then on.
//!
//! The layers above decode with serde, in one pass from bytes to the typed object, whatever the codec.
//!
//! | file | holds |
//! | --- | --- |
//! | `encoding.rs` | [`Encoding`], and a document with its encoding |
//! | `codec.rs` | [`Codec`]: the trait |
//! | `json/`, `cbor/` | the codecs |
//! | `frames.rs` | [`Frames`]: splits the body of a watch |
//! | `negotiated_encodings.rs` | [`NegotiatedEncodings`] |
//! | `error_path.rs` | the path to an error in a document |
//! | `stack_bound.rs` | limits the stack for types that contain themselves |

#[cfg(feature = "cbor")]
mod cbor;
mod codec;
mod encoding;
mod error_path;
mod frames;
mod json;
mod negotiated_encodings;
mod stack_bound;
#[cfg(test)]
mod test_codec;

#[cfg(feature = "cbor")]
pub(crate) use cbor::Cbor;
pub(crate) use codec::{Codec, Unwritable};
pub use encoding::Encoding;
pub(crate) use encoding::{Encoded, content_type, with_codec};
pub(crate) use frames::Frames;
pub(crate) use json::{Json, JsonIndex};
pub(crate) use negotiated_encodings::NegotiatedEncodings;
#[cfg(test)]
pub(crate) use test_codec::{ALL_ENCODINGS, Framed};
