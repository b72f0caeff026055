//! YAML as kubectl means it.
//!
//! A parser crate finds the structure; what stands here makes values of it. YAML 1.1 decides which words are
//! numbers and truth values, as in kubectl, so `on`, `0x10`, `010` and `1_000` are none of them text. Aliases and merge
//! keys (`<<`) are resolved; what is merged counts as if it stood there, so what comes later counts more. Every [`Node`] knows its line.
//!
//! * [`read`] makes a [`Node`] of a text with one document.
//! * [`Node::to_json`] makes JSON of it.
//! * [`from_str`] reads into a type.
//!
//! A text is refused that nests deeper than 128 levels, as JSON is, or whose anchors and aliases repeat more than 64 MiB.
//! No [`YamlError`] quotes the text: it may hold a secret.

mod compose;
mod deserializer;
mod error;
mod node;
mod place;
mod scalar;

pub(crate) use compose::read;
pub(crate) use deserializer::from_str;
pub(crate) use error::{Problem, YamlError};
pub(crate) use node::{Content, Entry, Node};
pub(crate) use place::Place;
use scalar::{Meaning, Scalar};

#[cfg(test)]
mod tests;
