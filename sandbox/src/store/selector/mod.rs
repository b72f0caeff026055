//! Label and field selectors, as the `labelSelector` and `fieldSelector` of a request write them.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `label.rs`, `lexer.rs` | label selectors, and their tokens |
//! | `field.rs` | field selectors |
//! | `selection.rs` | both together |

mod field;
mod label;
mod lexer;
mod selection;

pub(crate) use field::FieldSelector;
pub(crate) use label::LabelSelector;
pub(crate) use selection::Selection;
