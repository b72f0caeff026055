use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{
    lenient::undecodable,
    list::ItemSeed,
    object::{decode_plain, object, utf8, why},
};
use crate::{
    client::{Change, WatchEvent},
    resource::{ApiResource, Status},
};

/// One line of a watch: an event, or the server's error.
#[expect(
    clippy::large_enum_variant,
    reason = "events are the usual case and are taken apart at once"
)]
pub(crate) enum Event<K> {
    Event(WatchEvent<K>),
    Error(Box<Status>),
}

/// One line of a watch: one pass when `type` comes first and the object fits.
pub(crate) fn decode_event<K: DeserializeOwned>(
    line: &[u8],
    resource: &ApiResource,
    managed_fields: bool,
) -> Result<Event<K>, String> {
    let text = utf8(line)?;
    let mut inner = serde_json::Deserializer::from_str(text);
    let seed = EventSeed {
        managed_fields,
        kind: PhantomData,
    };
    let quick = seed.deserialize(&mut inner);
    match quick.and_then(|event| inner.end().map(|()| event)) {
        Ok(event) => Ok(event),
        Err(_) => in_two_steps(text, resource, managed_fields),
    }
}

/// `type` and the object's text first, then the object.
fn in_two_steps<K: DeserializeOwned>(
    text: &str,
    resource: &ApiResource,
    managed_fields: bool,
) -> Result<Event<K>, String> {
    #[derive(Deserialize)]
    struct RawEvent<'a> {
        #[serde(borrow)]
        r#type: Cow<'a, str>,
        #[serde(borrow)]
        object: &'a RawValue,
    }
    #[derive(Deserialize)]
    struct Shape {
        #[serde(rename = "type")]
        _type: String,
        #[serde(rename = "object")]
        _object: IgnoredAny,
    }
    let raw: RawEvent<'_> = serde_json::from_str(text).map_err(|_| why::<Shape>(text, true))?;
    let body = raw.object.get();
    match Type::of(&raw.r#type) {
        Some(Type::Change(change)) => Ok(Event::Event(match object(body, managed_fields) {
            Ok(object) => changed(change, object),
            Err(_) => WatchEvent::Undecodable {
                change,
                object: undecodable::<K>(body, resource, managed_fields),
            },
        })),
        Some(Type::Bookmark) => decode_plain::<Bookmark>(body.as_bytes()).map(Bookmark::event),
        Some(Type::Error) => decode_plain::<Box<Status>>(body.as_bytes()).map(Event::Error),
        None => Err("type: not one of the known values".to_owned()),
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

/// The object of a bookmark: of the watched kind, with nothing in it but a resource version.
#[derive(Deserialize)]
struct Bookmark {
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
    fn event<K>(self) -> Event<K> {
        let end = self
            .metadata
            .annotations
            .and_then(|all| all.initial_events_end);
        Event::Event(WatchEvent::Bookmark {
            resource_version: self.metadata.resource_version,
            initial_events_end: end.as_deref() == Some("true"),
        })
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
                    let object = map.next_value_seed(ItemSeed {
                        managed_fields: self.managed_fields,
                        kind: PhantomData,
                    })?;
                    event = Some(Event::Event(changed(change, object)));
                }
                (Key::Object, Some(Type::Bookmark)) => {
                    event = Some(map.next_value::<Bookmark>()?.event());
                }
                (Key::Object, Some(Type::Error)) => event = Some(Event::Error(map.next_value()?)),
                // The slow way can read these, or tell what is wrong.
                (Key::Object, None) => return Err(A::Error::custom("no type before the object")),
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
    use crate::resource::Object;
    use k8s_openapi::api::core::v1::ConfigMap;

    fn decode(line: &str) -> Result<Event<ConfigMap>, String> {
        decode_event(line.as_bytes(), &ApiResource::of::<ConfigMap>(), false)
    }

    fn event(line: &str) -> WatchEvent<ConfigMap> {
        match decode(line) {
            Ok(Event::Event(event)) => event,
            Ok(Event::Error(status)) => panic!("{status}"),
            Err(reason) => panic!("{reason}"),
        }
    }

    #[test]
    fn the_type_may_stand_before_or_after_the_object() {
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
    fn a_bookmark_needs_only_a_version() {
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
    fn an_object_that_does_not_fit_is_reported_with_its_identity() {
        let line = r#"{"type":"DELETED","object":{"metadata":{"name":"a","namespace":"n","resourceVersion":"3"},"data":[]}}"#;
        match event(line) {
            WatchEvent::Undecodable { change, object } => {
                assert_eq!(change, Change::Deleted);
                assert_eq!(object.key.as_str(), "n/a");
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
    fn a_line_that_is_no_event_is_an_error() {
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
