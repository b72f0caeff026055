use std::sync::LazyLock;

use super::{form::Form, table_builder::Builder};

/// The messages of the built-in kinds.
#[derive(Default)]
pub(super) struct Table {
    pub(super) messages: Vec<Box<[Field]>>,
    /// The messages of the kinds, sorted by `kind` and `apiVersion`.
    pub(super) kinds: Vec<([Box<str>; 2], MessageId)>,
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
static TABLE: LazyLock<Table> = LazyLock::new(|| Builder::read(PACKED).unwrap_or_default());

/// What `tests/cluster/protobuf` prints. It describes the form of the texts.
const PACKED: &[u8] = include_bytes!("messages.json.gz");

pub(super) fn table() -> &'static Table {
    &TABLE
}

impl Table {
    /// The message of a kind. Returns `None` for custom kinds and for kinds without protobuf.
    pub(super) fn message_of(&self, api_version: &str, kind: &str) -> Option<MessageId> {
        let wanted = [kind, api_version];
        let place = self
            .kinds
            .binary_search_by(|(types, _)| types.each_ref().map(|text| &**text).cmp(&wanted));
        let (_, message) = self.kinds.get(place.ok()?)?;
        Some(*message)
    }
}

impl MessageId {
    /// In the order of the numbers.
    pub(super) fn fields(self) -> &'static [Field] {
        let fields = TABLE.messages.get(usize::from(self.0));
        fields.map_or(&[], |fields| fields)
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
    use std::{collections::BTreeMap, io::Read as _};

    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Data<'a> {
        #[serde(borrow)]
        kinds: BTreeMap<&'a str, &'a str>,
        #[serde(borrow)]
        messages: BTreeMap<&'a str, BTreeMap<&'a str, &'a str>>,
    }

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
        let (ours, theirs) = (read(PACKED), read(&theirs));
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
        assert!(table().messages.len() > 1000);
        for place in 0..table().messages.len() {
            let message = MessageId(u16::try_from(place).unwrap());
            let numbers: Vec<u32> = message.fields().iter().map(|field| field.number).collect();
            assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
            for field in message.fields() {
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
