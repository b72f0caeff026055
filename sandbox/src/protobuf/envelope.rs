use serde_json::{Map, Value};

use super::decode::decode_message;
use super::encode::{Source, encode_message};
use super::table::{MessageId, envelope, message_of};
use super::writer::Writer;
use crate::go::base64_bytes;

/// What stands before the envelope of every object.
const MAGIC: &[u8] = b"k8s\0";

/// Why a body cannot be decoded.
#[derive(Debug, PartialEq)]
pub struct Undecodable {
    /// The `apiVersion` and `kind` of the object, if they are known.
    pub kind: Option<(String, String)>,
    /// The text of a real server's decoder.
    pub text: String,
}

impl Undecodable {
    fn new(text: impl ToString) -> Self {
        Self {
            kind: None,
            text: text.to_string(),
        }
    }
}

/// Decodes an object, and hands the JSON that Go writes for it to `then`. The envelope may leave out the version and the
/// kind: then they are the expected ones. Of a kind without a message, the object has only these two fields.
///
/// # Errors
/// If the body is not such an object.
pub fn decode<T>(
    body: &[u8],
    (expected_version, expected_kind): (&str, &str),
    then: impl Fn(Value) -> T,
) -> Result<T, Undecodable> {
    let outer = match body.strip_prefix(MAGIC) {
        _ if body.is_empty() => return Err(Undecodable::new("empty data")),
        None => {
            return Err(Undecodable::new(format!(
                "provided data does not appear to be a protobuf message, expected prefix [{}]",
                MAGIC
                    .iter()
                    .map(u8::to_string)
                    .collect::<Vec<_>>()
                    .join(" ")
            )));
        }
        Some([]) => return Err(Undecodable::new("empty body")),
        Some(outer) => outer,
    };
    let outer = decode_message(envelope(), outer, |outer| outer).map_err(Undecodable::new)?;
    let text = |name: &str| outer.get(name).and_then(Value::as_str).unwrap_or_default();
    let api_version = match text("apiVersion") {
        given if given.is_empty() || given.matches('/').count() > 1 => expected_version,
        given => given,
    };
    let kind = match text("kind") {
        "" => expected_kind,
        given => given,
    };
    let named = |mut object: Map<String, Value>| {
        object.insert("apiVersion".into(), api_version.into());
        object.insert("kind".into(), kind.into());
        then(object.into())
    };
    let Some(id) = known(api_version, kind) else {
        return Ok(named(Map::new()));
    };
    let inner = base64_bytes(text("raw"));
    decode_message(id, &inner, named).map_err(|malformed| Undecodable {
        kind: Some((api_version.to_owned(), kind.to_owned())),
        text: malformed.to_string(),
    })
}

/// The message of a kind. The documents that describe the core group have no version.
fn known(api_version: &str, kind: &str) -> Option<MessageId> {
    match api_version {
        "" => message_of("v1", kind),
        api_version => message_of(api_version, kind),
    }
}

/// Whether objects of this kind can be written.
pub(crate) fn has_message(api_version: &str, kind: &str) -> bool {
    message_of(api_version, kind).is_some()
}

/// Encodes an object by its `apiVersion` and `kind`. Returns `None` if the kind has no message.
pub fn encode(object: &Value) -> Option<Vec<u8>> {
    let mut writer = Writer::default();
    write(object, &mut writer)?;
    Some(writer.into_bytes())
}

fn write(object: &Value, writer: &mut Writer) -> Option<()> {
    let fields = object.as_object()?;
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let id = known(api_version, kind)?;
    // The types of the content and of its encoding.
    writer.value(4, b"");
    writer.value(3, b"");
    writer.nested(2, |writer| {
        encode_message(id, &Source::Object(fields), writer)
    });
    writer.nested(1, |writer| {
        writer.value(2, kind.as_bytes());
        writer.value(1, api_version.as_bytes());
    });
    writer.bytes(MAGIC);
    Some(())
}

/// Encodes an event of a watch, `{"type": …, "object": …}`, with its length before it. Returns `None` if the kind of the
/// object has no message.
pub(crate) fn encode_event(event: &Value) -> Option<Vec<u8>> {
    let mut writer = Writer::default();
    let mut written = Some(());
    writer.nested(2, |writer| {
        writer.nested(1, |writer| written = write(&event["object"], writer));
    });
    written?;
    writer.value(1, event["type"].as_str().unwrap_or_default().as_bytes());
    let event = writer.into_bytes();
    let length = u32::try_from(event.len()).ok()?;
    Some([&length.to_be_bytes()[..], &event].concat())
}
