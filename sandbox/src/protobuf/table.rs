use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::LazyLock;

use serde::Deserialize;

use super::form::Form;

/// A message: the fields of a Go struct, in the order of their numbers.
#[derive(Debug)]
pub(super) struct Message {
    /// The name of the definition: `io.k8s.api.core.v1.Pod`.
    name: Box<str>,
    pub(super) fields: Vec<Field>,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) number: u32,
    /// The name in JSON.
    pub(super) name: Box<str>,
    /// The name in Go.
    pub(super) go_name: Box<str>,
    /// Whether JSON has the field even if it is not set.
    pub(super) always: bool,
    /// Whether a zero value differs from an absent one.
    pub(super) pointer: bool,
    /// Whether JSON has the fields of the inner message in the place of this field.
    pub(super) inline: bool,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    String,
    Bool,
    Int32,
    Int64,
    Double,
    Bytes,
    List(Box<Kind>),
    /// The type of the values. The keys are strings.
    Map(Box<Kind>),
    Message(MessageId),
    /// A message whose JSON has a form of its own.
    Own(Form, MessageId),
}

/// The place of a message in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MessageId(usize);

#[derive(Deserialize)]
struct Data {
    source: String,
    kinds: BTreeMap<String, String>,
    messages: BTreeMap<String, BTreeMap<String, String>>,
}

struct Table {
    #[cfg_attr(not(test), expect(dead_code, reason = "says where the data is from"))]
    source: String,
    messages: Vec<Message>,
    /// By `apiVersion/kind`.
    kinds: BTreeMap<String, MessageId>,
    /// The envelope of every object.
    envelope: MessageId,
}

const ENVELOPE: &str = "io.k8s.apimachinery.pkg.runtime.Unknown";

// A constant of the build, and the tests below check it: reading it cannot fail at run time.
static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let packed: &[u8] = include_bytes!("../builtin/data/protobuf.json.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed)
        .read_to_string(&mut text)
        .expect("embedded protobuf.json.gz");
    let data = serde_json::from_str(&text).expect("embedded table");
    read(data).expect("embedded fields")
});

impl MessageId {
    pub(super) fn message(self) -> &'static Message {
        &TABLE.messages[self.0]
    }
}

impl Message {
    pub(super) fn field(&self, number: u32) -> Option<&Field> {
        let found = self
            .fields
            .binary_search_by_key(&number, |field| field.number);
        self.fields.get(found.ok()?)
    }

    /// The name of the Go type, as errors show it.
    pub(super) fn go_name(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or_default()
    }
}

/// The message of a kind. Returns `None` for custom kinds and for kinds without protobuf, such as tables.
pub(super) fn message_of(api_version: &str, kind: &str) -> Option<MessageId> {
    TABLE.kinds.get(&format!("{api_version}/{kind}")).copied()
}

/// The message of the envelope.
pub(super) fn envelope() -> MessageId {
    TABLE.envelope
}

/// Returns `None` if the data is not what the tool writes.
fn read(data: Data) -> Option<Table> {
    let places = data.messages.keys().enumerate();
    let places: BTreeMap<&str, MessageId> = places
        .map(|(place, name)| (name.as_str(), MessageId(place)))
        .collect();
    let kinds = data.kinds.iter();
    let kinds = kinds
        .map(|(kind, message)| Some((kind.clone(), *places.get(message.as_str())?)))
        .collect::<Option<_>>()?;
    let messages = data.messages.iter();
    let messages = messages
        .map(|(name, fields)| message(name, fields, &places))
        .collect::<Option<_>>()?;
    Some(Table {
        source: data.source,
        envelope: *places.get(ENVELOPE)?,
        messages,
        kinds,
    })
}

type Places<'a> = BTreeMap<&'a str, MessageId>;

fn message(name: &str, fields: &BTreeMap<String, String>, places: &Places<'_>) -> Option<Message> {
    let fields = fields.iter();
    let fields = fields.map(|(name, text)| field(name, text, places));
    let mut fields: Vec<Field> = fields.collect::<Option<_>>()?;
    fields.sort_by_key(|field| field.number);
    Some(Message {
        name: name.into(),
        fields,
    })
}

/// The tool, `tests/cluster/protobuf`, describes the text.
fn field(name: &str, text: &str, places: &Places<'_>) -> Option<Field> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, rest) = text.split_at(end);
    let (pointer, rest) = flag(rest, '*');
    let (inline, rest) = flag(rest, '^');
    let (always, rest) = flag(rest, '!');
    let (kind, go_name) = match rest.split_once('=') {
        Some((kind, go_name)) => (kind, go_name.to_owned()),
        None => (rest, capitalized(name)),
    };
    Some(Field {
        number: number.parse().ok()?,
        name: name.into(),
        go_name: go_name.into(),
        always,
        pointer,
        inline,
        kind: parse(kind, places)?,
    })
}

fn flag(text: &str, flag: char) -> (bool, &str) {
    match text.strip_prefix(flag) {
        Some(rest) => (true, rest),
        None => (false, text),
    }
}

fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn parse(text: &str, places: &Places<'_>) -> Option<Kind> {
    if let Some(inner) = text.strip_prefix("[]") {
        return Some(Kind::List(Box::new(parse(inner, places)?)));
    }
    if let Some(inner) = text.strip_prefix("{}") {
        return Some(Kind::Map(Box::new(parse(inner, places)?)));
    }
    if let Some(name) = text.strip_prefix('@') {
        return Some(Kind::Message(*places.get(name)?));
    }
    if let Some(own) = text.strip_prefix('#') {
        let (form, name) = own.split_once('@')?;
        return Some(Kind::Own(Form::of(form)?, *places.get(name)?));
    }
    Some(match text {
        "string" => Kind::String,
        "bool" => Kind::Bool,
        "int32" => Kind::Int32,
        "int64" => Kind::Int64,
        "double" => Kind::Double,
        "bytes" => Kind::Bytes,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_of_the_same_release_as_the_definitions() {
        assert_eq!(TABLE.source, crate::builtin::source());
    }

    #[test]
    fn every_served_kind_and_its_list_have_a_message() {
        for kind in crate::builtin::kinds() {
            let list = kind.allows("list").then_some(&kind.list_kind);
            for name in [&kind.kind].into_iter().chain(list) {
                assert!(message_of(&kind.api_version(), name).is_some(), "{name}");
            }
        }
    }

    #[test]
    fn fields_are_found_by_their_numbers_and_have_both_names() {
        let meta = message_of("v1", "ConfigMap").unwrap().message();
        let meta = meta.field(1).unwrap();
        assert_eq!((&*meta.name, &*meta.go_name), ("metadata", "ObjectMeta"));
        let Kind::Message(meta) = meta.kind else {
            panic!("{meta:?}");
        };
        let meta = meta.message();
        assert_eq!(meta.go_name(), "ObjectMeta");
        let numbers: Vec<u32> = meta.fields.iter().map(|field| field.number).collect();
        assert!(numbers.is_sorted(), "{numbers:?}");
        assert_eq!(&*meta.field(17).unwrap().name, "managedFields");
        assert!(meta.field(15).is_none());
    }
}
