use super::{Encoding, Shape};

/// What bytes are: a whole document, or a part of one.
///
/// A part of a document in JSON or CBOR is read as the document is. A part in protobuf does not say what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Protobuf(Shape),
    #[cfg(feature = "cbor")]
    Cbor,
    #[cfg(test)]
    Framed,
}

impl From<Encoding> for Format {
    /// The format of a whole document.
    fn from(encoding: Encoding) -> Self {
        match encoding {
            // What comes in an added encoding is turned into JSON at once.
            Encoding::Json | Encoding::Added(_) => Self::Json,
            Encoding::Protobuf => Self::Protobuf(Shape::Document),
            #[cfg(feature = "cbor")]
            Encoding::Cbor => Self::Cbor,
            #[cfg(test)]
            Encoding::Framed => Self::Framed,
        }
    }
}

impl Format {
    /// The format of a frame of a watch.
    pub(crate) fn of_frame(encoding: Encoding) -> Self {
        match encoding {
            Encoding::Protobuf => Self::Protobuf(Shape::Event),
            other => other.into(),
        }
    }
}

/// Binds `$codec` to the codec of `$format`, which is an [`Encoding`] or a [`Format`], in `$body`.
macro_rules! with_codec {
    ($format:expr, $codec:ident => $body:expr) => {
        match $crate::client::codec::Format::from($format) {
            $crate::client::codec::Format::Json => {
                let $codec = $crate::client::codec::Json;
                $body
            }
            $crate::client::codec::Format::Protobuf(shape) => {
                let $codec = $crate::client::codec::Protobuf(shape);
                $body
            }
            #[cfg(feature = "cbor")]
            $crate::client::codec::Format::Cbor => {
                let $codec = $crate::client::codec::Cbor;
                $body
            }
            #[cfg(test)]
            $crate::client::codec::Format::Framed => {
                let $codec = $crate::client::codec::Framed;
                $body
            }
        }
    };
}
pub(crate) use with_codec;
