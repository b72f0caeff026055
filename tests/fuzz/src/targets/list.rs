//! Checks that each item of a list appears once: as an object if it fits the type, otherwise as undecodable.

use pilothouse::{
    client::{Api, ListParams, ObjectList},
    k8s::api::core::v1::{ConfigMap, Pod},
    resource::{ListMeta, ObjectKey, Resource},
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
        // The same list as JSON gives the same result.
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
    K: Resource + DeserializeOwned + PartialEq + std::fmt::Debug,
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
    let Some(expected) = expected(&value, K::KIND) else {
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
                let text = |path| item.pointer(path).and_then(Value::as_str);
                let name = text("/metadata/name").unwrap_or_default();
                assert_eq!(bad.key, ObjectKey::new(text("/metadata/namespace"), name));
            }
        }
    }
}

/// Returns the metadata and the items of a list of `kind`, or `None` if the value is not one.
fn expected(value: &Value, kind: &str) -> Option<(ListMeta, Vec<Value>)> {
    let fields = value.as_object()?;
    let text = |field| match fields.get(field) {
        None | Some(Value::Null) => Some(""),
        Some(value) => value.as_str(),
    };
    let (found, version) = (text("kind")?, text("apiVersion")?);
    let is_right = match found {
        "" | "List" => true,
        "PartialObjectMetadataList" => version.is_empty() || version.starts_with("meta.k8s.io/"),
        _ => found == format!("{kind}List") && matches!(version, "" | "v1"),
    };
    let metadata = match fields.get("metadata") {
        None | Some(Value::Null) => ListMeta::default(),
        Some(metadata) => serde_json::from_str(&metadata.to_string()).ok()?,
    };
    let has_token = metadata
        .continue_
        .as_ref()
        .is_some_and(|token| !token.is_empty());
    let is_cut = !has_token && metadata.remaining_item_count.is_some_and(|count| count > 0);
    if !is_right || is_cut {
        return None;
    }
    let is_unnamed = |item: &&Value| {
        let name = item.pointer("/metadata/name").and_then(Value::as_str);
        name.is_none_or(str::is_empty)
    };
    match fields.get("items") {
        // No object of an API server is without a name.
        Some(Value::Array(items)) if items.iter().filter(is_unnamed).count() > 100 => None,
        Some(Value::Array(items)) => Some((metadata, items.clone())),
        // Go writes an empty list as null.
        Some(Value::Null) => Some((metadata, Vec::new())),
        None if !found.is_empty() => Some((metadata, Vec::new())),
        _ => None,
    }
}
