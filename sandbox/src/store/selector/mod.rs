//! Label and field selectors, as `labelSelector` and `fieldSelector` of a request write them.

mod field;
mod label;
mod lexer;
mod selection;

pub(crate) use field::FieldSelector;
pub(crate) use label::LabelSelector;
pub(crate) use selection::Selection;
