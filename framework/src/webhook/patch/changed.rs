use std::collections::BTreeMap;

use serde_json::{Map, Value, value::RawValue};

use crate::client::decode_plain;

/// The values of three texts, without the members of objects that are the same in the last two. The
/// [`difference`](super::difference::difference) has nothing for those, and most of a large object is the same, so most of its text
/// is never read into values.
///
/// # Errors
/// What is wrong with a text, without a part of it.
pub(super) fn changed_parts(texts: [&str; 3]) -> Result<[Value; 3], String> {
    if !texts.iter().all(|text| text.starts_with('{')) {
        let [raw, before, after] = texts.map(value);
        return Ok([raw?, before?, after?]);
    }
    let [raw, before, after] = texts.map(members);
    let members = [raw?, before?, after?];
    let [_, before, after] = &members;
    let mut parts = [Map::new(), Map::new(), Map::new()];
    let added = after.keys().filter(|name| !before.contains_key(*name));
    for name in before.keys().chain(added) {
        if text(before, name) == text(after, name) {
            continue;
        }
        let values = match members.each_ref().map(|object| text(object, name)) {
            [Some(raw), Some(before), Some(after)] => {
                changed_parts([raw, before, after])?.map(Some)
            }
            some => {
                let [raw, before, after] = some.map(|text| text.map(value).transpose());
                [raw?, before?, after?]
            }
        };
        for (part, value) in parts.iter_mut().zip(values) {
            part.extend(value.map(|value| (name.clone(), value)));
        }
    }
    Ok(parts.map(Value::Object))
}

type Members<'a> = BTreeMap<String, &'a RawValue>;

fn text<'a>(object: &Members<'a>, name: &str) -> Option<&'a str> {
    object.get(name).map(|value| value.get())
}

fn members(text: &str) -> Result<Members<'_>, String> {
    decode_plain(text.as_bytes())
}

fn value(text: &str) -> Result<Value, String> {
    decode_plain(text.as_bytes())
}
