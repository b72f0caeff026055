//! Label selectors and field selectors.
//!
//! | file | holds |
//! | --- | --- |
//! | `selector.rs` | [`Selector`]: selects objects by their labels |
//! | `requirement.rs` | [`Requirement`] and [`Operator`]: one requirement of it, and the rules for valid labels |
//! | `parser.rs` | parses the syntax of kubectl's `-l` |
//! | `field_selector.rs` | [`FieldSelector`] and [`FieldTerm`]: select objects by their fields |
//! | `labels.rs` | [`Labels`]: one set of labels as a map, as metadata and as a selector |
//! | `error.rs` | [`SelectorError`] |

mod error;
mod field_selector;
mod labels;
mod parser;
mod requirement;
mod selector;
#[cfg(test)]
mod tests;

pub use error::SelectorError;
pub use field_selector::{FieldSelector, FieldTerm};
pub use labels::Labels;
pub(crate) use requirement::check_key as check_qualified_name;
pub use requirement::{Operator, Requirement};
pub use selector::Selector;
