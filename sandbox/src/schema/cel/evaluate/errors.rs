use cel::{ExecutionError, Value};

/// Why an evaluation has no value.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::schema) enum Stopped {
    /// The expression failed. The text is that of cel-go.
    Failed(String),
    /// The expression cost more than one may.
    TooExpensive,
}

pub(super) type Result<T> = std::result::Result<T, Stopped>;

impl Stopped {
    pub(super) fn failed(text: impl Into<String>) -> Self {
        Self::Failed(text.into())
    }

    /// The arguments have types for which there is no such function. The checker finds this unless it does not know a type.
    pub(super) fn no_overload() -> Self {
        Self::failed("no such overload")
    }

    pub(super) fn no_key(key: impl std::fmt::Display) -> Self {
        Self::failed(format!("no such key: {key}"))
    }
}

impl From<ExecutionError> for Stopped {
    fn from(error: ExecutionError) -> Self {
        match error {
            ExecutionError::NoSuchKey(key) => Self::no_key(key),
            ExecutionError::DivisionByZero(_) => Self::failed("division by zero"),
            ExecutionError::RemainderByZero(_) => Self::failed("modulus by zero"),
            ExecutionError::Overflow(_, left, _) => Self::failed(match left {
                Value::UInt(_) => "unsigned integer overflow",
                Value::Duration(_) => "duration overflow",
                Value::Timestamp(_) => "timestamp overflow",
                _ => "integer overflow",
            }),
            ExecutionError::FunctionError { message, .. } => Self::failed(message),
            ExecutionError::NoSuchOverload(_)
            | ExecutionError::ValuesNotComparable(..)
            | ExecutionError::UnexpectedType { .. }
            | ExecutionError::UnsupportedBinaryOperator(..)
            | ExecutionError::UnsupportedTargetType { .. } => Self::no_overload(),
            other => Self::failed(other.to_string()),
        }
    }
}
