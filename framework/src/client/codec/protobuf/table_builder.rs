//! Makes the table from its embedded form.
//!
//! The form is unpacked and read piece by piece: as a whole it would take 2 MB for a moment, which an allocator keeps for longer.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    io::BufReader,
};

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor},
};

use super::{
    form::Form,
    table::{Count, Field, Kind, MessageId, Table},
};

/// The table under construction. A message gets its place when it is named first.
#[derive(Default)]
pub(super) struct Builder {
    places: HashMap<Box<str>, MessageId>,
    /// `None` for a message that was named and has not come yet.
    messages: Vec<Option<Box<[Field]>>>,
    kinds: Vec<([Box<str>; 2], MessageId)>,
    /// The names of fields, each once. The table is a part of the program, so they live as long.
    names: HashSet<&'static str>,
}

impl Builder {
    /// Returns `None` if this is not what the tool writes.
    pub(super) fn read(packed: &[u8]) -> Option<Table> {
        let text = BufReader::new(flate2::read::GzDecoder::new(packed));
        let mut text = serde_json::Deserializer::from_reader(text);
        let mut builder = Self::default();
        Map(Document(&mut builder)).deserialize(&mut text).ok()?;
        text.end().ok()?;
        builder.finish()
    }

    fn finish(mut self) -> Option<Table> {
        self.kinds
            .sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let of_meta = |name: &str| {
            let name = format!("io.k8s.apimachinery.pkg.apis.meta.v1.{name}");
            self.places.get(&*name).copied()
        };
        Some(Table {
            object_meta: of_meta("ObjectMeta")?,
            partial_object: of_meta("PartialObjectMetadata")?,
            watch_event: of_meta("WatchEvent")?,
            messages: self.messages.into_iter().collect::<Option<_>>()?,
            kinds: self.kinds,
        })
    }

    /// The place of a message. Returns `None` if there are too many.
    fn place(&mut self, name: &str) -> Option<MessageId> {
        if let Some(place) = self.places.get(name) {
            return Some(*place);
        }
        let place = MessageId(u16::try_from(self.messages.len()).ok()?);
        self.messages.push(None);
        self.places.insert(name.into(), place);
        Some(place)
    }

    fn kind(&mut self, types: &str, message: &str) -> Option<()> {
        let (api_version, kind) = types.rsplit_once('/')?;
        let message = self.place(message)?;
        self.kinds
            .push(([kind.into(), api_version.into()], message));
        Some(())
    }

    fn message(&mut self, name: &str, mut fields: Vec<Field>) -> Option<()> {
        fields.sort_unstable_by_key(|field| field.number);
        let MessageId(place) = self.place(name)?;
        *self.messages.get_mut(usize::from(place))? = Some(fields.into());
        Some(())
    }

    fn field(&mut self, name: &str, text: &str) -> Option<Field> {
        let end = text.find(|letter: char| !letter.is_ascii_digit())?;
        let (number, rest) = text.split_at(end);
        // The name in Go comes last.
        let rest = rest.split_once('=').map_or(rest, |(rest, _)| rest);
        let kind = rest.trim_start_matches(['*', '^', '!']);
        let flags = rest.get(..rest.len() - kind.len())?;
        let (count, kind) = match (kind.strip_prefix("[]"), kind.strip_prefix("{}")) {
            (Some(kind), _) => (Count::List, kind),
            (_, Some(kind)) => (Count::Map, kind),
            _ => (Count::One, kind),
        };
        Some(Field {
            name: self.name(name),
            number: number.parse().ok()?,
            kind: self.type_of(kind)?,
            count,
            always: flags.contains('!'),
            pointer: flags.contains('*'),
            inline: flags.contains('^'),
        })
    }

    fn name(&mut self, name: &str) -> &'static str {
        if let Some(name) = self.names.get(name) {
            return name;
        }
        let name: &'static str = Box::leak(Box::from(name));
        self.names.insert(name);
        name
    }

    fn type_of(&mut self, text: &str) -> Option<Kind> {
        Some(match text {
            "string" => Kind::String,
            "bool" => Kind::Bool,
            "int32" => Kind::Int32,
            "int64" => Kind::Int64,
            "double" => Kind::Double,
            "bytes" => Kind::Bytes,
            other => {
                let (form, message) = other.split_once('@')?;
                let message = self.place(message)?;
                match form.strip_prefix('#') {
                    Some(form) => Kind::Own(Form::of(form)?, message),
                    None => Kind::Message(message),
                }
            }
        })
    }
}

/// What is done with each entry of a map.
trait Entry {
    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error>;
}

/// Reads a map entry by entry.
struct Map<E>(E);

impl<'de, E: Entry> DeserializeSeed<'de> for Map<E> {
    type Value = E;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<E, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, E: Entry> Visitor<'de> for Map<E> {
    type Value = E;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<E, A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            self.0.read(&key, &mut map)?;
        }
        Ok(self.0)
    }
}

fn wanted<T, E: Error>(found: Option<T>) -> Result<T, E> {
    found.ok_or_else(|| E::custom("not the form of the table"))
}

struct Document<'b>(&'b mut Builder);

impl Entry for Document<'_> {
    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "kinds" => map.next_value_seed(Map(Kinds(self.0))).map(drop),
            "messages" => map.next_value_seed(Map(Messages(self.0))).map(drop),
            _ => map.next_value::<IgnoredAny>().map(drop),
        }
    }
}

/// The message of each kind.
struct Kinds<'b>(&'b mut Builder);

impl Entry for Kinds<'_> {
    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let message: String = map.next_value()?;
        wanted(self.0.kind(key, &message))
    }
}

struct Messages<'b>(&'b mut Builder);

impl Entry for Messages<'_> {
    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let fields = Fields {
            builder: self.0,
            fields: Vec::new(),
        };
        let fields = map.next_value_seed(Map(fields))?.fields;
        wanted(self.0.message(key, fields))
    }
}

/// The fields of a message.
struct Fields<'b> {
    builder: &'b mut Builder,
    fields: Vec<Field>,
}

impl Entry for Fields<'_> {
    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let text: String = map.next_value()?;
        self.fields.push(wanted(self.builder.field(key, &text))?);
        Ok(())
    }
}
