//! How objects are written on the wire, and what a server takes.
//!
//! * [`Encoding`] is what a program asks for, by
//!   [`ClientBuilder::encoding`](super::ClientBuilder::encoding).
//! * [`Codec`] is one encoding's reading and writing. A codec may decline a kind, which then goes
//!   as JSON; so one that needs a schema, such as protobuf for the built-in kinds, fits in.
//! * [`Agreed`] is what is known of a server: a group of kinds for which it refused an encoding is
//!   asked in JSON from then on.
//!
//! Everything above goes by serde in one pass from bytes to the typed object, whatever the codec.

mod agreed;
#[cfg(feature = "cbor")]
mod cbor;
mod codec;
#[cfg(test)]
mod depth;
mod encoded;
mod encoding;
mod frames;
mod json;
#[cfg(test)]
mod test_codec;
#[cfg(test)]
mod tests;
mod trail;

pub(crate) use agreed::Agreed;
#[cfg(feature = "cbor")]
pub(crate) use cbor::Cbor;
pub(crate) use codec::{Codec, Unwritable};
pub(crate) use encoded::Encoded;
pub use encoding::Encoding;
pub(crate) use encoding::with_codec;
pub(crate) use frames::Frames;
pub(crate) use json::{Json, Outline};
#[cfg(test)]
pub(crate) use test_codec::Framed;
#[cfg(test)]
pub(crate) use tests::ALL;
