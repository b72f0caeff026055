use super::{
    envelope::Envelope,
    error::ProtobufError::{self, Malformed},
    input::Input,
    table::{Count, Field, FieldId, Kind, MessageId, table},
    wire::{BYTES, Rest, Tag, wire_type},
};

/// A message may stand in the place of a field of a message which does so itself: this many messages have their fields in one object of
/// JSON at most.
pub(super) const INLINE_LEVELS: usize = 3;

/// The fields of a message as JSON has them, in the order of their numbers.
///
/// Go writes every field that is not a pointer, and in the order of the numbers. JSON lacks some of those that have Go's zero value, and has
/// others even if they are not set. The table says which.
pub(super) struct Fields<'de> {
    types: [Option<(&'static str, &'de str)>; 2],
    levels: [Level<'de>; INLINE_LEVELS],
    level: usize,
}

#[derive(Clone, Copy, Default)]
struct Level<'de> {
    message: MessageId,
    fields: &'static [Field],
    /// The index of the next field.
    next: usize,
    rest: Rest<'de>,
    /// The tag at the beginning of `rest`, and what follows it.
    tag: Option<(Tag, Rest<'de>)>,
}

impl<'de> Level<'de> {
    fn new(message: MessageId, bytes: &'de [u8]) -> Self {
        Self {
            message,
            fields: message.fields(),
            rest: Rest(bytes),
            ..Self::default()
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
        let mut levels = [Level::default(); INLINE_LEVELS];
        levels[0] = Level::new(message, bytes);
        let types = [("kind", kind), ("apiVersion", api_version)];
        Self {
            types: types.map(|entry| Some(entry).filter(|(_, text)| !text.is_empty())),
            levels,
            level: 0,
        }
    }

    /// The next field and its value.
    pub(super) fn next(&mut self) -> Result<Option<(&'static str, Input<'de>)>, ProtobufError> {
        for types in self.types.iter_mut().rev() {
            if let Some((name, text)) = types.take() {
                return Ok(Some((name, Input::Value(Kind::String, text.as_bytes()))));
            }
        }
        while let Some(level) = self.levels.get_mut(self.level) {
            let tag = level.tag()?;
            let field = level.fields.get(level.next);
            let (field, value) = match (field, tag) {
                (None, None) => match self.level.checked_sub(1) {
                    Some(outer) => {
                        self.level = outer;
                        continue;
                    }
                    None => return Ok(None),
                },
                (Some(field), tag) if tag.is_none_or(|(tag, _)| tag.number > field.number) => {
                    level.next += 1;
                    match unset(field) {
                        Some(value) => (field, value),
                        None => continue,
                    }
                }
                (Some(field), Some((tag, after))) if tag.number == field.number => {
                    let id = FieldId {
                        message: level.message,
                        index: level.next as u16,
                    };
                    level.next += 1;
                    let (value, rest) = present(field, id, level.rest, (tag, after))?;
                    level.go_on(rest);
                    if !field.always && !field.pointer && value.is_zero()? {
                        continue;
                    }
                    (field, value)
                }
                (_, Some((tag, mut after))) => {
                    let known = level.fields.get(..level.next).unwrap_or_default();
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
                if let Input::Value(Kind::Message(message), bytes) = value {
                    self.level += 1;
                    // The test of the table knows the levels.
                    if let Some(level) = self.levels.get_mut(self.level) {
                        *level = Level::new(message, bytes);
                    } else {
                        return Err(Malformed("messages in the place of fields"));
                    }
                }
                continue;
            }
            return Ok(Some((field.name, value)));
        }
        Ok(None)
    }
}

/// The value that JSON has for a field that is not set. `None` if it has none.
fn unset<'de>(field: &Field) -> Option<Input<'de>> {
    if !field.always && !field.inline {
        return None;
    }
    // Go writes such a message even if it is empty. The release of the server does not have the field.
    let is_whole = matches!(field.kind, Kind::Message(_)) && field.count == Count::One;
    if is_whole && !field.pointer && !field.inline {
        return None;
    }
    let is_null = field.pointer || field.count != Count::One || field.kind == Kind::Bytes;
    Some(match is_null {
        true => Input::Null,
        false => Input::Value(field.kind, b""),
    })
}

/// The value of a field, and the rest of the message. `rest` begins with the tag.
fn present<'de>(
    field: &'static Field,
    id: FieldId,
    rest: Rest<'de>,
    (tag, mut after): (Tag, Rest<'de>),
) -> Result<(Input<'de>, Rest<'de>), ProtobufError> {
    if field.count == Count::One {
        let value = after.value(tag, field.kind)?;
        return Ok((Input::Value(field.kind, value), after));
    }
    let (run, rest) = Run::cut(field, id, rest)?;
    Ok((Input::Run(run), rest))
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
        return present(field, id, rest, (tag, after)).map(|(value, _)| Some(value));
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

    /// The next value of a list.
    pub(super) fn next_item(&mut self) -> Result<Option<Input<'de>>, ProtobufError> {
        let kind = self.field.kind;
        while self.packed.is_empty() {
            if self.rest.is_empty() {
                return Ok(None);
            }
            let tag = self.rest.tag()?;
            self.left = self.left.saturating_sub(1);
            let is_packed = tag.wire_type == BYTES && wire_type(kind) != BYTES;
            if !is_packed {
                let value = self.rest.value(tag, kind)?;
                return Ok(Some(Input::Value(kind, value)));
            }
            self.packed = Rest(self.rest.bytes()?);
        }
        let value = self.packed.payload(kind)?;
        Ok(Some(Input::Value(kind, value)))
    }

    /// The key and the value of the next entry of a map.
    pub(super) fn next_entry(&mut self) -> Result<Option<(&'de [u8], Input<'de>)>, ProtobufError> {
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
        let (mut key, mut value) = (&b""[..], &b""[..]);
        while !entry.is_empty() {
            let tag = entry.tag()?;
            match tag.number {
                1 => key = entry.value(tag, Kind::String)?,
                2 => value = entry.value(tag, self.field.kind)?,
                _ => entry.skip(tag)?,
            }
        }
        Ok(Some((key, Input::Value(self.field.kind, value))))
    }
}
