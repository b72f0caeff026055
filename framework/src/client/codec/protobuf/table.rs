use std::{
    collections::{BTreeMap, HashMap},
    io::Read as _,
    sync::LazyLock,
};

use serde::Deserialize;

use super::form::Form;

/// The messages of the built-in kinds.
#[derive(Default)]
pub(super) struct Table {
    messages: Vec<Vec<Field>>,
    /// By `apiVersion/kind`.
    kinds: HashMap<Box<str>, MessageId>,
    /// By the name of the definition: `io.k8s.api.core.v1.Pod`. Only those that the code itself names.
    pub(super) object_meta: MessageId,
    pub(super) partial_object: MessageId,
    pub(super) watch_event: MessageId,
}

/// A field of a message.
#[derive(Debug)]
pub(super) struct Field {
    /// The name in JSON.
    pub(super) name: &'static str,
    pub(super) number: u32,
    pub(super) kind: Kind,
    pub(super) count: Count,
    /// Whether JSON has the field even if it is not set.
    pub(super) always: bool,
    /// Whether a zero value differs from an absent one.
    pub(super) pointer: bool,
    /// Whether JSON has the fields of the inner message in the place of this field.
    pub(super) inline: bool,
}

/// How many values a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    One,
    List,
    /// A map from strings.
    Map,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    String,
    Bool,
    Int32,
    Int64,
    Double,
    Bytes,
    Message(MessageId),
    /// A message whose JSON has a form of its own.
    Own(Form, MessageId),
}

/// The place of a message in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MessageId(pub(super) u16);

/// The place of a field in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FieldId {
    pub(super) message: MessageId,
    pub(super) index: u16,
}

/// The table takes 0.2 MB of memory, once it is used. The test `the_table_has_every_kind_of_the_types` checks that the embedded data
/// are valid. If they were not, the table would be empty, and all kinds would be JSON.
static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let packed: &[u8] = include_bytes!("messages.json.gz");
    let mut text = String::new();
    let read = flate2::read::GzDecoder::new(packed).read_to_string(&mut text);
    let table = read.ok().and_then(|_| Table::read(&text));
    table.unwrap_or_default()
});

/// What `tests/cluster/protobuf` prints. It describes the form of the texts.
#[derive(Deserialize)]
struct Data<'a> {
    #[serde(borrow)]
    kinds: BTreeMap<&'a str, &'a str>,
    #[serde(borrow)]
    messages: BTreeMap<&'a str, BTreeMap<&'a str, &'a str>>,
}

type Places<'a> = HashMap<&'a str, MessageId>;

pub(super) fn table() -> &'static Table {
    &TABLE
}

impl Table {
    /// The message of a kind. Returns `None` for custom kinds and for kinds without protobuf.
    pub(super) fn message_of(&self, api_version: &str, kind: &str) -> Option<MessageId> {
        let name = format!("{api_version}/{kind}");
        self.kinds.get(&*name).copied()
    }

    /// Returns `None` if `text` is not what the tool writes.
    fn read(text: &str) -> Option<Self> {
        let data: Data<'_> = serde_json::from_str(text).ok()?;
        let mut places = Places::new();
        for (place, name) in data.messages.keys().enumerate() {
            places.insert(name, MessageId(u16::try_from(place).ok()?));
        }
        let mut names = Names::default();
        let mut messages = Vec::with_capacity(data.messages.len());
        for fields in data.messages.values() {
            let fields = fields.iter();
            let fields = fields.map(|(name, text)| Field::read(names.get(name), text, &places));
            let mut fields: Vec<Field> = fields.collect::<Option<_>>()?;
            fields.sort_unstable_by_key(|field| field.number);
            messages.push(fields);
        }
        let kinds = data.kinds.iter();
        let kinds = kinds.map(|(kind, name)| Some(((*kind).into(), *places.get(name)?)));
        let of_meta = |name: &str| {
            let name = format!("io.k8s.apimachinery.pkg.apis.meta.v1.{name}");
            places.get(&*name).copied()
        };
        Some(Self {
            kinds: kinds.collect::<Option<_>>()?,
            object_meta: of_meta("ObjectMeta")?,
            partial_object: of_meta("PartialObjectMetadata")?,
            watch_event: of_meta("WatchEvent")?,
            messages,
        })
    }
}

/// The names of fields, each once. The table is a part of the program, so they live as long.
#[derive(Default)]
struct Names<'a>(HashMap<&'a str, &'static str>);

impl<'a> Names<'a> {
    fn get(&mut self, name: &'a str) -> &'static str {
        let entry = self.0.entry(name);
        entry.or_insert_with(|| Box::leak(Box::from(name)))
    }
}

impl MessageId {
    /// In the order of the numbers.
    pub(super) fn fields(self) -> &'static [Field] {
        let fields = TABLE.messages.get(usize::from(self.0));
        fields.map_or(&[], Vec::as_slice)
    }

    /// The field with that name in JSON.
    pub(super) fn field(self, name: &str) -> Option<FieldId> {
        let mut fields = self.fields().iter();
        let index = fields.position(|field| field.name == name)?;
        Some(FieldId {
            message: self,
            index: u16::try_from(index).ok()?,
        })
    }
}

impl FieldId {
    pub(super) fn get(self) -> Option<&'static Field> {
        self.message.fields().get(usize::from(self.index))
    }
}

impl Field {
    fn read(name: &'static str, text: &str, places: &Places<'_>) -> Option<Self> {
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
        Some(Self {
            name,
            number: number.parse().ok()?,
            kind: Kind::read(kind, places)?,
            count,
            always: flags.contains('!'),
            pointer: flags.contains('*'),
            inline: flags.contains('^'),
        })
    }
}

impl Kind {
    fn read(text: &str, places: &Places<'_>) -> Option<Self> {
        Some(match text {
            "string" => Self::String,
            "bool" => Self::Bool,
            "int32" => Self::Int32,
            "int64" => Self::Int64,
            "double" => Self::Double,
            "bytes" => Self::Bytes,
            other => {
                let (form, message) = other.split_once('@')?;
                let message = *places.get(message)?;
                match form.strip_prefix('#') {
                    Some(form) => Self::Own(Form::of(form)?, message),
                    None => Self::Message(message),
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::codec::protobuf::fields::INLINE_LEVELS;

    #[test]
    fn the_table_has_every_kind_of_the_types() {
        for kind in pilothouse_sandbox::internals::builtin::kinds() {
            let message = table().message_of(&kind.api_version(), &kind.kind);
            let message = message.unwrap_or_else(|| panic!("{}", kind.kind));
            let metadata = message
                .fields()
                .iter()
                .find(|field| field.name == "metadata");
            if let Some(metadata) = metadata {
                // The cache reads this field, and metadata alone has the same number.
                assert_eq!(metadata.number, 1, "{}", kind.kind);
            }
        }
    }

    /// The sandbox has an older release. What both have is the same.
    #[test]
    fn the_table_has_what_the_sandbox_has() {
        let theirs = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../sandbox/src/builtin/data/protobuf.json.gz"
        );
        let theirs = std::fs::read(theirs).unwrap();
        let read = |packed: &[u8]| {
            let mut text = String::new();
            let mut unpacked = flate2::read::GzDecoder::new(packed);
            unpacked.read_to_string(&mut text).unwrap();
            text
        };
        let (ours, theirs) = (read(include_bytes!("messages.json.gz")), read(&theirs));
        let ours: Data<'_> = serde_json::from_str(&ours).unwrap();
        let theirs: Data<'_> = serde_json::from_str(&theirs).unwrap();
        for (kind, message) in &theirs.kinds {
            assert_eq!(ours.kinds.get(kind), Some(message), "{kind}");
        }
        for (message, fields) in &theirs.messages {
            for (field, text) in fields {
                let ours = ours.messages[message].get(field);
                assert_eq!(ours, Some(text), "{message}.{field}");
            }
        }
    }

    /// What `fields.rs` relies on.
    #[test]
    fn messages_have_the_forms_that_the_reader_knows() {
        fn inline_levels(message: MessageId) -> usize {
            let inner = message.fields().iter().filter(|field| field.inline);
            let levels = inner.map(|field| match field.kind {
                Kind::Message(inner) => inline_levels(inner),
                other => panic!("{field:?} has {other:?} in its place"),
            });
            1 + levels.max().unwrap_or_default()
        }
        assert!(table().messages.len() > 1000);
        for place in 0..table().messages.len() {
            let message = MessageId(u16::try_from(place).unwrap());
            assert!(inline_levels(message) <= INLINE_LEVELS);
            let numbers: Vec<u32> = message.fields().iter().map(|field| field.number).collect();
            assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
            for field in message.fields() {
                // A whole message is left out only if it is a pointer, so nobody must compare one with Go's zero value.
                let is_whole = matches!(field.kind, Kind::Message(_)) && field.count == Count::One;
                let may_lack = !field.always && !field.pointer && !field.inline;
                assert!(!(is_whole && may_lack), "{field:?}");
            }
        }
    }
}
