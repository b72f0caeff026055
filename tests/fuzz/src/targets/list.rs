//! Each item of a list is there once: among the objects if it fits the type, and beside them if it does not.

use pilothouse::{
    client::{Api, ListParams, ObjectList},
    k8s::api::core::v1::{ConfigMap, Pod},
    resource::{ListMeta, Resource},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    answers::{Answer, client, now},
    input,
};

pub(crate) fn run(data: &[u8]) {
    let (form, body) = input::choice(data);
    let is_cbor = form & 1 == 1;
    match form & 2 == 0 {
        true => read::<ConfigMap>(is_cbor, body),
        false => read::<Pod>(is_cbor, body),
    }
}

fn read<K>(is_cbor: bool, body: &[u8])
where
    K: Resource + Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let answer = match is_cbor {
        true => Answer::cbor(body),
        false => Answer::json(body),
    };
    let resource = pilothouse::resource::ApiResource::of::<K>();
    let api = Api::<K>::of(&client(answer), resource, None);
    let list = now(api.list(&ListParams::default())).ok();
    if is_cbor {
        // The same list as JSON is read in the same way.
        if let Some(value) = crate::targets::cbor::value(body) {
            let text = value.to_string();
            compare(list.as_ref(), text.as_bytes());
        }
        return;
    }
    compare(list.as_ref(), body);
}

fn compare<K>(list: Option<&ObjectList<K>>, text: &[u8])
where
    K: DeserializeOwned + PartialEq + std::fmt::Debug,
{
    if input::depth(text) > input::DEEPEST {
        return;
    }
    let Ok(value) = serde_json::from_slice::<Value>(text) else {
        assert!(list.is_none(), "a list of what is not JSON");
        return;
    };
    if !input::Unique::is(text) {
        return;
    }
    let Some(expected) = expected(&value) else {
        assert!(list.is_none(), "the input is no list: {list:?}");
        return;
    };
    let list = list.expect("a list that can be read");
    let (metadata, items) = expected;
    assert_eq!(list.metadata, metadata);
    assert_eq!(list.items.len() + list.undecodable.len(), items.len());
    let (mut good, mut bad) = (list.items.iter(), list.undecodable.iter());
    for mut item in items {
        let metadata = item.get_mut("metadata").and_then(Value::as_object_mut);
        metadata.map(|metadata| metadata.remove("managedFields"));
        match serde_json::from_str::<K>(&item.to_string()) {
            Ok(object) => assert_eq!(good.next(), Some(&object)),
            Err(error) => {
                let bad = bad.next().unwrap_or_else(|| panic!("{item}: {error}"));
                let name = item.pointer("/metadata/name").and_then(Value::as_str);
                assert_eq!(bad.key.name(), name.unwrap_or_default());
            }
        }
    }
}

/// Metadata and items of a list; `None` if the value is not a list.
fn expected(value: &Value) -> Option<(ListMeta, Vec<Value>)> {
    let fields = value.as_object()?;
    let is_list = match fields.get("kind") {
        None | Some(Value::Null) => false,
        Some(kind) => kind.as_str()?.ends_with("List"),
    };
    let metadata = match fields.get("metadata") {
        None | Some(Value::Null) => ListMeta::default(),
        Some(metadata) => serde_json::from_str(&metadata.to_string()).ok()?,
    };
    match fields.get("items") {
        Some(Value::Array(items)) => Some((metadata, items.clone())),
        // Go writes an empty list as null.
        Some(Value::Null) | None if is_list => Some((metadata, Vec::new())),
        Some(Value::Null) => Some((metadata, Vec::new())),
        _ => None,
    }
}
