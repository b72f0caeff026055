use std::{borrow::Cow, collections::BTreeMap, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::{lenient::undecodable, object::ItemSeed, received::Received, span, types::Types};
use crate::{
    client::{
        ObjectList,
        codec::{Codec, Encoded, JsonPlace, Part, with_codec},
    },
    resource::{ApiResource, ListMeta, Object},
};

/// A list may have this many items without a name. No object of an API server is without one.
const MAX_UNNAMED: usize = 100;

/// Decodes a list: in one pass if every item fits, and item by item otherwise.
///
/// An item without a name is of no use to anybody. A list with many of them fails as a whole before they fill the memory:
/// `{}` is three bytes of an answer, but hundreds of bytes as an object.
pub(crate) fn decode_list<K: DeserializeOwned>(
    body: &Encoded,
    resource: &ApiResource,
    managed_fields: bool,
    is_named: &dyn Fn(&K) -> bool,
) -> Result<ObjectList<K>, String> {
    let _span = span::entered("list", body);
    let quick = with_codec!(body.encoding, codec => {
        let seed = ListSeed {
            managed_fields,
            resource,
            is_named,
        };
        codec.read(&body.bytes, seed)
    });
    quick.or_else(|_| item_by_item(body, resource, managed_fields, is_named))
}

/// Counts the items without a name.
#[derive(Default)]
struct Unnamed {
    count: usize,
}

impl Unnamed {
    /// Fails if there are too many.
    fn note(&mut self, index: usize, is_named: bool) -> Result<(), String> {
        self.count += usize::from(!is_named);
        match self.count > MAX_UNNAMED {
            true => Err(format!(
                "items[{index}]: more than {MAX_UNNAMED} objects have no name"
            )),
            false => Ok(()),
        }
    }
}

fn item_by_item<K: DeserializeOwned>(
    body: &Encoded,
    resource: &ApiResource,
    managed_fields: bool,
    is_named: &dyn Fn(&K) -> bool,
) -> Result<ObjectList<K>, String> {
    with_parts(body, resource, |metadata, items| {
        let mut unnamed = Unnamed::default();
        let mut list = ObjectList {
            metadata,
            ..ObjectList::default()
        };
        for (index, item) in items.into_iter().enumerate() {
            match item.read(ItemSeed::new(managed_fields)) {
                Ok(item) => {
                    unnamed.note(index, is_named(&item))?;
                    list.items.push(item);
                }
                Err(reason) => {
                    let item = undecodable(item.format, item.bytes, resource, reason);
                    unnamed.note(index, !item.key.name().is_empty())?;
                    list.undecodable.push(item);
                }
            }
        }
        Ok(list)
    })
}

/// Takes a list apart for a cache. An item whose metadata cannot be read is undecodable. Small objects are decoded if `decodes_small`.
///
/// Too many items without a name are an error, as in [`decode_list`].
pub(crate) fn receive_list<K: Object + DeserializeOwned>(
    body: &Encoded,
    resource: &ApiResource,
    managed_fields: bool,
    decodes_small: bool,
) -> Result<ObjectList<Received<K>>, String> {
    let _span = span::entered("list", body);
    with_parts(body, resource, |metadata, items| {
        let mut unnamed = Unnamed::default();
        let mut list = ObjectList {
            metadata,
            items: Vec::with_capacity(items.len()),
            undecodable: Vec::new(),
        };
        for (index, item) in items.into_iter().enumerate() {
            match Received::read(item, resource, managed_fields, decodes_small) {
                Ok(item) => {
                    unnamed.note(index, item.is_named())?;
                    list.items.push(item);
                }
                Err(item) => {
                    unnamed.note(index, !item.key.name().is_empty())?;
                    list.undecodable.push(*item);
                }
            }
        }
        Ok(list)
    })
}

/// Calls `function` with the metadata of a list and its items.
fn with_parts<T>(
    body: &Encoded,
    resource: &ApiResource,
    function: impl FnOnce(ListMeta, Vec<Part<'_, '_>>) -> Result<T, String>,
) -> Result<T, String> {
    with_codec!(body.encoding, codec => codec.with_index(&body.bytes, None, |place| {
        let (metadata, items) = parts(codec, &body.bytes, place, resource)?;
        function(metadata, items)
    }))
}

/// Fails if this is a list of another kind, or if pages are missing and there is no token for them. The caller would
/// take the missing objects for deleted ones.
fn check(types: Types<'_>, metadata: &ListMeta, resource: &ApiResource) -> Result<(), String> {
    types.check_list(resource)?;
    let token = metadata.continue_.as_deref().unwrap_or_default();
    match metadata.remaining_item_count {
        Some(remaining) if remaining > 0 && token.is_empty() => Err(format!(
            "metadata: {remaining} objects remain, but there is no `continue` for the next page"
        )),
        _ => Ok(()),
    }
}

fn parts<'de, 'a, C: Codec>(
    codec: C,
    body: &'de [u8],
    place: Option<JsonPlace<'de, 'a>>,
    resource: &ApiResource,
) -> Result<(ListMeta, Vec<Part<'de, 'a>>), String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", bound(deserialize = "R: Deserialize<'de>"))]
    struct RawList<R> {
        #[serde(default)]
        api_version: Option<String>,
        #[serde(default)]
        kind: Option<String>,
        #[serde(default)]
        metadata: Option<ListMeta>,
        #[serde(default)]
        items: Option<Vec<R>>,
    }
    let raw = PhantomData::<RawList<C::Raw<'de>>>;
    let raw = codec.read_at(body, place, raw).map_err(|reason| {
        // What is no map at all is reported as such.
        type Map = BTreeMap<String, IgnoredAny>;
        codec.read_owned::<Map>(body).err().unwrap_or(reason)
    })?;
    // A list without items would mean that all objects were deleted.
    let types = Types::new(raw.api_version.as_deref(), raw.kind.as_deref());
    if raw.items.is_none() && !types.kind.ends_with("List") {
        return Err("missing field `items`".to_owned());
    }
    let metadata = raw.metadata.unwrap_or_default();
    check(types, &metadata, resource)?;
    let items = raw.items.unwrap_or_default().into_iter();
    let items = items.map(|item| Part::of(codec, place, item));
    Ok((metadata, items.collect()))
}

struct ListSeed<'a, K> {
    managed_fields: bool,
    resource: &'a ApiResource,
    is_named: &'a dyn Fn(&K) -> bool,
}

impl<'de, K: DeserializeOwned> DeserializeSeed<'de> for ListSeed<'_, K> {
    type Value = ObjectList<K>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, K: DeserializeOwned> Visitor<'de> for ListSeed<'_, K> {
    type Value = ObjectList<K>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        enum Key {
            Metadata,
            Items,
            Kind,
            ApiVersion,
            #[serde(other)]
            Other,
        }
        let mut list = ObjectList::default();
        let mut seen = false;
        let (mut api_version, mut kind) = (None, None);
        while let Some(key) = map.next_key()? {
            match key {
                Key::Metadata => {
                    list.metadata = map.next_value::<Option<ListMeta>>()?.unwrap_or_default();
                }
                Key::Items => {
                    list.items = map.next_value_seed(ItemsSeed {
                        managed_fields: self.managed_fields,
                        is_named: self.is_named,
                    })?;
                    seen = true;
                }
                Key::Kind => {
                    let kind = kind.insert(map.next_value::<Cow<'de, str>>()?);
                    seen |= kind.ends_with("List");
                }
                Key::ApiVersion => {
                    api_version = Some(map.next_value::<Cow<'de, str>>()?);
                }
                Key::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if !seen {
            return Err(A::Error::missing_field("items"));
        }
        let types = Types::new(api_version.as_deref(), kind.as_deref());
        // The slow way reports the error.
        check(types, &list.metadata, self.resource).map_err(A::Error::custom)?;
        Ok(list)
    }
}

struct ItemsSeed<'a, K> {
    managed_fields: bool,
    is_named: &'a dyn Fn(&K) -> bool,
}

impl<'de, K: DeserializeOwned> DeserializeSeed<'de> for ItemsSeed<'_, K> {
    type Value = Vec<K>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<K>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, K: DeserializeOwned> Visitor<'de> for ItemsSeed<'_, K> {
    type Value = Vec<K>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    /// Go writes an empty list as `null`.
    fn visit_unit<E: Error>(self) -> Result<Vec<K>, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<K>, A::Error> {
        let (mut items, mut unnamed) = (Vec::new(), Unnamed::default());
        while let Some(item) = seq.next_element_seed(ItemSeed::new(self.managed_fields))? {
            let noted = unnamed.note(items.len(), (self.is_named)(&item));
            noted.map_err(A::Error::custom)?;
            items.push(item);
        }
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;

    fn decode(text: &str) -> Result<ObjectList<ConfigMap>, String> {
        decode_list(
            &Encoded::json(text.to_owned()),
            &ApiResource::of::<ConfigMap>(),
            false,
            &|object| !object.name().is_empty(),
        )
    }

    #[test]
    fn a_list_of_many_objects_without_a_name_is_an_error_and_of_a_few_is_not() {
        let list = |count: usize, rest: &str| {
            let items = vec!["{}"; count].join(",");
            decode(&format!(r#"{{"items":[{items}{rest}]}}"#))
        };
        for rest in ["", r#",{"data":3,"metadata":{"name":"a"}}"#] {
            assert!(list(100, rest).is_ok(), "{rest}");
            assert_eq!(
                list(101, rest).unwrap_err(),
                "items[100]: more than 100 objects have no name"
            );
        }
        let undecodable = vec!["3"; 101].join(",");
        assert!(decode(&format!(r#"{{"items":[{undecodable}]}}"#)).is_err());
    }

    #[test]
    fn one_bad_item_is_listed_beside_the_good_ones() {
        let list = decode(
            r#"{"kind":"ConfigMapList","metadata":{"resourceVersion":"7","continue":"next"},"items":[
                {"metadata":{"name":"a","namespace":"n","managedFields":[{"manager":"x"}]}},
                {"data":{"password":["hunter2"]},
                 "metadata":{"name":"b","namespace":"n","uid":"1","resourceVersion":"5","labels":{"app":"web","odd":3},
                             "ownerReferences":[{"apiVersion":"v1","kind":"K","name":"o","uid":"u"},"odd"]}},
                {"metadata":{"name":"c","namespace":"n"}}]}"#,
        )
        .unwrap();
        let names: Vec<_> = list.items.iter().map(Object::name).collect();
        assert_eq!(names, ["a", "c"]);
        assert!(list.items[0].metadata.managed_fields.is_none());
        assert_eq!(
            (list.resource_version(), list.continue_token()),
            (Some("7"), Some("next"))
        );
        let [bad] = &list.undecodable[..] else {
            panic!("{list:?}")
        };
        assert_eq!(
            bad.to_string(),
            "ConfigMap n/b (resource version 5) cannot be decoded: data.password: expected a string, found a list"
        );
        assert_eq!((bad.uid.as_deref(), bad.labels.len()), (Some("1"), 1));
        assert_eq!(bad.owner_references.len(), 1);
    }

    #[test]
    fn an_empty_list_may_be_null() {
        for text in [
            r#"{"kind":"ConfigMapList","metadata":{},"items":null}"#,
            r#"{"items":[],"kind":"ConfigMapList"}"#,
        ] {
            assert!(decode(text).unwrap().items.is_empty());
        }
    }

    #[test]
    fn an_answer_that_is_not_a_list_is_an_error() {
        assert_eq!(decode("[]").unwrap_err(), "expected a map, found a list");
        assert_eq!(
            decode("{\"items\":3}").unwrap_err(),
            "items: expected a sequence, found an integer"
        );
        assert_eq!(
            decode("{\"kind\":\"Status\"}").unwrap_err(),
            "missing field `items`"
        );
        assert_eq!(
            decode("<html>").unwrap_err(),
            "not JSON: expected value at line 1 column 1"
        );
    }

    #[test]
    fn a_list_of_another_kind_is_an_error() {
        for items in ["[]", "[{\"data\":3}]", "null"] {
            let text = format!(r#"{{"apiVersion":"v1","kind":"PodList","items":{items}}}"#);
            assert_eq!(
                decode(&text).unwrap_err(),
                "kind: expected `ConfigMapList` of `v1`, found `PodList` of `v1`"
            );
        }
        let partial =
            r#"{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadataList","items":[]}"#;
        for text in [partial, r#"{"apiVersion":"v1","kind":"List","items":[]}"#] {
            assert!(decode(text).unwrap().items.is_empty());
        }
    }

    #[test]
    fn a_last_page_with_objects_to_come_is_an_error() {
        let page = |metadata| format!(r#"{{"metadata":{metadata},"items":[]}}"#);
        for metadata in [
            r#"{"remainingItemCount":3}"#,
            r#"{"remainingItemCount":3,"continue":""}"#,
        ] {
            assert_eq!(
                decode(&page(metadata)).unwrap_err(),
                "metadata: 3 objects remain, but there is no `continue` for the next page"
            );
        }
        for metadata in [
            r#"{"remainingItemCount":0}"#,
            r#"{"remainingItemCount":3,"continue":"t"}"#,
        ] {
            assert!(decode(&page(metadata)).is_ok());
        }
    }

    #[test]
    fn an_item_that_is_not_an_object_spoils_only_itself() {
        let list = decode(r#"{"items":[3,{"metadata":{"name":"a"}}]}"#).unwrap();
        assert_eq!((list.items.len(), list.undecodable.len()), (1, 1));
    }
}
