use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor},
};

use super::{lenient::undecodable, object::ItemSeed, received::Received, span, types::Types};
use crate::{
    client::{
        Change, WatchEvent,
        codec::{Codec, Encoded, Format, JsonIndex, JsonPlace, Part, with_codec},
    },
    resource::{ApiResource, Object, Status, Undecodable},
};

/// One frame of a watch: an event, or the server's error.
#[expect(
    clippy::large_enum_variant,
    reason = "events are the usual case and are taken apart at once"
)]
pub(crate) enum Event<K> {
    Event(WatchEvent<K>),
    Error(Box<Status>),
}

/// Decodes one frame of a watch, with its index if it was made before. One pass is enough for a change if `type` comes
/// first and the object fits.
pub(crate) fn decode_event<K: DeserializeOwned>(
    frame: &Encoded,
    json_index: Option<&JsonIndex>,
    resource: &ApiResource,
    managed_fields: bool,
) -> Result<Event<K>, String> {
    let _span = span::entered("event", frame);
    let quick = with_codec!(Format::of_frame(frame.encoding), codec => {
        let bytes = &frame.bytes;
        codec.with_index(bytes, json_index, |place| {
            let seed = EventSeed {
                managed_fields,
                kind: PhantomData,
            };
            codec.read_at(bytes, place, seed)
        })
    });
    quick.or_else(|_| {
        in_two_steps(frame, json_index, resource, |part| {
            let read = part.read(ItemSeed::new(managed_fields));
            read.map_err(|reason| Box::new(undecodable(part.format, part.bytes, resource, reason)))
        })
    })
}

/// Takes one frame of a watch apart for a cache, with its index if it was made before. An object whose metadata cannot be read
/// is undecodable. Small objects are decoded if `decodes_small`.
pub(crate) fn receive_event<K: Object + DeserializeOwned>(
    frame: &Encoded,
    json_index: Option<&JsonIndex>,
    resource: &ApiResource,
    managed_fields: bool,
    decodes_small: bool,
) -> Result<Event<Received<K>>, String> {
    let _span = span::entered("event", frame);
    in_two_steps(frame, json_index, resource, |part| {
        Received::read(part, resource, managed_fields, decodes_small)
    })
}

/// Reads `type` and where the object lies first, then the object.
fn in_two_steps<K>(
    frame: &Encoded,
    json_index: Option<&JsonIndex>,
    resource: &ApiResource,
    read: impl FnOnce(Part<'_, '_>) -> Result<K, Box<Undecodable>>,
) -> Result<Event<K>, String> {
    let bytes = &frame.bytes;
    with_codec!(Format::of_frame(frame.encoding), codec => {
        codec.with_index(bytes, json_index, |place| {
            let (kind, object) = parts(codec, bytes, place)?;
            event(kind, object, resource, read).map_err(|reason| format!("object: {reason}"))
        })
    })
}

/// The type of an event and its object.
fn parts<'de, 'a, C: Codec>(
    codec: C,
    frame: &'de [u8],
    place: Option<JsonPlace<'de, 'a>>,
) -> Result<(Type, Part<'de, 'a>), String> {
    #[derive(Deserialize)]
    struct RawEvent<R> {
        r#type: String,
        object: R,
    }
    let raw = codec.read_at(frame, place, PhantomData::<RawEvent<C::Raw<'de>>>)?;
    match Type::of(&raw.r#type) {
        Some(kind) => Ok((kind, Part::of(codec, place, raw.object))),
        None => Err("type: not one of the known values".to_owned()),
    }
}

fn event<K>(
    kind: Type,
    object: Part<'_, '_>,
    resource: &ApiResource,
    read: impl FnOnce(Part<'_, '_>) -> Result<K, Box<Undecodable>>,
) -> Result<Event<K>, String> {
    match kind {
        Type::Change(change) => Ok(Event::Event(match read(object) {
            Ok(object) => changed(change, object),
            Err(object) => WatchEvent::Undecodable {
                change,
                object: *object,
            },
        })),
        Type::Bookmark => {
            let bookmark = object.read(PhantomData::<Bookmark>)?;
            bookmark.event(resource)
        }
        Type::Error => {
            let status = object.read(PhantomData::<Status>)?;
            Ok(Event::Error(Box::new(status)))
        }
    }
}

fn changed<K>(change: Change, object: K) -> WatchEvent<K> {
    match change {
        Change::Added => WatchEvent::Added(object),
        Change::Modified => WatchEvent::Modified(object),
        Change::Deleted => WatchEvent::Deleted(object),
    }
}

#[derive(Clone, Copy)]
enum Type {
    Change(Change),
    Bookmark,
    Error,
}

impl Type {
    fn of(text: &str) -> Option<Self> {
        Some(match text {
            "ADDED" => Self::Change(Change::Added),
            "MODIFIED" => Self::Change(Change::Modified),
            "DELETED" => Self::Change(Change::Deleted),
            "BOOKMARK" => Self::Bookmark,
            "ERROR" => Self::Error,
            _ => return None,
        })
    }
}

/// The object of a bookmark: it has the watched kind and only a resource version.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bookmark {
    #[serde(default)]
    api_version: Option<String>,
    #[serde(default)]
    kind: Option<String>,
    metadata: BookmarkMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkMeta {
    resource_version: String,
    #[serde(default)]
    annotations: Option<BookmarkAnnotations>,
}

#[derive(Deserialize)]
struct BookmarkAnnotations {
    #[serde(rename = "k8s.io/initial-events-end", default)]
    initial_events_end: Option<String>,
}

impl Bookmark {
    /// Fails for a bookmark of another kind, because it says nothing about the watched objects.
    fn event<K>(self, resource: &ApiResource) -> Result<Event<K>, String> {
        let types = Types::new(self.api_version.as_deref(), self.kind.as_deref());
        types.check_object(resource, true)?;
        let end = self
            .metadata
            .annotations
            .and_then(|all| all.initial_events_end);
        Ok(Event::Event(WatchEvent::Bookmark {
            resource_version: self.metadata.resource_version,
            initial_events_end: end.as_deref() == Some("true"),
        }))
    }
}

struct EventSeed<K> {
    managed_fields: bool,
    kind: PhantomData<K>,
}

impl<'de, K: DeserializeOwned> DeserializeSeed<'de> for EventSeed<K> {
    type Value = Event<K>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, K: DeserializeOwned> Visitor<'de> for EventSeed<K> {
    type Value = Event<K>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a watch event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        enum Key {
            Type,
            Object,
            #[serde(other)]
            Other,
        }
        let mut kind = None;
        let mut event = None;
        while let Some(key) = map.next_key()? {
            match (key, kind) {
                (Key::Type, _) => kind = Type::of(&map.next_value::<Cow<'de, str>>()?),
                (Key::Object, Some(Type::Change(change))) => {
                    let object = map.next_value_seed(ItemSeed::new(self.managed_fields))?;
                    event = Some(Event::Event(changed(change, object)));
                }
                // The slow way can read these, or report the error.
                (Key::Object, _) => return Err(A::Error::custom("no change before the object")),
                (Key::Other, _) => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        event.ok_or_else(|| A::Error::missing_field("object"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;

    fn decode(line: &str) -> Result<Event<ConfigMap>, String> {
        decode_event(
            &Encoded::json(line.to_owned()),
            None,
            &ApiResource::of::<ConfigMap>(),
            false,
        )
    }

    fn event(line: &str) -> WatchEvent<ConfigMap> {
        match decode(line) {
            Ok(Event::Event(event)) => event,
            Ok(Event::Error(status)) => panic!("{status}"),
            Err(reason) => panic!("{reason}"),
        }
    }

    #[test]
    fn the_type_may_come_before_or_after_the_object() {
        for line in [
            r#"{"type":"MODIFIED","object":{"metadata":{"name":"a","managedFields":[]}}}"#,
            r#"{"object":{"metadata":{"name":"a","managedFields":[]}},"type":"MODIFIED"}"#,
        ] {
            match event(line) {
                WatchEvent::Modified(object) => {
                    assert_eq!(object.name(), "a");
                    assert!(object.metadata.managed_fields.is_none());
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_bookmark_needs_only_a_resource_version() {
        let line = r#"{"type":"BOOKMARK","object":{"kind":"ConfigMap","metadata":{"resourceVersion":"9","creationTimestamp":null,"annotations":{"k8s.io/initial-events-end":"true"}}}}"#;
        assert_eq!(
            event(line),
            WatchEvent::Bookmark {
                resource_version: "9".into(),
                initial_events_end: true
            }
        );
    }

    #[test]
    fn a_bookmark_of_another_kind_is_an_error() {
        let line = r#"{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"Pod","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}"#;
        assert_eq!(
            decode(line).err().as_deref(),
            Some("object: kind: expected `ConfigMap` of `v1`, found `Pod` of `v1`")
        );
        let partial = line
            .replace("\"v1\"", "\"meta.k8s.io/v1\"")
            .replace("Pod", "PartialObjectMetadata");
        assert!(matches!(event(&partial), WatchEvent::Bookmark { .. }));
    }

    #[test]
    fn an_undecodable_object_is_reported_with_its_identity() {
        let line = r#"{"type":"DELETED","object":{"metadata":{"name":"a","namespace":"n","resourceVersion":"3","deletionTimestamp":"2026-01-02T03:04:05Z"},"data":[]}}"#;
        match event(line) {
            WatchEvent::Undecodable { change, object } => {
                assert_eq!(change, Change::Deleted);
                assert_eq!(object.key.as_str(), "n/a");
                assert!(object.is_deleting);
                assert_eq!(object.reason, "data: expected a map, found a list");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_servers_error_is_an_error() {
        let line = r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}"#;
        match decode(line) {
            Ok(Event::Error(status)) => assert!(status.is_expired()),
            _ => panic!("not an error"),
        }
    }

    #[test]
    fn a_line_that_is_not_an_event_is_an_error() {
        for (line, reason) in [
            (
                r#"{"type":"RENAMED","object":{}}"#,
                "type: not one of the known values",
            ),
            (r#"{"type":"ADDED"}"#, "missing field `object`"),
            (
                r#"{"type":"ADDED","object":{"#,
                "object: the JSON ends too early",
            ),
        ] {
            assert_eq!(decode(line).err().as_deref(), Some(reason));
        }
    }
}
