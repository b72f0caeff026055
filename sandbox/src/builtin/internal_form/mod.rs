//! The form of values in some errors.
//!
//! A real server shows a part of an object as its own Go type writes it: with all fields in the order of the type, and with
//! other names than in the API. `data/internal.json.gz` has these types. If a specification may not change, the error ends in
//! the difference between the old and the new one, line by line.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `types.rs` | the internal types |
//! | `shown.rs` | a value as its type writes it |
//! | `difference.rs` | the difference between two texts |

mod difference;
mod shown;
mod types;

use serde_json::Value;

use crate::schema::{FieldError, FieldErrorKind};

/// A value as the internal type `of` writes it, in one line.
pub(super) fn internal_text(of: &str, value: &Value) -> String {
    shown::of_type(of, value).to_string()
}

/// The error that a value is invalid, which shows it as the internal type `of` writes it.
pub(super) fn internal_invalid(of: &str, path: &str, value: &Value, detail: &str) -> FieldError {
    let detail = format!("{}: {detail}", internal_text(of, value));
    FieldError::new(FieldErrorKind::Invalid, path, None, detail)
}

/// The error that a value is not supported, which shows it as the internal type `of` writes it.
pub(super) fn internal_not_supported(
    of: &str,
    path: &str,
    value: &Value,
    supported: &[&str],
) -> FieldError {
    let supported: Vec<String> = supported.iter().map(|one| format!("{one:?}")).collect();
    let (shown, supported) = (internal_text(of, value), supported.join(", "));
    let detail = format!("{shown}: supported values: {supported}");
    FieldError::new(FieldErrorKind::NotSupported, path, None, detail)
}

/// The lines in which two values of the internal type `of` differ, after `said`.
pub(super) fn changed(of: &str, said: &str, old: &Value, new: &Value) -> String {
    let [old, new] = [old, new].map(|value| shown::of_type(of, value).indented());
    format!("{said}\n{}", difference::unified(&old, &new))
}
