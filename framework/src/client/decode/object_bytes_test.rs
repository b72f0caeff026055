//! What is read of an object that is not decoded.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

#[cfg(feature = "zstd")]
use super::{Dictionary, Samples};
use super::{
    Event, ObjectBytes, Received, decode_object, receive_event, receive_list, received::SMALL,
};
use crate::{
    client::{
        WatchEvent,
        codec::{ALL_ENCODINGS, Encoded, Encoding, Part},
    },
    resource::{ApiResource, ObjectMeta, PartialObject},
};

fn config_maps() -> ApiResource {
    ApiResource::of::<ConfigMap>()
}

fn read(encoding: Encoding, bytes: &[u8]) -> ObjectBytes {
    ObjectBytes::read(
        Part::of_bytes(encoding.into(), bytes),
        &config_maps(),
        false,
    )
    .unwrap()
}

fn decoded(bytes: &ObjectBytes) -> Result<Arc<ConfigMap>, String> {
    bytes.decode(&config_maps())
}

/// What a cache of metadata stores.
fn metadata_object(bytes: &ObjectBytes) -> ObjectMeta {
    let object = bytes.metadata_object::<PartialObject<ConfigMap>>(&config_maps(), true);
    match object.unwrap() {
        Received::Decoded(object) => object.metadata.clone(),
        Received::Bytes(bytes) => panic!("a small object: {bytes:?}"),
    }
}

fn received(frame: &str, decodes_small: bool) -> Result<Event<Received<ConfigMap>>, String> {
    let frame = Encoded::json(frame.to_owned());
    receive_event(&frame, None, &config_maps(), false, decodes_small)
}

fn object() -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "a", "namespace": "n", "uid": "u-1", "resourceVersion": "17",
            "labels": {"app": "web", "managedFields": "x"},
            "deletionTimestamp": "2026-01-02T03:04:05Z",
            "managedFields": [{"manager": "m, \"x\"", "fieldsV1": {"f:a": {}}}],
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "o", "uid": "owner"}],
        },
        "data": {"quoted": "\"\\\n\u{e9}", "managedFields": "kept"},
    })
}

#[test]
fn every_encoding_gives_the_same_fields_and_the_same_object_without_its_managed_fields() {
    for encoding in ALL_ENCODINGS {
        let bytes = encoding.write(&object()).unwrap();
        let (read, len) = (read(*encoding, &bytes), bytes.len());
        assert_eq!(read.key().as_str(), "n/a");
        assert_eq!(
            (read.uid(), read.resource_version()),
            (Some("u-1"), Some("17"))
        );
        assert!(read.is_deleting());
        assert_eq!(json!(read.labels()), object()["metadata"]["labels"]);
        assert_eq!(read.owner_references()[0].uid, "owner");
        let encoding = *encoding;
        let expected: ConfigMap = decode_object(&Encoded { encoding, bytes }, false).unwrap();
        assert_eq!(read.metadata().unwrap(), expected.metadata);
        assert_eq!(metadata_object(&read), expected.metadata);
        assert_eq!(*decoded(&read).unwrap(), expected);
        assert!(read.len() < len - 30, "{} of {len}", read.len());
    }
}

#[test]
fn the_managed_fields_are_cut_wherever_they_are_and_nothing_else() {
    for place in 0..5 {
        for space in ["", " ", "\n  "] {
            let managed = format!(
                r#""managedFields"{space}:{space}[{{"manager":"m","fieldsV1":{{"f:a":{{}}}}}}]{space}"#
            );
            let mut parts = vec![
                r#""name":"a""#.to_owned(),
                r#""uid":"u-1""#.to_owned(),
                r#""labels":{"app":"web"}"#.to_owned(),
                r#""resourceVersion":"17""#.to_owned(),
            ];
            parts.insert(place, managed);
            let text = format!(
                r#"{{"data":{{"b":"c"}},"metadata":{{{}}},"immutable":true}}"#,
                parts.join(" , ")
            );
            let read = read(Encoding::Json, text.as_bytes());
            assert_eq!(
                (read.uid(), read.resource_version()),
                (Some("u-1"), Some("17"))
            );
            assert_eq!(read.labels()["app"], "web");
            let whole = decode_object(&Encoded::json(text), false);
            assert_eq!(decoded(&read), whole.map(Arc::new));
        }
    }
}

#[test]
fn managed_fields_that_are_wanted_stay() {
    let bytes = object().to_string();
    let all = ObjectBytes::read(
        Part::of_bytes(Encoding::Json.into(), bytes.as_bytes()),
        &config_maps(),
        true,
    )
    .unwrap();
    let all_decoded = decoded(&all).unwrap();
    let managed_fields = all_decoded.metadata.managed_fields.as_deref();
    assert_eq!(managed_fields.unwrap().len(), 1);
    assert_eq!(all.len(), bytes.len());
}

#[test]
fn strings_with_escapes_and_missing_fields_are_read() {
    let read_text = |text: &str| read(Encoding::Json, text.as_bytes());
    let escaped = read_text(
        r#"{"metadata":{"name":"\u0061","uid":"u\u002d1","managedFields":[1],"resourceVersion":"\u0031"}}"#,
    );
    assert_eq!(escaped.key().as_str(), "a");
    assert_eq!(
        (escaped.uid(), escaped.resource_version()),
        (Some("u-1"), Some("1"))
    );
    assert_eq!(
        decoded(&escaped).unwrap().metadata.uid.as_deref(),
        Some("u-1")
    );
    for text in [
        "{}",
        r#"{"metadata":null}"#,
        r#"{"metadata":{"labels":null,"managedFields":null}}"#,
    ] {
        let empty = read_text(text);
        assert_eq!(
            (empty.key().name(), empty.uid(), empty.resource_version()),
            ("", None, None)
        );
        assert!(empty.labels().is_empty() && empty.owner_references().is_empty());
    }
}

#[test]
fn an_object_of_any_depth_is_stored() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let text = format!(r#"{{"metadata":{{"name":"a","x":{deep}}},"data":null,"more":{deep}}}"#);
    let read = read(Encoding::Json, text.as_bytes());
    assert_eq!(read.len(), text.len());
    assert!(decoded(&read).is_ok(), "the type does not want it");
}

#[test]
fn a_frame_and_a_list_give_the_same_objects_and_one_bad_object_spoils_only_itself() {
    let mut object = object();
    object["data"]["long"] = json!("x".repeat(SMALL));
    let bad = r#"{"metadata":{"name":3,"namespace":"n","uid":"u"}}"#;
    let other = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"}}"#;
    let list =
        format!(r#"{{"metadata":{{"resourceVersion":"9"}},"items":[{object},{bad},{other}]}}"#);
    let list =
        receive_list::<ConfigMap>(&Encoded::json(list), &config_maps(), false, true).unwrap();
    assert_eq!(list.undecodable.len(), 2);
    assert_eq!(
        list.undecodable[0].reason,
        "metadata: name: expected a string, found an integer"
    );
    assert_eq!(
        list.undecodable[1].reason,
        "kind: expected `ConfigMap` of `v1`, found `Pod` of `v1`"
    );
    let [Received::Bytes(of_list)] = &list.items[..] else {
        panic!("one large object");
    };
    for frame in [
        format!(r#"{{"type":"ADDED","object":{object}}}"#),
        format!(r#"{{"object":{object},"type":"ADDED","more":{{}}}}"#),
    ] {
        let Ok(Event::Event(WatchEvent::Added(Received::Bytes(of_frame)))) = received(&frame, true)
        else {
            panic!("no large object");
        };
        assert_eq!(decoded(&of_frame), decoded(of_list));
        assert_eq!(of_frame.len(), of_list.len());
    }
    let frame = format!(r#"{{"type":"MODIFIED","object":{bad}}}"#);
    assert!(matches!(
        received(&frame, true),
        Ok(Event::Event(WatchEvent::Undecodable { .. }))
    ));
}

#[test]
fn a_small_object_is_decoded_at_once_if_the_cache_wants_it_and_it_decodes() {
    let sized = |size: usize| {
        let mut object = object();
        let rest = object.to_string().len();
        object["data"]["quoted"] = json!("x".repeat(size - rest + r#"\"\\\n"#.len() + 2));
        object
    };
    for (object, is_wanted, is_decoded) in [
        (sized(SMALL), true, true),
        (sized(SMALL), false, false),
        (sized(SMALL + 1), true, false),
    ] {
        let text = object.to_string();
        let is_small = text.len() <= SMALL;
        assert_eq!(is_small && is_wanted, is_decoded, "{}", text.len());
        let expected: ConfigMap = decode_object(&Encoded::json(text.clone()), false).unwrap();
        let frame = format!(r#"{{"type":"ADDED","object":{text}}}"#);
        match received(&frame, is_wanted) {
            Ok(Event::Event(WatchEvent::Added(Received::Decoded(object)))) if is_decoded => {
                assert_eq!(*object, expected);
            }
            Ok(Event::Event(WatchEvent::Added(Received::Bytes(bytes)))) if !is_decoded => {
                assert_eq!(*decoded(&bytes).unwrap(), expected);
            }
            _ => panic!("{text}"),
        }
    }
    // What does not decode is found when somebody reads it, as in a large object.
    let frame = r#"{"type":"ADDED","object":{"metadata":{"name":"a"},"data":{"a":3}}}"#;
    let Ok(Event::Event(WatchEvent::Added(Received::Bytes(bytes)))) = received(frame, true) else {
        panic!("no bytes");
    };
    assert_eq!(
        decoded(&bytes).unwrap_err(),
        "data.a: expected a string, found an integer"
    );
}

/// A dictionary for objects with this word, in an encoding.
#[cfg(feature = "zstd")]
fn dictionary(encoding: Encoding, word: &str) -> Arc<Dictionary> {
    let mut samples = Samples::default();
    for number in 0..128 {
        samples.push(&encoding.write(&repeating(word, number)).unwrap());
    }
    Arc::new(Dictionary::train(&samples).unwrap())
}

/// The object with fields that repeat each other in all of them.
#[cfg(feature = "zstd")]
fn repeating(word: &str, number: usize) -> Value {
    let mut object = object();
    for field in 0..40 {
        object["data"][format!("{word}-{field}")] = format!("{word}{}", field * 7919).into();
    }
    object["data"]["number"] = number.to_string().into();
    object
}

#[cfg(feature = "zstd")]
#[test]
fn a_compressed_object_is_smaller_and_reads_as_before() {
    for encoding in ALL_ENCODINGS {
        let dictionary = dictionary(*encoding, "a");
        for missing in ["", "uid", "resourceVersion", "labels", "ownerReferences"] {
            let mut object = repeating("a", 1000);
            object["metadata"].as_object_mut().unwrap().remove(missing);
            let bytes = encoding.write(&object).unwrap();
            let plain = read(*encoding, &bytes);
            let small = read(*encoding, &bytes).compressed(&dictionary);
            assert!(
                small.size() * 3 < plain.size(),
                "{encoding:?}: {}",
                small.size()
            );
            assert_eq!(small.len(), plain.len());
            assert_eq!(
                (small.key(), small.uid(), small.resource_version()),
                (plain.key(), plain.uid(), plain.resource_version())
            );
            assert_eq!(small.is_deleting(), plain.is_deleting());
            assert_eq!(small.labels(), plain.labels());
            assert_eq!(small.owner_references(), plain.owner_references());
            assert_eq!(small.metadata(), plain.metadata());
            assert_eq!(decoded(&small), decoded(&plain));
            let undecodable = |bytes: &ObjectBytes| {
                let undecodable = bytes.undecodable(&config_maps(), "why".to_owned());
                (undecodable.key, undecodable.uid, undecodable.labels)
            };
            assert_eq!(undecodable(&small), undecodable(&plain));
            // It is not compressed once more.
            let size = small.size();
            assert_eq!(small.compressed(&dictionary).size(), size);
        }
    }
}

#[cfg(feature = "zstd")]
#[test]
fn strings_with_escapes_survive_the_compression() {
    let dictionary = dictionary(Encoding::Json, "a");
    let json = repeating("a", 1000).to_string();
    let json = json.replace("\"u-1\"", r#""u\u002d1""#);
    let read = read(Encoding::Json, json.as_bytes()).compressed(&dictionary);
    assert!(read.size() * 3 < read.len());
    assert_eq!(
        (read.uid(), read.resource_version()),
        (Some("u-1"), Some("17"))
    );
    assert!(decoded(&read).is_ok());
}

#[cfg(feature = "zstd")]
#[test]
fn an_object_whose_compressed_form_is_broken_is_undecodable_and_has_its_name() {
    let bytes = Encoding::Json.write(&repeating("a", 1000)).unwrap();
    let dictionaries = ["a", "b"].map(|word| dictionary(Encoding::Json, word));
    let small = read(Encoding::Json, &bytes).compressed(&dictionaries[0]);
    let broken = small.broken(&dictionaries[1]);
    let reason = decoded(&broken).unwrap_err();
    assert_eq!(reason, "the compressed form: Dictionary mismatch");
    let undecodable = broken.undecodable(&config_maps(), reason);
    assert_eq!(undecodable.key.as_str(), "n/a");
    assert_eq!(undecodable.uid.as_deref(), Some("u-1"));
    assert_eq!(undecodable.resource_version.as_deref(), Some("17"));
    assert!(undecodable.is_deleting);
    assert!(broken.labels().is_empty() && broken.owner_references().is_empty());
}
