use std::fmt;

use serde_json::{Number, Value};

/// The kind of a field error, with the names and texts of the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldErrorKind {
    /// A value is missing.
    Required,
    /// The same key or item occurs more than once.
    Duplicate,
    /// The value is malformed or out of bounds.
    Invalid,
    /// The value has the wrong JSON type.
    TypeInvalid,
    /// The value is not one of the allowed values.
    NotSupported,
    /// The value is well formed but not allowed here.
    Forbidden,
    /// The text is longer than allowed.
    TooLong,
    /// There are more items than allowed.
    TooMany,
    /// The value refers to something that does not exist.
    NotFound,
    /// The check itself failed.
    Internal,
}

impl FieldErrorKind {
    /// The `reason` of a cause in a `Status`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::NotFound => "FieldValueNotFound",
            Self::Internal => "InternalError",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::NotFound => "Not found",
            Self::Internal => "Internal error",
        }
    }

    /// Whether CEL rules cannot rely on a value with this error.
    pub(super) fn blocks_rules(self) -> bool {
        matches!(
            self,
            Self::NotSupported | Self::Required | Self::TooLong | Self::TooMany | Self::TypeInvalid
        )
    }

    fn shows_value(self) -> bool {
        !matches!(
            self,
            Self::Required | Self::Forbidden | Self::TooLong | Self::Internal
        )
    }
}

/// One error in one field of an object.
///
/// [`Display`](fmt::Display) is the text that clients see: `spec.replicas: Invalid value: 101: …`.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// The kind of the error.
    pub kind: FieldErrorKind,
    /// The path of the field, such as `spec.containers[0].name`.
    pub field: String,
    /// The value, unless it is too large to show.
    pub value: Option<Value>,
    /// What is expected; may be empty.
    pub detail: String,
}

impl FieldError {
    /// An error in a field.
    pub fn new(
        kind: FieldErrorKind,
        field: impl fmt::Display,
        value: impl Into<Option<Value>>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            field: field.to_string(),
            value: value.into(),
            detail: detail.into(),
        }
    }

    pub(crate) fn required(field: impl fmt::Display, detail: impl Into<String>) -> Self {
        Self::new(
            FieldErrorKind::Required,
            field,
            Value::String(String::new()),
            detail,
        )
    }

    pub(crate) fn forbidden(field: impl fmt::Display, detail: impl Into<String>) -> Self {
        Self::new(
            FieldErrorKind::Forbidden,
            field,
            Value::String(String::new()),
            detail,
        )
    }

    pub(crate) fn invalid(
        field: impl fmt::Display,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(FieldErrorKind::Invalid, field, Some(value.into()), detail)
    }

    pub(crate) fn duplicate(field: impl fmt::Display, value: Value) -> Self {
        Self::new(FieldErrorKind::Duplicate, field, value, "")
    }

    pub(crate) fn not_supported<'a>(
        field: impl fmt::Display,
        value: impl Into<Value>,
        supported: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let list: Vec<String> = supported.into_iter().map(|v| format!("{v:?}")).collect();
        let detail = if list.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", list.join(", "))
        };
        Self::new(
            FieldErrorKind::NotSupported,
            field,
            Some(value.into()),
            detail,
        )
    }

    pub(crate) fn too_long(field: impl fmt::Display, max: u64) -> Self {
        let unit = if max == 1 { "byte" } else { "bytes" };
        let value = Value::String("<value omitted>".into());
        Self::new(
            FieldErrorKind::TooLong,
            field,
            value,
            format!("may not be more than {max} {unit}"),
        )
    }

    pub(crate) fn too_many(field: impl fmt::Display, actual: usize, max: u64) -> Self {
        let unit = if max == 1 { "item" } else { "items" };
        Self::new(
            FieldErrorKind::TooMany,
            field,
            Value::from(actual),
            format!("must have at most {max} {unit}"),
        )
    }

    /// The error with the path of the value that was checked. The text names the field only within that value.
    pub(super) fn within(mut self, path: impl fmt::Display) -> Self {
        self.field = match self.field.as_str() {
            "<nil>" => path.to_string(),
            inner => format!("{path}.{inner}"),
        };
        self
    }

    /// The text without the field, as in the `message` of a `Status` cause.
    pub fn body(&self) -> String {
        let mut text = self.kind.title().to_owned();
        if let Some(value) = self.value.as_ref().filter(|_| self.kind.shows_value()) {
            text.push_str(": ");
            match value {
                Value::String(s) => text.push_str(&format!("{s:?}")),
                Value::Number(n) => text.push_str(&number(n)),
                other => text.push_str(&other.to_string()),
            }
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

impl std::error::Error for FieldError {}

/// A number as the API server prints it: without a fraction if it is whole.
pub(crate) fn number(n: &Number) -> String {
    match n.as_f64() {
        Some(x) if n.is_f64() && x.fract() == 0.0 && x.abs() < 1e21 => format!("{x:.0}"),
        _ => n.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn errors_have_the_texts_of_the_server() {
        let table = [
            (
                FieldError::invalid(
                    "spec.replicas",
                    101,
                    "spec.replicas in body should be less than or equal to 100",
                ),
                "spec.replicas: Invalid value: 101: spec.replicas in body should be less than or equal to 100",
            ),
            (
                FieldError::required("spec.html", ""),
                "spec.html: Required value",
            ),
            (
                FieldError::not_supported("spec.mode", "x", ["a", "b"]),
                "spec.mode: Unsupported value: \"x\": supported values: \"a\", \"b\"",
            ),
            (
                FieldError::too_long("spec.name", 3),
                "spec.name: Too long: may not be more than 3 bytes",
            ),
            (
                FieldError::too_many("spec.items", 3, 1),
                "spec.items: Too many: 3: must have at most 1 item",
            ),
            (
                FieldError::duplicate("spec.items[1]", json!({"name": "a"})),
                "spec.items[1]: Duplicate value: {\"name\":\"a\"}",
            ),
            (
                FieldError::new(FieldErrorKind::Invalid, "spec", None, "too much"),
                "spec: Invalid value: too much",
            ),
            (
                FieldError::forbidden("a.b", "must not be set"),
                "a.b: Forbidden: must not be set",
            ),
        ];
        for (error, text) in table {
            assert_eq!(error.to_string(), text);
        }
    }
}
