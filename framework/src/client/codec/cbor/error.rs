use std::fmt;

use crate::resource::misfit;

/// Why CBOR could not be read into a type, or a value not written.
#[derive(Debug)]
pub(super) enum CborError {
    /// It breaks off.
    End,
    /// It is no CBOR, or none that Kubernetes allows.
    Malformed(&'static str),
    /// A value does not fit the type. The text is serde's and may quote the value.
    Misfit(Box<str>),
}

impl CborError {
    /// The reason, without any value.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::End => "the CBOR ends too early".to_owned(),
            Self::Malformed(what) => format!("not CBOR: {what}"),
            Self::Misfit(text) => misfit(text),
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

/// Writing goes to memory.
impl From<minicbor::encode::Error<std::convert::Infallible>> for CborError {
    fn from(_: minicbor::encode::Error<std::convert::Infallible>) -> Self {
        Self::Malformed("an item cannot be written")
    }
}
