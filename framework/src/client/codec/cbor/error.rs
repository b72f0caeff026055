use std::fmt;

use crate::resource::decode_reason;

/// Why CBOR could not be decoded into a type, or a value could not be encoded.
#[derive(Debug)]
pub(super) enum CborError {
    /// The input ends too early.
    End,
    /// The input is not CBOR, or not in the form that Kubernetes allows.
    Malformed(&'static str),
    /// A value does not fit the type. The text is from serde and may quote the value.
    Misfit(Box<str>),
}

impl CborError {
    /// The reason, without any value.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::End => "the CBOR ends too early".to_owned(),
            Self::Malformed(what) => format!("not CBOR: {what}"),
            Self::Misfit(text) => decode_reason(text),
        }
    }
}

impl fmt::Display for CborError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misfit(text) => f.write_str(text),
            other => f.write_str(&other.reason()),
        }
    }
}

impl std::error::Error for CborError {}

impl serde::de::Error for CborError {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self::Misfit(text.to_string().into())
    }
}

impl serde::ser::Error for CborError {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self::Misfit(text.to_string().into())
    }
}

impl From<minicbor::decode::Error> for CborError {
    fn from(error: minicbor::decode::Error) -> Self {
        match error.is_end_of_input() {
            true => Self::End,
            false => Self::Malformed("a byte that begins no item"),
        }
    }
}

/// Writing to memory does not fail.
impl From<minicbor::encode::Error<std::convert::Infallible>> for CborError {
    fn from(_: minicbor::encode::Error<std::convert::Infallible>) -> Self {
        Self::Malformed("an item cannot be written")
    }
}
