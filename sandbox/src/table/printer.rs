use jiff::Timestamp;
use serde_json::Value;

/// How the objects of a built-in kind are shown.
#[derive(Clone, Copy)]
pub(super) struct Printer {
    /// Whether the name is the first column.
    pub(super) named: bool,
    /// The columns after the name: heading, type, priority.
    pub(super) columns: &'static [(&'static str, &'static str, i32)],
    /// As many cells as there are columns.
    pub(super) cells: fn(&Value, Timestamp) -> Vec<Value>,
}
