//! YAML as people write it.
//!
//! The reader is large for each type that it is compiled for, so it is compiled for a tree alone; everything else is
//! read from that.

mod tree;
mod typed;
mod wrong;

pub(crate) use serde_saphyr::options::DuplicateKeyPolicy;
pub(crate) use tree::{Node, Tree, parse, written};
pub(crate) use typed::read;
pub(crate) use wrong::Wrong;

#[cfg(test)]
mod tests;
