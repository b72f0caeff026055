use super::{
    envelope::Envelope,
    error::ProtobufError::{self, Malformed},
    input::Input,
    table::{Count, Field, FieldId, Kind, MessageId, table},
    wire::{self, BYTES, Rest, Tag, wire_type},
};

/// The fields of a message as JSON has them, in the order of their numbers.
///
/// Go writes every field that is not a pointer, and in the order of the numbers. JSON lacks some of those that have Go's zero value, and has
/// others even if they are not set. The table says which.
pub(super) struct Fields<'de> {
    /// `apiVersion` and `kind`, which come first. Empty if JSON does not have them, or if they have come.
    api_version: &'de str,
    kind: &'de str,
    /// The message whose fields come now.
    level: Level<'de>,
    /// The messages in whose place these fields stand, outermost first. Few messages have such a place.
    outer: Vec<Level<'de>>,
}

#[derive(Clone, Copy)]
struct Level<'de> {
    fields: &'static [Field],
    message: MessageId,
    /// The index of the next field.
    next: u16,
    rest: Rest<'de>,
    /// The tag at the beginning of `rest`, and what follows it.
    tag: Option<(Tag, Rest<'de>)>,
}

impl<'de> Level<'de> {
    fn new(message: MessageId, bytes: &'de [u8]) -> Self {
        Self {
            fields: message.fields(),
            message,
            next: 0,
            rest: Rest(bytes),
            tag: None,
        }
    }

    fn tag(&mut self) -> Result<Option<(Tag, Rest<'de>)>, ProtobufError> {
        if self.tag.is_none() && !self.rest.is_empty() {
            let mut after = self.rest;
            let tag = after.tag()?;
            self.tag = Some((tag, after));
        }
        Ok(self.tag)
    }

    fn go_on(&mut self, rest: Rest<'de>) {
        self.rest = rest;
        self.tag = None;
    }
}

impl<'de> Fields<'de> {
    pub(super) fn of_message(message: MessageId, bytes: &'de [u8]) -> Self {
        let is_partial = message == table().partial_object;
        let types = match is_partial {
            true => ["meta.k8s.io/v1", "PartialObjectMetadata"],
            false => [""; 2],
        };
        Self::new(types, message, bytes)
    }

    pub(super) fn of_object(envelope: Envelope<'de>) -> Result<Self, ProtobufError> {
        let types = [envelope.api_version, envelope.kind];
        Ok(Self::new(types, envelope.message()?, envelope.object))
    }

    fn new([api_version, kind]: [&'de str; 2], message: MessageId, bytes: &'de [u8]) -> Self {
        Self {
            api_version,
            kind,
            level: Level::new(message, bytes),
            outer: Vec::new(),
        }
    }

    /// The next of `apiVersion` and `kind`.
    fn next_type(&mut self) -> Option<(&'static str, &'de str)> {
        let types = [
            ("apiVersion", &mut self.api_version),
            ("kind", &mut self.kind),
        ];
        let (name, text) = types.into_iter().find(|(_, text)| !text.is_empty())?;
        Some((name, std::mem::take(text)))
    }

    /// The name of the next field. Its value goes to `value`, in its place, because it is large.
    pub(super) fn next(
        &mut self,
        value: &mut Input<'de>,
    ) -> Result<Option<&'static str>, ProtobufError> {
        if let Some((name, text)) = self.next_type() {
            *value = Input::Value(Kind::String, text.as_bytes());
            return Ok(Some(name));
        }
        loop {
            let level = &mut self.level;
            let tag = level.tag()?;
            let field = level.fields.get(usize::from(level.next));
            let (field, bytes) = match (field, tag) {
                (None, None) => match self.outer.pop() {
                    Some(outer) => {
                        self.level = outer;
                        continue;
                    }
                    None => return Ok(None),
                },
                (Some(field), tag) if tag.is_none_or(|(tag, _)| tag.number > field.number) => {
                    level.next += 1;
                    if !is_shown_unset(field) {
                        continue;
                    }
                    (field, None)
                }
                (Some(field), Some((tag, after))) if tag.number == field.number => {
                    let id = FieldId {
                        message: level.message,
                        index: level.next,
                    };
                    level.next += 1;
                    if field.count != Count::One {
                        let (run, rest) = Run::cut(field, id, level.rest)?;
                        level.go_on(rest);
                        *value = Input::Run(run);
                        return Ok(Some(field.name));
                    }
                    let mut after = after;
                    let bytes = after.value(tag, field.kind)?;
                    level.go_on(after);
                    if !field.always && !field.pointer && is_zero(field.kind, bytes)? {
                        continue;
                    }
                    (field, Some(bytes))
                }
                (_, Some((tag, mut after))) => {
                    let known = level.fields.get(..usize::from(level.next));
                    let known = known.unwrap_or_default();
                    if known.iter().any(|field| field.number == tag.number) {
                        return Err(Malformed(
                            "fields that are not in the order of their numbers",
                        ));
                    }
                    // A field of a newer server.
                    after.skip(tag)?;
                    level.go_on(after);
                    continue;
                }
                (Some(_), None) => continue,
            };
            if field.inline {
                let is_there = bytes.is_some() || !field.pointer;
                if let (Kind::Message(message), true) = (field.kind, is_there) {
                    let inner = Level::new(message, bytes.unwrap_or_default());
                    self.outer.push(std::mem::replace(level, inner));
                }
                continue;
            }
            *value = match bytes {
                Some(bytes) => Input::Value(field.kind, bytes),
                None => unset(field),
            };
            return Ok(Some(field.name));
        }
    }
}

/// Whether JSON has the field even if it is not set.
fn is_shown_unset(field: &Field) -> bool {
    // Go writes such a message even if it is empty. The release of the server does not have the field.
    let is_whole = matches!(field.kind, Kind::Message(_)) && field.count == Count::One;
    field.inline || (field.always && (field.pointer || !is_whole))
}

/// The value that JSON has for such a field.
fn unset<'de>(field: &Field) -> Input<'de> {
    let is_null = field.pointer || field.count != Count::One || field.kind == Kind::Bytes;
    match is_null {
        true => Input::Null,
        false => Input::Value(field.kind, b""),
    }
}

/// Whether JSON leaves out a field with this value.
fn is_zero(kind: Kind, bytes: &[u8]) -> Result<bool, ProtobufError> {
    Ok(match kind {
        Kind::String | Kind::Bytes => bytes.is_empty(),
        Kind::Bool | Kind::Int64 => wire::number(bytes) == 0,
        Kind::Int32 => wire::number(bytes) as i32 == 0,
        Kind::Double => wire::double(bytes) == 0.0,
        Kind::Message(_) => false,
        Kind::Own(form, message) => form.is_null(message, bytes)?,
    })
}

/// The value of the field with this number. `None` if it is not set.
pub(super) fn find<'de>(
    message: MessageId,
    bytes: &'de [u8],
    number: u32,
) -> Result<Option<Input<'de>>, ProtobufError> {
    let mut fields = message.fields().iter().zip(0..);
    let mut rest = Rest(bytes);
    while !rest.is_empty() {
        let mut after = rest;
        let tag = after.tag()?;
        if tag.number != number {
            after.skip(tag)?;
            rest = after;
            continue;
        }
        let Some((field, index)) = fields.find(|(field, _)| field.number == number) else {
            return Ok(None);
        };
        let id = FieldId { message, index };
        return Ok(Some(match field.count {
            Count::One => Input::Value(field.kind, after.value(tag, field.kind)?),
            _ => Input::Run(Run::cut(field, id, rest)?.0),
        }));
    }
    Ok(None)
}

/// The values of a field that has many: a list, or the entries of a map. They follow each other, and each has its tag.
#[derive(Clone, Copy)]
pub(super) struct Run<'de> {
    field: &'static Field,
    id: FieldId,
    bytes: &'de [u8],
    rest: Rest<'de>,
    /// How many are left, at most. Numbers may be packed, so that there are more.
    left: usize,
    /// The rest of packed numbers.
    packed: Rest<'de>,
}

impl<'de> Run<'de> {
    /// Reads where the run ends that begins with `rest`.
    fn cut(
        field: &'static Field,
        id: FieldId,
        rest: Rest<'de>,
    ) -> Result<(Self, Rest<'de>), ProtobufError> {
        let (mut end, mut left) = (rest, 0);
        while !end.is_empty() {
            let mut after = end;
            let tag = after.tag()?;
            if tag.number != field.number {
                break;
            }
            after.skip(tag)?;
            (end, left) = (after, left + 1);
        }
        let length = rest.0.len() - end.0.len();
        let bytes = rest.0.get(..length).unwrap_or_default();
        let run = Self {
            field,
            id,
            bytes,
            rest: Rest(bytes),
            left,
            packed: Rest::default(),
        };
        Ok((run, end))
    }

    /// The run with these bytes.
    pub(super) fn of(id: FieldId, bytes: &'de [u8]) -> Result<Self, ProtobufError> {
        let field = id.get().ok_or(Malformed("a field of no message"))?;
        Self::cut(field, id, Rest(bytes)).map(|(run, _)| run)
    }

    pub(super) fn id(&self) -> FieldId {
        self.id
    }

    /// All of it, with the tags.
    pub(super) fn bytes(&self) -> &'de [u8] {
        self.bytes
    }

    pub(super) fn is_map(&self) -> bool {
        self.field.count == Count::Map
    }

    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Whether a list goes on. Its next value goes to `value`.
    pub(super) fn next_item(&mut self, value: &mut Input<'de>) -> Result<bool, ProtobufError> {
        let kind = self.field.kind;
        while self.packed.is_empty() {
            if self.rest.is_empty() {
                return Ok(false);
            }
            let tag = self.rest.tag()?;
            self.left = self.left.saturating_sub(1);
            let is_packed = tag.wire_type == BYTES && wire_type(kind) != BYTES;
            if !is_packed {
                *value = Input::Value(kind, self.rest.value(tag, kind)?);
                return Ok(true);
            }
            self.packed = Rest(self.rest.bytes()?);
        }
        *value = Input::Value(kind, self.packed.payload(kind)?);
        Ok(true)
    }

    /// The key of the next entry of a map. Its value goes to `value`.
    pub(super) fn next_entry(
        &mut self,
        value: &mut Input<'de>,
    ) -> Result<Option<&'de [u8]>, ProtobufError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.rest.tag()?;
        if tag.wire_type != BYTES {
            return Err(Malformed("a field of another type"));
        }
        self.left = self.left.saturating_sub(1);
        let mut entry = Rest(self.rest.bytes()?);
        // What an entry lacks is zero. Go has no bytes there, rather than none at all.
        let (mut key, mut bytes) = (&b""[..], &b""[..]);
        while !entry.is_empty() {
            let tag = entry.tag()?;
            match tag.number {
                1 => key = entry.value(tag, Kind::String)?,
                2 => bytes = entry.value(tag, self.field.kind)?,
                _ => entry.skip(tag)?,
            }
        }
        *value = Input::Value(self.field.kind, bytes);
        Ok(Some(key))
    }
}
