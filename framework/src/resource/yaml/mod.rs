//! YAML with the meaning that it has in kubectl.
//!
//! The crate `granit-parser` finds the structure. This module gives the scalars their values. As in kubectl, YAML 1.1
//! decides which words are numbers and booleans: `on`, `0x10`, `010` and `1_000` are not text. Aliases and merge keys
//! (`<<`) are resolved. Merged entries count as if they were written at the place of the merge key, so a later entry
//! replaces an earlier one. Every [`Node`] knows its line.
//!
//! * [`read`] parses a text with one document into a [`Node`].
//! * [`Node::to_json`] converts it to JSON.
//! * [`from_str`] reads a text into a type.
//!
//! Two limits protect against hostile texts: at most 128 levels of nesting, as in JSON, and at most 64 MiB for copies of
//! anchored values. No [`YamlError`] quotes the text, because it may hold a secret (R15).
//!
//! The crate `serde-saphyr` writes YAML for the framework. Its reader has no options for these behaviours:
//!
//! | behaviour | test |
//! | --- | --- |
//! | `1.0` and `1e3` are whole numbers, `08` and `1_0.5` are numbers, `1e400` and `tRue` are text | `words_and_numbers_mean_what_they_mean_to_kubectl` |
//! | `{010: a, yes: b}` has the keys `8` and `true`; a merged entry replaces an earlier one; with an unknown tag a number is text | `structure_is_read_as_kubectl_reads_it` |
//! | `{1: a, '1': b}` has a duplicate key, `!!null x` is an error | `each_problem_is_reported_at_its_place` |
//! | 128 levels need no more than the stack of a tokio worker thread | `the_deepest_document_needs_no_large_stack` |
//!
//! | file | holds |
//! | --- | --- |
//! | `compose.rs` | [`read`]: from the parser's events to a [`Node`], with anchors, aliases and merge keys |
//! | `scalar.rs` | [`Scalar`]: the meaning of a word or number |
//! | `node.rs` | [`Node`]: a value and its place |
//! | `deserializer.rs` | [`from_str`], and serde's `Deserializer` for [`Node`] |
//! | `error.rs` | [`YamlError`], [`Problem`] and [`Place`] |

mod compose;
mod deserializer;
mod error;
mod node;
mod scalar;

pub(crate) use compose::read;
pub(crate) use deserializer::from_str;
pub(crate) use error::{Place, Problem, YamlError};
pub(crate) use node::{Content, Entry, Node};
use scalar::{Meaning, Scalar};

#[cfg(test)]
mod tests;
