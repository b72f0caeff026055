//! Checks that the CBOR reader reads what `cbor4ii` reads, in the JSON form of Kubernetes, and reads back what the writer writes.

use cbor4ii::core::{Value as Item, dec::Reference};
use pilothouse::{
    client::{Api, PostParams},
    k8s::api::core::v1::Pod,
    resource::{ApiResource, DynamicObject},
};
use serde_json::{Map, Value};

use crate::{
    answers::{Answer, client, echo, now},
    input,
};

pub(crate) fn run(data: &[u8]) {
    let ours = value(data);
    let theirs = reference(data);
    if theirs.is_some() {
        assert_eq!(ours, theirs, "cbor4ii reads it");
    }
    let Some(ours) = ours else {
        return;
    };
    // A type gets the same value from CBOR and from its JSON. The reference refuses keys that come twice, which the JSON has lost.
    let text = ours.to_string();
    if let Ok(expected) = serde_json::from_str::<Pod>(&text)
        && theirs.is_some()
    {
        let found = now(api(Answer::cbor(data)).get_subresource::<Pod>("a", "b"));
        assert_eq!(found.map_err(|error| error.to_string()), Ok(expected));
    }
    let (client, sent) = echo();
    let api = Api::<DynamicObject>::of(&client, ApiResource::of::<Pod>(), Some("n"));
    let api = api.with_managed_fields();
    let params = PostParams::default();
    let back = now(api.create_subresource::<Value, Value>("a", "b", &params, &ours));
    assert_eq!(back.ok().as_ref(), Some(&ours), "what was written");
    let sent = sent.lock().expect("nobody panics with it").clone();
    // The byte of `undefined` may also be a part of a number or of a text. The reference counts the tag and the keys as levels, too.
    if !untagged(&sent).contains(&UNDEFINED) && input::depth(text.as_bytes()) + 2 <= input::DEEPEST
    {
        let theirs = reference(&sent);
        assert_eq!(theirs, Some(ours), "cbor4ii reads what was written");
    }
}

fn api(answer: Answer) -> Api<DynamicObject> {
    let pods = ApiResource::of::<Pod>();
    Api::of(&client(answer), pods, Some("n")).with_managed_fields()
}

/// Reads CBOR with our reader.
pub(crate) fn value(data: &[u8]) -> Option<Value> {
    now(api(Answer::cbor(data)).get_subresource("a", "b")).ok()
}

const UNDEFINED: u8 = 0xf7;

/// The data without the tag that says that it is CBOR.
fn untagged(data: &[u8]) -> &[u8] {
    data.strip_prefix(&[0xd9, 0xd9, 0xf7]).unwrap_or(data)
}

/// Reads CBOR with `cbor4ii` and returns it in the JSON form of Kubernetes, or `None` if that form is not defined.
fn reference(data: &[u8]) -> Option<Value> {
    // `cbor4ii` reads `undefined` as null, which API servers refuse.
    if untagged(data).contains(&UNDEFINED) {
        return None;
    }
    let mut reader = cbor4ii::core::utils::SliceReader::new(data);
    let item = <Item as cbor4ii::core::dec::Decode>::decode(&mut reader).ok()?;
    match cbor4ii::core::dec::Read::fill(&mut reader, 1).ok()? {
        Reference::Long([]) | Reference::Short([]) => show(&item, None, 0),
        _ => None,
    }
}

fn show(item: &Item, later: Option<u64>, depth: usize) -> Option<Value> {
    if depth > input::DEEPEST {
        return None;
    }
    Some(match item {
        Item::Null => Value::Null,
        Item::Bool(value) => Value::Bool(*value),
        Item::Integer(value) => match (u64::try_from(*value), i64::try_from(*value)) {
            (Ok(value), _) => value.into(),
            (_, Ok(value)) => value.into(),
            _ => return None,
        },
        Item::Float(value) => serde_json::Number::from_f64(*value)?.into(),
        Item::Text(text) => text.clone().into(),
        Item::Bytes(bytes) => text(bytes, later)?.into(),
        Item::Array(items) => {
            let items = items.iter().map(|item| show(item, None, depth + 1));
            Value::Array(items.collect::<Option<_>>()?)
        }
        Item::Map(pairs) => {
            let mut map = Map::new();
            for (key, value) in pairs {
                let Value::String(key) = show(key, None, depth + 1)? else {
                    return None;
                };
                // Readers differ in what a duplicate key means.
                if map.insert(key, show(value, None, depth + 1)?).is_some() {
                    return None;
                }
            }
            Value::Object(map)
        }
        Item::Tag(2 | 3, _) => return None,
        Item::Tag(tag @ 21..=23, item) => show(item, Some(*tag), depth + 1)?,
        Item::Tag(_, item) => show(item, later, depth + 1)?,
        _ => return None,
    })
}

fn text(bytes: &[u8], later: Option<u64>) -> Option<String> {
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    match later {
        Some(21) => Some(URL_SAFE_NO_PAD.encode(bytes)),
        Some(22) => Some(STANDARD.encode(bytes)),
        Some(_) => Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        None => String::from_utf8(bytes.to_vec()).ok(),
    }
}
