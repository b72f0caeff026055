use super::{
    error::ProtobufError::{self, Malformed},
    table::{MessageId, table},
    wire::{BYTES, Rest},
};

/// What stands before the envelope of every object.
const MAGIC: &[u8] = b"k8s\0";

/// An object with what names its kind: `runtime.Unknown` of apimachinery.
#[derive(Clone, Copy)]
pub(super) struct Envelope<'de> {
    pub(super) whole: &'de [u8],
    pub(super) api_version: &'de str,
    pub(super) kind: &'de str,
    pub(super) object: &'de [u8],
}

impl<'de> Envelope<'de> {
    /// `None` if the bytes do not begin as an envelope does.
    pub(super) fn read(whole: &'de [u8]) -> Result<Option<Self>, ProtobufError> {
        let Some(content) = whole.strip_prefix(MAGIC) else {
            return Ok(None);
        };
        let [types, object, encoding] = fields(content)?;
        let [api_version, kind, _] = fields(types)?;
        if !encoding.is_empty() {
            return Err(Malformed("an object that is compressed in its envelope"));
        }
        let text = |text| {
            std::str::from_utf8(text).map_err(|_| Malformed("the name of a kind that is not UTF-8"))
        };
        Ok(Some(Self {
            whole,
            api_version: text(api_version)?,
            kind: text(kind)?,
            object,
        }))
    }

    /// The message of the kind.
    pub(super) fn message(&self) -> Result<MessageId, ProtobufError> {
        let message = table().message_of(self.api_version, self.kind);
        message.ok_or(Malformed(
            "a kind whose fields this version of the program does not know",
        ))
    }
}

/// The first three fields of a message, which hold texts or messages. One that is not set is empty.
fn fields(message: &[u8]) -> Result<[&[u8]; 3], ProtobufError> {
    let mut fields = [&[][..]; 3];
    let mut rest = Rest(message);
    while !rest.is_empty() {
        let tag = rest.tag()?;
        match fields.get_mut(tag.number as usize - 1) {
            Some(field) if tag.wire_type == BYTES => *field = rest.bytes()?,
            Some(_) => return Err(Malformed("a field of another type")),
            None => rest.skip(tag)?,
        }
    }
    Ok(fields)
}
