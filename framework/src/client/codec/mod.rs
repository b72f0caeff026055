//! How objects are encoded, and which encodings a server accepts.
//!
//! * [`Encoding`] is the choice of a program, made with [`ClientBuilder::encoding`](super::ClientBuilder::encoding).
//! * [`Codec`] reads one encoding. An encoding may lack a kind, which is then sent as JSON: protobuf has only the built-in kinds.
//! * [`Format`] says what bytes are: a document in an encoding, or a part of one.
//! * [`NegotiatedEncodings`] remembers the groups of kinds for which a server refused an encoding. They use JSON from
//!   then on.
//!
//! The layers above decode with serde, in one pass from bytes to the typed object, whatever the codec.
//!
//! | file | holds |
//! | --- | --- |
//! | `encoding.rs` | [`Encoding`], and a document with its encoding |
//! | `format.rs` | [`Format`] |
//! | `part.rs` | [`Part`]: a part of a document, which is read later |
//! | `codec.rs` | [`Codec`]: the trait |
//! | `outline.rs` | [`ObjectOutline`]: what a cache needs of an object |
//! | `object_codec.rs` | [`ObjectCodec`]: a codec that a program adds |
//! | `json/`, `cbor/`, `protobuf/` | the codecs |
//! | `cuts.rs` | [`Cuts`]: how a part of an object is left out of its bytes |
//! | `frames.rs` | [`Frames`]: splits the body of a watch |
//! | `negotiated_encodings.rs` | [`NegotiatedEncodings`] |
//! | `error_path.rs` | the path to an error in a document |
//! | `key_reader.rs` | reads a key of a map |
//! | `stack_bound.rs` | limits the stack for types that contain themselves |

#[cfg(feature = "cbor")]
mod cbor;
mod codec;
mod cuts;
mod encoding;
mod error_path;
mod format;
mod frames;
mod json;
mod key_reader;
mod negotiated_encodings;
mod object_codec;
mod outline;
mod part;
mod protobuf;
mod stack_bound;
#[cfg(test)]
mod test_codec;

#[cfg(feature = "cbor")]
pub(crate) use cbor::Cbor;
pub(crate) use codec::{Codec, Opened, Unwritable, WriteCodec};
pub(crate) use cuts::Cuts;
pub use encoding::Encoding;
pub(crate) use encoding::{Encoded, content_type};
pub(crate) use format::{Format, with_codec};
pub(crate) use frames::Frames;
pub(crate) use json::{Json, JsonIndex, JsonPlace};
pub(crate) use negotiated_encodings::NegotiatedEncodings;
pub use object_codec::{AddedCodec, EventFrame, ObjectCodec};
pub(crate) use outline::ObjectOutline;
pub(crate) use part::Part;
pub(crate) use protobuf::{Protobuf, Shape};
#[cfg(test)]
pub(crate) use test_codec::{ALL_ENCODINGS, Framed};
