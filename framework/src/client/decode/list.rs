use std::{borrow::Cow, collections::BTreeMap, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::{
    lenient::undecodable,
    object::{ItemSeed, object},
};
use crate::{
    client::{
        ObjectList,
        codec::{Codec, Encoded, with_codec},
    },
    resource::{ApiResource, ListMeta},
};

/// A list: one pass when every item fits, and item by item when one does not.
pub(crate) fn decode_list<K: DeserializeOwned>(
    body: &Encoded,
    resource: &ApiResource,
    managed_fields: bool,
) -> Result<ObjectList<K>, String> {
    let quick = with_codec!(body.encoding, codec => {
        let seed = ListSeed {
            managed_fields,
            kind: PhantomData,
        };
        codec.read(&body.bytes, seed)
    });
    quick.or_else(|_| item_by_item(body, resource, managed_fields))
}

fn item_by_item<K: DeserializeOwned>(
    body: &Encoded,
    resource: &ApiResource,
    managed_fields: bool,
) -> Result<ObjectList<K>, String> {
    let (metadata, items) = parts(body)?;
    let mut list = ObjectList {
        metadata,
        ..ObjectList::default()
    };
    let encoding = body.encoding;
    for item in items {
        match with_codec!(encoding, codec => object(codec, item, managed_fields)) {
            Ok(item) => list.items.push(item),
            Err(reason) => {
                let item = undecodable(encoding, item, resource, reason);
                list.undecodable.push(item);
            }
        }
    }
    Ok(list)
}

fn parts(body: &Encoded) -> Result<(ListMeta, Vec<&[u8]>), String> {
    with_codec!(body.encoding, codec => parts_as(codec, &body.bytes))
}

fn parts_as<C: Codec>(codec: C, body: &[u8]) -> Result<(ListMeta, Vec<&[u8]>), String> {
    #[derive(Deserialize)]
    #[serde(bound(deserialize = "R: Deserialize<'de>"))]
    struct RawList<R> {
        #[serde(default)]
        kind: Option<String>,
        #[serde(default)]
        metadata: Option<ListMeta>,
        #[serde(default)]
        items: Option<Vec<R>>,
    }
    // A derived struct would also take a list of its fields.
    type Map = BTreeMap<String, IgnoredAny>;
    codec.read_owned::<Map>(body)?;
    let raw = PhantomData::<RawList<C::Raw<'_>>>;
    let raw = codec.read(body, raw)?;
    // An answer without objects would read as: everything was deleted.
    if raw.items.is_none() && !raw.kind.is_some_and(|kind| kind.ends_with("List")) {
        return Err("missing field `items`".to_owned());
    }
    let items = raw.items.unwrap_or_default();
    let items = items.into_iter().map(Into::into).collect();
    Ok((raw.metadata.unwrap_or_default(), items))
}

struct ListSeed<K> {
    managed_fields: bool,
    kind: PhantomData<K>,
}

impl<'de, K: DeserializeOwned> DeserializeSeed<'de> for ListSeed<K> {
    type Value = ObjectList<K>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, K: DeserializeOwned> Visitor<'de> for ListSeed<K> {
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
            #[serde(other)]
            Other,
        }
        let mut list = ObjectList::default();
        let mut seen = false;
        while let Some(key) = map.next_key()? {
            match key {
                Key::Metadata => {
                    list.metadata = map.next_value::<Option<ListMeta>>()?.unwrap_or_default();
                }
                Key::Items => {
                    list.items = map.next_value_seed(ItemsSeed {
                        managed_fields: self.managed_fields,
                        kind: PhantomData,
                    })?;
                    seen = true;
                }
                Key::Kind => {
                    seen |= map.next_value::<Cow<'de, str>>()?.ends_with("List");
                }
                Key::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if seen {
            Ok(list)
        } else {
            Err(A::Error::missing_field("items"))
        }
    }
}

struct ItemsSeed<K> {
    managed_fields: bool,
    kind: PhantomData<K>,
}

impl<'de, K: DeserializeOwned> DeserializeSeed<'de> for ItemsSeed<K> {
    type Value = Vec<K>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<K>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, K: DeserializeOwned> Visitor<'de> for ItemsSeed<K> {
    type Value = Vec<K>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    /// Go writes an empty list as `null`.
    fn visit_unit<E: Error>(self) -> Result<Vec<K>, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<K>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(ItemSeed::new(self.managed_fields))? {
            items.push(item);
        }
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Object;
    use k8s_openapi::api::core::v1::ConfigMap;

    fn decode(text: &str) -> Result<ObjectList<ConfigMap>, String> {
        decode_list(
            &Encoded::json(text.to_owned()),
            &ApiResource::of::<ConfigMap>(),
            false,
        )
    }

    #[test]
    fn one_bad_item_stands_beside_the_good_ones() {
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
    fn what_is_no_list_is_an_error() {
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
    fn an_item_that_is_no_object_spoils_only_itself() {
        let list = decode(r#"{"items":[3,{"metadata":{"name":"a"}}]}"#).unwrap();
        assert_eq!((list.items.len(), list.undecodable.len()), (1, 1));
    }
}
