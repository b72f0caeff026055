use std::{collections::BTreeMap, marker::PhantomData, ops::Range, sync::Arc};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::object::{DecodedArc, object};
use crate::{
    client::codec::{Codec, Encoded, Encoding, Json},
    resource::ObjectMeta,
};

/// The JSON of an object as the server sent it, without its managed fields.
///
/// It knows where the fields lie that a cache reads often, so that these are read without decoding the object.
pub(crate) struct ObjectJson {
    json: Box<str>,
    metadata: Range<u32>,
    uid: Range<u32>,
    resource_version: Range<u32>,
    labels: Option<Range<u32>>,
}

/// How bytes are added to a decoded object, if they are wanted.
pub(crate) type AddBytes<T> = Option<fn(&mut T, Option<ObjectJson>)>;

/// The parts of a document, as they lie in it.
#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(borrow)]
    metadata: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetadataOutline<'a> {
    #[serde(borrow)]
    uid: &'a RawValue,
    #[serde(borrow)]
    resource_version: &'a RawValue,
    #[serde(borrow, default)]
    labels: Option<&'a RawValue>,
    #[serde(borrow, default)]
    managed_fields: Option<&'a RawValue>,
}

impl ObjectJson {
    /// A smaller object takes about as much memory decoded.
    pub(crate) const SMALLEST: usize = 1024;

    /// The object of a frame of a watch. Returns `None` for an object that is better stored decoded: it is small, is not
    /// JSON, or has a form that no API server writes.
    pub(crate) fn of_frame(frame: &Encoded) -> Option<Self> {
        #[derive(Deserialize)]
        struct Frame<'a> {
            #[serde(borrow)]
            object: &'a RawValue,
        }
        if frame.encoding != Encoding::Json || frame.bytes.len() < Self::SMALLEST {
            return None;
        }
        let text = std::str::from_utf8(&frame.bytes).ok()?.trim_ascii();
        // API servers write the type first.
        let rest = text.strip_prefix(r#"{"type":""#);
        let rest = rest.and_then(|rest| rest.split_once(r#"","object":"#));
        let usual = rest.and_then(|(_, rest)| rest.strip_suffix('}'));
        usual.and_then(Self::of).or_else(|| {
            let frame: Frame<'_> = Json.read(text.as_bytes(), PhantomData).ok()?;
            Self::of(frame.object.get())
        })
    }

    /// The items of a list, each as in [`of_frame`](Self::of_frame). Empty if the list is not JSON.
    pub(crate) fn of_items(list: &Encoded) -> Vec<Option<Self>> {
        #[derive(Deserialize)]
        struct List<'a> {
            #[serde(borrow, default)]
            items: Option<Vec<&'a RawValue>>,
        }
        if list.encoding != Encoding::Json {
            return Vec::new();
        }
        let list: Result<List<'_>, _> = Json.read(&list.bytes, PhantomData);
        let items = list.ok().and_then(|list| list.items).unwrap_or_default();
        items.into_iter().map(|item| Self::of(item.get())).collect()
    }

    /// The object with this JSON, as in [`of_frame`](Self::of_frame).
    pub(crate) fn of(text: &str) -> Option<Self> {
        if text.len() < Self::SMALLEST || u32::try_from(text.len()).is_err() {
            return None;
        }
        let outline: Outline<'_> = Json.read(text.as_bytes(), PhantomData).ok()?;
        let metadata = outline.metadata.get();
        let parts: MetadataOutline<'_> = Json.read(metadata.as_bytes(), PhantomData).ok()?;
        let managed_fields = match parts.managed_fields {
            Some(value) => Some(member(text, place(text, value)?)?),
            None => None,
        };
        let cut = managed_fields.unwrap_or(0..0);
        // The ranges count without the managed fields.
        let shifted = |at: usize| match at < cut.end {
            true => u32::try_from(at),
            false => u32::try_from(at - cut.len()),
        };
        let range =
            |range: Range<usize>| Some(shifted(range.start).ok()?..shifted(range.end).ok()?);
        let labels = match parts.labels {
            Some(labels) => Some(range(place(text, labels)?)?),
            None => None,
        };
        let object = Self {
            metadata: range(place(text, outline.metadata)?)?,
            uid: range(string(text, parts.uid)?)?,
            resource_version: range(string(text, parts.resource_version)?)?,
            labels,
            json: [&text[..cut.start], &text[cut.end..]].concat().into(),
        };
        (object.json.len() >= Self::SMALLEST).then_some(object)
    }

    /// `metadata.uid`
    pub(crate) fn uid(&self) -> &str {
        self.part(&self.uid)
    }

    /// `metadata.resourceVersion`
    pub(crate) fn resource_version(&self) -> &str {
        self.part(&self.resource_version)
    }

    /// `metadata.labels`. Returns `None` if they do not decode.
    pub(crate) fn labels(&self) -> Option<BTreeMap<String, String>> {
        match &self.labels {
            Some(labels) => Json.read_owned(self.part(labels).as_bytes()).ok(),
            None => Some(BTreeMap::new()),
        }
    }

    /// `metadata`. Returns `None` if it does not decode.
    pub(crate) fn metadata(&self) -> Option<ObjectMeta> {
        Json.read_owned(self.part(&self.metadata).as_bytes()).ok()
    }

    /// Decodes the object.
    ///
    /// # Errors
    /// The reason, which names a path and never a value.
    pub(crate) fn decode<K: DeserializeOwned>(&self) -> Result<Arc<K>, String> {
        let decoded = object(Json, self.json.as_bytes(), false);
        decoded.map(|decoded: DecodedArc<K>| decoded.object)
    }

    /// Bytes of the JSON.
    pub(crate) fn len(&self) -> usize {
        self.json.len()
    }

    fn part(&self, range: &Range<u32>) -> &str {
        let range = range.start as usize..range.end as usize;
        self.json.get(range).unwrap_or_default()
    }
}

/// Where `value` lies in `text`. Returns `None` if it does not lie there.
fn place(text: &str, value: &RawValue) -> Option<Range<usize>> {
    let value = value.get();
    let start = value.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let place = start..start + value.len();
    (text.get(place.clone()) == Some(value)).then_some(place)
}

/// Where the content of a string lies. Returns `None` if it has escapes, or is no string.
fn string(text: &str, value: &RawValue) -> Option<Range<usize>> {
    let content = value.get().strip_prefix('"')?.strip_suffix('"')?;
    let place = place(text, value)?;
    (!content.contains('\\')).then_some(place.start + 1..place.end - 1)
}

/// Where the managed fields with that value lie, with their key and with one of the commas around them. Returns `None`
/// if the key is written in another way.
fn member(text: &str, value: Range<usize>) -> Option<Range<usize>> {
    let before = text[..value.start].trim_ascii_end().strip_suffix(':')?;
    let before = before.trim_ascii_end().strip_suffix("\"managedFields\"")?;
    if let Some(before) = before.trim_ascii_end().strip_suffix(',') {
        return Some(before.len()..value.end);
    }
    let after = text[value.end..].trim_ascii_start();
    let after = after.strip_prefix(',').unwrap_or(after);
    Some(before.len()..text.len() - after.len())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::{Value, json};

    use super::*;
    use crate::client::decode::decode_object;

    fn config_map(managed_fields: &str, place: usize) -> String {
        let mut parts = vec![
            r#""name":"a""#.to_owned(),
            r#""uid":"u-1""#.to_owned(),
            r#""labels":{"app":"web","managedFields":"x"}"#.to_owned(),
            r#""resourceVersion":"17""#.to_owned(),
        ];
        parts.insert(place, managed_fields.to_owned());
        let (metadata, text) = (parts.join(" , "), "x".repeat(ObjectJson::SMALLEST));
        format!(r#"{{"kind":"ConfigMap","metadata":{{{metadata}}},"data":{{"a":"{text}"}}}}"#)
    }

    #[test]
    fn the_managed_fields_are_cut_wherever_they_are_and_nothing_else() {
        for place in 0..5 {
            for spaces in ["", " ", "\n  "] {
                let managed = format!(
                    r#""managedFields"{spaces}:{spaces}[{{"manager":"m, \"x\"","fieldsV1":{{"f:a":{{}}}}}}]{spaces}"#
                );
                let text = config_map(&managed, place);
                let encoded = ObjectJson::of(&text).unwrap();
                let mut expected: Value = serde_json::from_str(&text).unwrap();
                let metadata = expected["metadata"].as_object_mut().unwrap();
                metadata.remove("managedFields").unwrap();
                let kept: Value = serde_json::from_str(&encoded.json).unwrap();
                assert_eq!(kept, expected);
                assert_eq!((encoded.uid(), encoded.resource_version()), ("u-1", "17"));
                assert_eq!(
                    json!(encoded.labels().unwrap()),
                    expected["metadata"]["labels"]
                );
                assert_eq!(encoded.metadata().unwrap().name.as_deref(), Some("a"));
                let decoded: ConfigMap = decode_object(&Encoded::json(text), false).unwrap();
                assert_eq!(*encoded.decode::<ConfigMap>().unwrap(), decoded);
            }
        }
    }

    #[test]
    fn a_frame_and_a_list_give_the_same_objects() {
        let object = config_map(r#""managedFields":[]"#, 2);
        let small = r#"{"metadata":{"name":"b","uid":"u","resourceVersion":"1"}}"#;
        let list = format!(r#"{{"items":[{object},{small}]}}"#);
        let items = ObjectJson::of_items(&Encoded::json(list));
        assert!(items.len() == 2 && items[1].is_none());
        for frame in [
            format!(r#"{{"type":"ADDED","object":{object}}}"#),
            format!(r#"{{"object":{object},"type":"ADDED"}}"#),
            format!(r#"{{"type":"ADDED","object":{object},"more":{{}}}}"#),
        ] {
            let encoded = ObjectJson::of_frame(&Encoded::json(frame)).unwrap();
            assert_eq!(encoded.json, items[0].as_ref().unwrap().json);
        }
    }

    #[test]
    fn what_no_api_server_writes_stays_decoded() {
        let usual = config_map(r#""managedFields":[]"#, 0);
        for (from, to) in [
            (
                r#""managedFields":[]"#,
                r#""managedFields":[],"managedFields":[]"#,
            ),
            (r#""managedFields":[]"#, r#""managed\u0046ields":[]"#),
            (r#""uid":"u-1""#, r#""uid":"u\u002d1""#),
            (r#""uid":"u-1" ,"#, ""),
            (r#""uid":"u-1""#, r#""uid":17"#),
        ] {
            assert!(usual.contains(from));
            assert!(
                ObjectJson::of(&usual.replacen(from, to, 1)).is_none(),
                "{to}"
            );
        }
        assert!(ObjectJson::of(&usual[..usual.len() - 1]).is_none());
    }
}
