use std::{
    fmt,
    hash::{Hash, Hasher},
    ops::Range,
};

use crate::resource::ApiResource;

/// An encoding of objects that a program adds to those of the client: see [`Encoding::added`](super::Encoding::added).
///
/// A codec stands between an encoding and JSON. The client asks for the encoding of each kind and version that the codec has. The codec turns what
/// comes into JSON, which the client decodes, checks and stores as if the server had sent it. A server may answer in JSON anyway, and a server that
/// refuses the encoding (406, 415) is asked for JSON.
///
/// ```
/// use pilothouse::client::{Client, Config, Encoding, EventFrame, ObjectCodec};
/// use pilothouse::resource::ApiResource;
///
/// /// JSON after one byte that says how it is compressed.
/// struct Marked;
///
/// impl ObjectCodec for Marked {
///     fn media_type(&self) -> &'static str {
///         "application/vnd.example.marked"
///     }
///
///     fn has(&self, resource: &ApiResource) -> bool {
///         resource.group == "example.org" && resource.version == "v1"
///     }
///
///     fn decode(&self, document: &[u8]) -> Result<Vec<u8>, String> {
///         match document {
///             [0, json @ ..] => Ok(json.to_vec()),
///             _ => Err("an unknown compression".to_owned()),
///         }
///     }
///
///     fn event(&self, body: &[u8]) -> Result<Option<EventFrame>, String> {
///         let end = body.iter().position(|byte| *byte == b'\n');
///         Ok(end.map(|end| EventFrame { document: 0..end, length: end + 1 }))
///     }
/// }
///
/// # let config = Config::new("https://host:6443".parse().unwrap());
/// let builder = Client::builder(config).encoding(Encoding::added(&Marked));
/// ```
pub trait ObjectCodec: Send + Sync {
    /// The media type, in lower case and without parameters.
    fn media_type(&self) -> &'static str;

    /// Whether the codec reads and writes objects of that kind in that version. The others have
    /// [another encoding](crate::client::ClientBuilder::encoding_of_other_kinds), which is JSON by default.
    fn has(&self, resource: &ApiResource) -> bool;

    /// Turns a document into JSON: an object, a list, a `Status`, or an event of a watch.
    ///
    /// # Errors
    /// The reason why the bytes are no such document. The text becomes a part of an error. It must not quote the document, because that may be a Secret.
    fn decode(&self, document: &[u8]) -> Result<Vec<u8>, String>;

    /// Whether [`encode`](Self::encode) writes the bodies of requests. By default they are JSON.
    fn has_writer(&self) -> bool {
        false
    }

    /// Turns an object in JSON, which names its version in `apiVersion`, into the body of a create or an update.
    ///
    /// # Errors
    /// The object cannot be written. The default always fails.
    fn encode(&self, _json: &[u8]) -> Result<Vec<u8>, String> {
        Err("the codec has no writer".to_owned())
    }

    /// Finds the first event in the body of a watch. Returns `None` if its end has not come yet. The next call then gets the same bytes and more.
    ///
    /// # Errors
    /// The reason why the body can have no event. The watch ends.
    fn event(&self, body: &[u8]) -> Result<Option<EventFrame>, String>;
}

/// Where an event lies in the body of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFrame {
    /// The bytes of the event.
    pub document: Range<usize>,
    /// The length of the frame: the next one begins there.
    pub length: usize,
}

/// An [`ObjectCodec`], which is known by its media type.
#[derive(Clone, Copy)]
pub struct AddedCodec(pub(super) &'static dyn ObjectCodec);

impl PartialEq for AddedCodec {
    fn eq(&self, other: &Self) -> bool {
        self.0.media_type() == other.0.media_type()
    }
}

impl Eq for AddedCodec {}

impl Hash for AddedCodec {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.media_type().hash(state);
    }
}

impl fmt::Debug for AddedCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.media_type())
    }
}
