use std::fmt;

use crate::resource::decode_reason;

/// Why protobuf could not be decoded into a type.
#[derive(Debug)]
pub(super) enum ProtobufError {
    /// The bytes end too early.
    End,
    /// The bytes are not protobuf, or not in the form that Kubernetes writes.
    Malformed(&'static str),
    /// A value does not fit the type. The text is from serde and may quote the value.
    Misfit(Box<str>),
}

impl ProtobufError {
    /// The reason, without any value.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::End => "the protobuf ends too early".to_owned(),
            Self::Malformed(what) => format!("not protobuf of Kubernetes: {what}"),
            Self::Misfit(text) => decode_reason(text),
        }
    }
}

impl fmt::Display for ProtobufError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misfit(text) => f.write_str(text),
            other => f.write_str(&other.reason()),
        }
    }
}

impl std::error::Error for ProtobufError {}

impl serde::de::Error for ProtobufError {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self::Misfit(text.to_string().into())
    }
}
