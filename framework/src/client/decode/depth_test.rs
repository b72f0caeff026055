//! Tests of deeply nested documents. Each test has a stack of 2 MB, as the threads of a runtime have.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    task::{Context, Poll, Waker},
    thread,
};

use k8s_openapi::{
    api::core::v1::ConfigMap,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::{
        CustomResourceDefinition, JSONSchemaProps,
    },
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{Event, decode_deleted, decode_event, decode_list, decode_object, decode_status};
use crate::{
    client::{
        Body, Change, Deleted, ObjectList, WatchEvent,
        codec::{ALL_ENCODINGS, Codec, Encoded, Encoding, Frames, Json, JsonIndex, with_codec},
    },
    resource::{
        ApiResource, DEEPEST, DynamicObject, ObjectMeta, PartialObject, TOO_DEEP,
        TOO_DEEP_FOR_THE_STACK,
    },
};

/// A real API server accepts 10 000 levels. Other servers may send any number.
const LEVELS: [usize; 3] = [130, 9_000, 30_000];

fn on_a_small_stack(test: impl FnOnce() + Send) {
    thread::scope(|scope| {
        let small = thread::Builder::new().stack_size(2 << 20);
        small.spawn_scoped(scope, test).unwrap().join().unwrap();
    });
}

/// A document in which each text `DEEP` is replaced by a value with this many levels of lists and maps in turns.
fn document(encoding: Encoding, value: &Value, levels: usize) -> Encoded {
    let [list, map, end_list, end_map, text]: [&[u8]; 5] = match encoding {
        #[cfg(feature = "cbor")]
        Encoding::Cbor => [b"\x81", b"\xa1\x41a", b"", b"", b"\x44DEEP"],
        _ => [b"[", b"{\"a\":", b"]", b"}", b"\"DEEP\""],
    };
    let mut deep = Vec::new();
    (0..levels).for_each(|level| deep.extend([list, map][level % 2]));
    // Zero is the number 0 in CBOR.
    #[cfg(feature = "cbor")]
    deep.push(if encoding == Encoding::Cbor { 0 } else { b'0' });
    #[cfg(not(feature = "cbor"))]
    deep.push(b'0');
    (0..levels).for_each(|level| deep.extend([end_map, end_list][(level + levels) % 2]));
    let written = encoding.write(value).unwrap();
    let mut bytes = Vec::new();
    let mut rest = &written[..];
    while let Some(at) = rest.windows(text.len()).position(|part| part == text) {
        bytes.extend_from_slice(&rest[..at]);
        bytes.extend_from_slice(&deep);
        rest = &rest[at + text.len()..];
    }
    bytes.extend_from_slice(rest);
    Encoded {
        encoding,
        bytes: bytes.into(),
    }
}

/// A type with a few fields of a large kind.
#[derive(Debug, Deserialize)]
struct View {
    metadata: ObjectMeta,
    data: BTreeMap<String, String>,
}

/// An object that fits its type, and one with a deep value in each of these places.
fn objects() -> Vec<Value> {
    let object = |name: &str| json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, "namespace": "n", "uid": name}, "data": {"a": "b"}});
    let mut all = ["plain", "unknown", "owned", "wrong", "labels"].map(object);
    all[1]["extra"] = "DEEP".into();
    all[2]["metadata"]["managedFields"] = json!([{"fieldsV1": "DEEP"}]);
    all[3]["data"] = "DEEP".into();
    all[3]["metadata"]["managedFields"] = json!([{"fieldsV1": "DEEP"}]);
    all[3]["metadata"]["labels"] = json!({"app": "web"});
    all[4]["metadata"]["labels"] = json!({"app": "DEEP"});
    all.into()
}

fn names<K>(list: &ObjectList<K>, name: impl Fn(&K) -> Option<&String>) -> Vec<String> {
    list.items
        .iter()
        .map(|item| name(item).unwrap().clone())
        .collect()
}

fn spoilt<K>(list: &ObjectList<K>) -> Vec<String> {
    list.undecodable
        .iter()
        .map(|item| item.key.to_string())
        .collect()
}

fn list<K: DeserializeOwned>(encoding: Encoding, levels: usize) -> ObjectList<K> {
    let list = json!({"kind": "ConfigMapList", "metadata": {"resourceVersion": "7", "extra": "DEEP"}, "items": objects(), "extra": "DEEP"});
    let list = document(encoding, &list, levels);
    let resource = ApiResource::of::<ConfigMap>();
    let list = decode_list(&list, &resource, false, &|_| true).unwrap();
    assert_eq!(list.resource_version(), Some("7"));
    list
}

#[test]
fn a_deep_object_in_a_list_spoils_only_itself() {
    on_a_small_stack(|| {
        for encoding in ALL_ENCODINGS {
            for levels in LEVELS {
                let typed = list::<ConfigMap>(*encoding, levels);
                assert_eq!(
                    names(&typed, |map| map.metadata.name.as_ref()),
                    ["plain", "unknown", "owned"]
                );
                assert_eq!(spoilt(&typed), ["n/wrong", "n/labels"]);
                let wrong = &typed.undecodable[0];
                assert_eq!(wrong.labels["app"], "web");
                assert_eq!(wrong.reason, "data: expected a map, found a list");

                let view = list::<View>(*encoding, levels);
                assert_eq!(
                    names(&view, |view| view.metadata.name.as_ref()),
                    ["plain", "unknown", "owned"]
                );
                assert_eq!(view.items[0].data["a"], "b");

                let partial = list::<PartialObject>(*encoding, levels);
                assert_eq!(
                    names(&partial, |object| object.metadata.name.as_ref()),
                    ["plain", "unknown", "owned", "wrong"]
                );

                let dynamic = list::<DynamicObject>(*encoding, levels);
                assert_eq!(
                    names(&dynamic, |object| object.metadata.name.as_ref()),
                    ["plain", "owned"]
                );
                assert_eq!(spoilt(&dynamic), ["n/unknown", "n/wrong", "n/labels"]);
                let reason = &dynamic.undecodable[0].reason;
                assert!(reason.starts_with("extra[0].a[0].a"), "{reason}");
                assert!(reason.ends_with(TOO_DEEP) && reason.len() < 200, "{reason}");
            }
        }
    });
}

#[test]
fn a_deep_object_in_an_event_spoils_only_itself() {
    fn change<K: DeserializeOwned>(frame: &Encoded) -> WatchEvent<K> {
        let resource = ApiResource::of::<ConfigMap>();
        // A frame may be indexed on another thread.
        let mut json_index = JsonIndex::default();
        with_codec!(frame.encoding, codec => codec.json_index(&frame.bytes, &mut json_index));
        for json_index in [Some(&json_index), None] {
            match decode_event(frame, json_index, &resource, false) {
                Ok(Event::Event(event)) if json_index.is_none() => return event,
                Ok(Event::Event(_)) => {}
                _ => panic!("no change"),
            }
        }
        unreachable!()
    }
    fn spoils<K: DeserializeOwned>(frame: &Encoded) -> bool {
        match change::<K>(frame) {
            WatchEvent::Modified(_) => false,
            WatchEvent::Undecodable {
                change: Change::Modified,
                object,
            } => {
                assert!(object.key.as_str().starts_with("n/"));
                true
            }
            _ => panic!("another event"),
        }
    }
    on_a_small_stack(|| {
        for encoding in ALL_ENCODINGS {
            for levels in LEVELS {
                for (index, object) in objects().into_iter().enumerate() {
                    let event = json!({"type": "MODIFIED", "object": object, "extra": "DEEP"});
                    let frame = document(*encoding, &event, levels);
                    assert_eq!(spoils::<ConfigMap>(&frame), index > 2, "{index}");
                    assert_eq!(spoils::<View>(&frame), index > 2, "{index}");
                    assert_eq!(spoils::<PartialObject>(&frame), index > 3, "{index}");
                    assert_eq!(spoils::<DynamicObject>(&frame), ![0, 2].contains(&index));
                }
                let bookmark = json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9", "extra": "DEEP"}, "spec": "DEEP"}});
                match change::<ConfigMap>(&document(*encoding, &bookmark, levels)) {
                    WatchEvent::Bookmark {
                        resource_version, ..
                    } => assert_eq!(resource_version, "9"),
                    _ => panic!("no bookmark"),
                }
                let error = json!({"type": "ERROR", "object": {"code": 410, "reason": "Expired", "details": "DEEP"}});
                let error = document(*encoding, &error, levels);
                let resource = ApiResource::of::<ConfigMap>();
                match decode_event::<ConfigMap>(&error, None, &resource, false) {
                    Ok(Event::Error(status)) => assert!(status.is_expired()),
                    _ => panic!("no error"),
                }
            }
        }
    });
}

#[test]
fn a_deep_frame_is_cut_where_it_ends() {
    on_a_small_stack(|| {
        for encoding in ALL_ENCODINGS {
            for levels in LEVELS {
                let frame = document(
                    *encoding,
                    &json!({"type": "ADDED", "object": "DEEP"}),
                    levels,
                );
                let separator: &[u8] = match encoding {
                    Encoding::Json => b"\n",
                    _ => b"",
                };
                let length = u32::try_from(frame.bytes.len()).unwrap().to_be_bytes();
                let counted: &[u8] = match encoding {
                    Encoding::Framed => &length,
                    _ => b"",
                };
                let body = [counted, &frame.bytes[..], separator].concat().repeat(2);
                let mut frames = Frames::new(*encoding, Body::from(body));
                let mut next = || match frames.poll_frame(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(frame) => frame.map(Result::unwrap),
                    Poll::Pending => panic!("the body is there"),
                };
                assert!(next() == Some(frame.bytes.clone()) && next() == Some(frame.bytes));
                assert_eq!(next(), None);
            }
        }
    });
}

#[test]
fn a_deep_answer_is_an_object_or_an_error() {
    fn reads<K: DeserializeOwned>(body: &Encoded) -> bool {
        let read = decode_object::<K>(body, false).is_ok();
        match decode_deleted::<K>(body, false) {
            Ok(Deleted::Deleting(_)) => assert!(read),
            Ok(Deleted::Done(_)) => panic!("no status"),
            Err(_) => assert!(!read),
        }
        read
    }
    on_a_small_stack(|| {
        for encoding in ALL_ENCODINGS {
            for levels in LEVELS {
                for (index, object) in objects().iter().enumerate() {
                    let body = document(*encoding, object, levels);
                    assert_eq!(reads::<ConfigMap>(&body), index < 3, "{index}");
                    assert_eq!(reads::<View>(&body), index < 3, "{index}");
                    assert_eq!(reads::<PartialObject>(&body), index < 4, "{index}");
                    assert_eq!(reads::<DynamicObject>(&body), [0, 2].contains(&index));
                }
                let status = json!({
                    "kind": "Status", "apiVersion": "v1", "code": 409, "reason": "Conflict", "message": "no",
                    "metadata": {"continue": "DEEP"}, "extra": "DEEP",
                    "details": {"name": "DEEP", "causes": ["DEEP", {"reason": "R", "message": "DEEP", "extra": "DEEP"}], "uid": "u"},
                });
                let body = document(*encoding, &status, levels);
                let status = decode_status(&body).unwrap();
                assert!(status.is_conflict() && status.has_cause("R"));
                assert_eq!((&*status.message, status.code), ("no", 409));
                assert_eq!(status.details.unwrap().uid, "u");
                let deleted = decode_deleted::<ConfigMap>(&body, false);
                assert!(matches!(deleted, Ok(Deleted::Done(_))));
            }
        }
    });
}

/// The deepest value of this type that can be read supports everything that programs do with values.
fn bears_everything<T>(encoding: Encoding, value: &Value, levels: usize)
where
    T: DeserializeOwned + Serialize + Clone + Debug + PartialEq,
{
    let body = document(encoding, value, levels);
    let read: T = decode_object(&body, false).unwrap();
    assert_eq!(read.clone(), read);
    assert!(!format!("{read:?} {read:#?}").is_empty());
    let written = encoding.write(&read).unwrap();
    let again = Encoded {
        encoding,
        bytes: written,
    };
    assert_eq!(decode_object::<T>(&again, false).unwrap(), read);
    let body = document(encoding, value, levels + 1);
    let reason = decode_object::<T>(&body, false).unwrap_err();
    assert!(reason.ends_with(TOO_DEEP), "{reason}");
}

#[test]
fn the_deepest_dynamic_object_needs_no_large_stack() {
    on_a_small_stack(|| {
        for encoding in ALL_ENCODINGS {
            let object = json!({"metadata": {"name": "a"}, "extra": "DEEP"});
            bears_everything::<DynamicObject>(*encoding, &object, DEEPEST - 1);
            bears_everything::<Value>(*encoding, &json!("DEEP"), DEEPEST);
            bears_everything::<BTreeMap<String, Tree>>(
                *encoding,
                &json!({"a": "DEEP"}),
                DEEPEST - 1,
            );
        }
    });
}

/// Types that contain themselves and are read through serde's buffer.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
enum Tree {
    List(Vec<Tree>),
    Map(BTreeMap<String, Tree>),
    Leaf(u8),
}

#[test]
fn a_schema_that_contains_itself_needs_no_large_stack() {
    fn definition(schema: Value) -> CustomResourceDefinition {
        serde_json::from_value(json!({
            "metadata": {"name": "a.b"},
            "spec": {"group": "b", "scope": "Cluster", "names": {"kind": "A", "plural": "as"}, "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}},
            ]},
        }))
        .unwrap()
    }
    on_a_small_stack(|| {
        // The definition around the schema has five levels.
        for (encoding, levels) in ALL_ENCODINGS
            .iter()
            .flat_map(|it| [(it, 16), (it, DEEPEST - 6)])
        {
            let mut definition = definition(json!({"type": "object"}));
            let version = &mut definition.spec.versions[0];
            let schema = version.schema.as_mut().unwrap();
            for _ in 0..levels {
                let outer = JSONSchemaProps {
                    not: schema.open_api_v3_schema.take().map(Box::new),
                    ..JSONSchemaProps::default()
                };
                schema.open_api_v3_schema = Some(outer);
            }
            let bytes = encoding.write(&definition).unwrap();
            let body = Encoded {
                encoding: *encoding,
                bytes,
            };
            // A debug build uses 1 MiB after fewer levels than other builds.
            match decode_object::<CustomResourceDefinition>(&body, false) {
                Ok(read) => assert_eq!(read.clone(), definition),
                Err(reason) => {
                    assert!(
                        levels > 16 && reason.ends_with(TOO_DEEP_FOR_THE_STACK),
                        "{reason}"
                    );
                }
            }
            assert!(!format!("{definition:?} {definition:#?}").is_empty());
        }
    });
}

#[test]
fn a_deep_text_that_is_not_json_is_refused() {
    on_a_small_stack(|| {
        for levels in [1, 126, 127, 128, 9_000] {
            let whole = document(Encoding::Json, &json!({"a": "DEEP"}), levels);
            let whole = String::from_utf8(whole.bytes.to_vec()).unwrap();
            let reads = |text: &str| {
                Json.read_owned::<BTreeMap<String, serde::de::IgnoredAny>>(text.as_bytes())
            };
            assert!(reads(&whole).is_ok());
            let bottom = whole.find('0').unwrap();
            for wrong in [
                whole[..whole.len() - 1].to_owned(),
                whole[..bottom].to_owned(),
                whole[..bottom + 1].to_owned(),
                format!("{whole}]"),
                whole.replacen('0', "0,", 1),
                whole.replacen('0', "01", 1),
                whole.replacen('0', "\"\n\"", 1),
                whole.replacen('0', "0 0", 1),
                whole.replacen('0', "{\"a\" 1}", 1),
                whole.replacen('0', "{1:1}", 1),
                whole.replacen('0', "[}", 1),
                whole.replacen("]", "}", 1),
            ] {
                assert!(
                    reads(&wrong).is_err(),
                    "{levels} {:.200}",
                    &wrong[wrong.len().min(bottom)..]
                );
            }
            for right in [
                "[]",
                "{}",
                "{\"b\": [1, 2, {}], \"c\": \"]\\\"\"}",
                " [ [ ] , { } ] ",
            ] {
                assert!(
                    reads(&whole.replacen('0', right, 1)).is_ok(),
                    "{levels} {right}"
                );
            }
        }
    });
}
