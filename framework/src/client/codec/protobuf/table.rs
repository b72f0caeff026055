use std::sync::{LazyLock, OnceLock};

use hashbrown::HashMap;

use super::form::Form;

/// The messages of the built-in kinds.
#[derive(Default)]
pub(super) struct Table {
    messages: Vec<Message>,
    /// The messages of the kinds, by `kind` and `apiVersion`.
    kinds: HashMap<[&'static str; 2], MessageId>,
    /// Those that the code itself names.
    pub(super) object_meta: MessageId,
    pub(super) partial_object: MessageId,
    pub(super) watch_event: MessageId,
}

/// A message, whose fields are read when they are needed first: a program uses few messages.
struct Message {
    line: &'static str,
    fields: OnceLock<Box<[Field]>>,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MessageId(pub(super) u16);

/// The place of a field in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FieldId {
    pub(super) message: MessageId,
    pub(super) index: u16,
}

/// The tests of this file check that the embedded data are valid. If they were not, the table would be empty, and all kinds would be JSON.
static TABLE: LazyLock<Table> = LazyLock::new(|| Table::read(MESSAGES).unwrap_or_default());

/// What `tests/cluster/protobuf` prints for the client. It describes the form of the lines.
const MESSAGES: &str = include_str!("messages.txt");

pub(super) fn table() -> &'static Table {
    &TABLE
}

impl Table {
    /// Returns `None` if this is not what the tool writes.
    fn read(text: &'static str) -> Option<Self> {
        let (_source, table) = text.split_once('\n')?;
        let (kinds, messages) = table.split_once("\n\n")?;
        let kinds = kinds.lines().map(|line| {
            let (types, message) = line.split_once(' ')?;
            let (api_version, kind) = types.rsplit_once('/')?;
            Some(([kind, api_version], MessageId::read(message)?))
        });
        let messages = messages.lines().map(|line| Message {
            line,
            fields: OnceLock::new(),
        });
        let mut table = Self {
            messages: messages.collect(),
            kinds: kinds.collect::<Option<_>>()?,
            ..Self::default()
        };
        table.watch_event = table.message_of("meta.k8s.io/v1", "WatchEvent")?;
        table.partial_object = table.message_of("meta.k8s.io/v1", "PartialObjectMetadata")?;
        let mut fields = table.fields(table.partial_object).iter();
        let metadata = fields.find(|field| field.name == "metadata")?;
        if let Kind::Message(message) = metadata.kind {
            table.object_meta = message;
        }
        Some(table)
    }

    /// The message of a kind. Returns `None` for custom kinds and for kinds without protobuf.
    pub(super) fn message_of(&self, api_version: &str, kind: &str) -> Option<MessageId> {
        self.kinds.get(&[kind, api_version]).copied()
    }

    fn fields(&self, message: MessageId) -> &[Field] {
        let Some(message) = self.messages.get(usize::from(message.0)) else {
            return &[];
        };
        message.fields.get_or_init(|| {
            let fields = message.line.split_terminator(' ').map(Field::read);
            fields.collect::<Option<_>>().unwrap_or_default()
        })
    }
}

impl Field {
    /// Returns `None` if this is not what the tool writes.
    fn read(text: &'static str) -> Option<Self> {
        let (name, rest) = text.split_once(':')?;
        let end = rest.find(|letter: char| !letter.is_ascii_digit())?;
        let (number, rest) = rest.split_at(end);
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
            kind: Kind::read(kind)?,
            count,
            always: flags.contains('!'),
            pointer: flags.contains('*'),
            inline: flags.contains('^'),
        })
    }
}

impl Kind {
    fn read(text: &str) -> Option<Self> {
        Some(match text {
            "string" => Self::String,
            "bool" => Self::Bool,
            "int32" => Self::Int32,
            "int64" => Self::Int64,
            "double" => Self::Double,
            "bytes" => Self::Bytes,
            other => {
                let (form, message) = other.split_once('@')?;
                let message = MessageId::read(message)?;
                match form.strip_prefix('#') {
                    Some(form) => Self::Own(Form::of(form)?, message),
                    None => Self::Message(message),
                }
            }
        })
    }
}

impl MessageId {
    fn read(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }

    /// In the order of the numbers.
    pub(super) fn fields(self) -> &'static [Field] {
        TABLE.fields(self)
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

#[cfg(test)]
mod tests {
    use std::{
        collections::{BTreeMap, BTreeSet},
        io::Read as _,
    };

    use serde::Deserialize;

    use super::*;

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

    /// The table of the sandbox, which the same tool prints in another form.
    #[derive(Deserialize)]
    struct Theirs<'a> {
        #[serde(borrow)]
        kinds: BTreeMap<&'a str, &'a str>,
        #[serde(borrow)]
        messages: BTreeMap<&'a str, BTreeMap<&'a str, &'a str>>,
    }

    impl<'a> Theirs<'a> {
        /// Compares a message and the messages of its fields.
        fn compare(&self, name: &'a str, ours: MessageId, compared: &mut BTreeSet<&'a str>) {
            if !compared.insert(name) {
                return;
            }
            let line = table().messages[usize::from(ours.0)].line;
            let ours: BTreeMap<_, _> = line
                .split_terminator(' ')
                .map(|field| field.split_once(':').unwrap())
                .collect();
            for (field, text) in &self.messages[name] {
                // The name in Go comes last.
                let text = text.split_once('=').map_or(*text, |(text, _)| text);
                let begin = |text: &'a str| text.split_once('@').map_or(text, |(begin, _)| begin);
                assert_eq!(begin(ours[field]), begin(text), "{name}.{field}");
                if let Some((_, inner)) = text.split_once('@') {
                    let (_, message) = ours[field].split_once('@').unwrap();
                    self.compare(inner, MessageId::read(message).unwrap(), compared);
                }
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
        let mut text = String::new();
        let mut unpacked = flate2::read::GzDecoder::new(&theirs[..]);
        unpacked.read_to_string(&mut text).unwrap();
        let theirs: Theirs<'_> = serde_json::from_str(&text).unwrap();
        let mut compared = BTreeSet::new();
        for (types, message) in &theirs.kinds {
            let (api_version, kind) = types.rsplit_once('/').unwrap();
            let ours = table().message_of(api_version, kind);
            theirs.compare(message, ours.expect(types), &mut compared);
        }
        assert!(compared.len() > 1000, "{}", compared.len());
    }

    /// What `fields.rs` relies on.
    #[test]
    fn messages_have_the_forms_that_the_reader_knows() {
        assert!(table().messages.len() > 1000);
        for (place, message) in table().messages.iter().enumerate() {
            let fields = MessageId(u16::try_from(place).unwrap()).fields();
            assert_eq!(
                fields.is_empty(),
                message.line.is_empty(),
                "{}",
                message.line
            );
            let numbers: Vec<u32> = fields.iter().map(|field| field.number).collect();
            assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
            for field in fields {
                if let Kind::Message(MessageId(inner)) | Kind::Own(_, MessageId(inner)) = field.kind
                {
                    assert!(usize::from(inner) < table().messages.len(), "{field:?}");
                }
                assert!(
                    !field.inline || matches!(field.kind, Kind::Message(_)),
                    "{field:?}"
                );
                // A whole message is left out only if it is a pointer, so nobody must compare one with Go's zero value.
                let is_whole = matches!(field.kind, Kind::Message(_)) && field.count == Count::One;
                let may_lack = !field.always && !field.pointer && !field.inline;
                assert!(!(is_whole && may_lack), "{field:?}");
            }
        }
    }
}
