//! Kubernetes protobuf: objects of built-in kinds as bytes, and bytes as JSON.
//!
//! Everything behind this module uses JSON. The bytes are those of a real API server, whose messages are generated from Go
//! types: every field that is not a pointer is written, in the order of the numbers, and JSON has other names for the fields
//! than `generated.proto`. So the codec follows a table that is made from the Go types, and knows no kind itself.
//!
//! | file | what it does |
//! | --- | --- |
//! | `table.rs` | the table of messages, fields and kinds, `builtin/data/protobuf.json.gz`; `tests/cluster/protobuf` makes it |
//! | `reader.rs`, `writer.rs` | numbers, tags and lengths |
//! | `decode.rs` | reads a message: one value for each field that the bytes contain |
//! | `complete.rs` | turns these values into the JSON that Go writes, with the zero values of the other fields |
//! | `encode.rs` | writes a message from JSON |
//! | `form.rs` | types whose JSON differs from their message: times, quantities, and so on |
//! | `envelope.rs` | the envelope of an object, which names its kind, and the events of a watch |
//!
//! Limits: a message may be nested as deeply as JSON ([`depth::LIMIT`](crate::depth::LIMIT)). Reading takes time and memory
//! in proportion to the bytes; the fields that Go always writes are the largest factor.

mod complete;
mod decode;
mod encode;
mod envelope;
mod form;
#[cfg(test)]
mod properties;
mod reader;
mod table;
#[cfg(test)]
mod tests;
mod writer;

pub use envelope::{Undecodable, decode, encode};
pub(crate) use envelope::{encode_event, has_message};
