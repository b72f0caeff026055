//! Lists, frames and bytes at rest in protobuf. The sandbox's own codec writes them.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use pilothouse_sandbox::internals::protobuf::encode;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    Event, ObjectBytes, Received, decode_deleted, decode_event, decode_list, decode_object,
    decode_status, object_bytes::read_outline, receive_event, receive_list,
};
use crate::{
    client::{
        Deleted, WatchEvent,
        codec::{Codec, Encoded, Encoding, ObjectOutline, Part, Protobuf, Shape},
    },
    resource::{ApiResource, DynamicObject, Object, PartialObject},
};

fn document(bytes: Vec<u8>) -> Encoded {
    Encoded {
        encoding: Encoding::Protobuf,
        bytes: bytes.into(),
    }
}

fn written(value: &Value) -> Encoded {
    document(encode(value).unwrap())
}

/// A field with a number below 16, or with two bytes before its length.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = match number {
        ..16 => vec![number << 3 | 2],
        _ => vec![number << 3 | 2 | 0x80, number >> 4],
    };
    let mut length = bytes.len();
    while length >= 0x80 {
        field.push(length as u8 | 0x80);
        length >>= 7;
    }
    field.push(length as u8);
    [field, bytes.to_vec()].concat()
}

/// A frame without its length.
fn frame(kind: &str, object: &Value) -> Encoded {
    let object = field(1, &encode(object).unwrap());
    document([field(1, kind.as_bytes()), field(2, &object)].concat())
}

/// A Pod with managed fields and with much text.
fn pod(name: &str, size: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "n", "uid": "u-1", "resourceVersion": "17",
            "labels": {"app": "web", "managedFields": "x"},
            "annotations": {"text": "x".repeat(size)},
            "deletionTimestamp": "2026-01-02T03:04:05Z",
            "finalizers": ["f"],
            "managedFields": [
                {"manager": "m", "operation": "Update", "fieldsV1": {"f:a": {}}},
                {"manager": "k", "operation": "Apply", "fieldsV1": {"f:b": {}}},
            ],
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "o", "uid": "owner"}],
        },
        "spec": {"containers": [{"name": "c", "image": "i"}], "nodeName": "n-1"},
    })
}

fn pods() -> ApiResource {
    ApiResource::of::<Pod>()
}

fn expected(pod: &Value) -> Pod {
    let mut pod: Pod = decode_object(&written(pod), true).unwrap();
    assert_eq!(pod.metadata.managed_fields.as_ref().unwrap().len(), 2);
    pod.metadata.managed_fields = None;
    pod
}

fn check(bytes: &ObjectBytes, expected: &Pod) {
    assert_eq!(bytes.key().as_str(), "n/a");
    let versions = (bytes.uid(), bytes.resource_version());
    assert_eq!(versions, (Some("u-1"), Some("17")));
    assert!(bytes.is_deleting());
    assert_eq!(Some(bytes.labels()), expected.metadata.labels);
    assert_eq!(bytes.owner_references()[0].uid, "owner");
    assert_eq!(bytes.metadata().unwrap(), expected.metadata);
    assert_eq!(bytes.decode::<Pod>(&pods()), Ok(Arc::new(expected.clone())));
    let alone = bytes.metadata_object::<PartialObject<Pod>>(&pods(), true);
    let alone = match alone.unwrap() {
        Received::Decoded(object) => object,
        Received::Bytes(bytes) => bytes.decode(&pods()).unwrap(),
    };
    assert_eq!(alone.metadata, expected.metadata);
}

/// The length of the metadata takes one, two or three bytes, before and after the managed fields are left out.
#[test]
fn an_object_at_rest_lacks_only_its_managed_fields() {
    for size in [0, 1, 20, 40, 60, 80, 100, 16_000, 16_150, 16_200, 16_300] {
        let (written, expected) = (written(&pod("a", size)), expected(&pod("a", size)));
        let read = |wanted| {
            let format = Encoding::Protobuf.into();
            ObjectBytes::read(Part::of_bytes(format, &written.bytes), &pods(), wanted).unwrap()
        };
        check(&read(false), &expected);
        assert!(read(false).len() + 30 < read(true).len());
        let whole = read(true).decode::<Pod>(&pods()).unwrap();
        assert_eq!(whole.metadata.managed_fields.as_ref().unwrap().len(), 2);
        let dynamic: Arc<DynamicObject> = read(false).decode(&pods()).unwrap();
        assert_eq!(dynamic.types.kind, "Pod");
        assert_eq!(dynamic.data["spec"]["nodeName"], "n-1");
    }
}

#[test]
fn a_list_is_taken_apart_and_a_bad_item_spoils_only_itself() {
    let list = json!({
        "apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "9", "continue": "next"},
        "items": [pod("a", 900), pod("b", 900)],
    });
    let mut written = written(&list).bytes.to_vec();
    let spoil = |bytes: &mut Vec<u8>| {
        // The second Pod's node is in a field of another type.
        let place = bytes
            .windows(5)
            .rposition(|text| text == b"\x52\x03n-1")
            .unwrap();
        bytes[place] = 0x51;
    };
    let whole = decode_list::<Pod>(&document(written.clone()), &pods(), false, &|_| true).unwrap();
    assert_eq!(
        whole.items,
        [expected(&pod("a", 900)), expected(&pod("b", 900))]
    );
    assert_eq!(
        (whole.resource_version(), whole.continue_token()),
        (Some("9"), Some("next"))
    );
    spoil(&mut written);
    let list = document(written);
    let decoded = decode_list::<Pod>(&list, &pods(), false, &|_| true).unwrap();
    assert_eq!(decoded.items, [expected(&pod("a", 900))]);
    assert_eq!(
        decoded.undecodable[0].to_string(),
        "Pod n/b (resource version 17) cannot be decoded: spec: not protobuf of Kubernetes: a field of another type"
    );
    assert_eq!(decoded.undecodable[0].labels["app"], "web");
    assert!(decoded.undecodable[0].is_deleting);
    let received = receive_list::<Pod>(&list, &pods(), false, true).unwrap();
    let [Received::Bytes(one), Received::Bytes(two)] = &received.items[..] else {
        panic!("decoded");
    };
    check(one, &expected(&pod("a", 900)));
    let reason = two.decode::<Pod>(&pods()).unwrap_err();
    let bad = two.undecodable(&pods(), reason);
    assert_eq!(bad.to_string(), decoded.undecodable[0].to_string());
}

/// Texts may have any value. The only number that stands for a choice says which form the port has.
#[test]
fn a_choice_of_a_newer_server_spoils_only_its_object() {
    let service = |name: &str| {
        json!({
            "metadata": {"name": name, "namespace": "n"},
            "spec": {"type": "NewerType", "ports": [{"port": 80, "targetPort": "http"}]},
        })
    };
    let list = json!({
        "apiVersion": "v1", "kind": "ServiceList", "metadata": {"resourceVersion": "9"},
        "items": [service("a"), service("b")],
    });
    let mut bytes = written(&list).bytes.to_vec();
    let text: &[u8] = b"\x08\x01\x10\x00\x1a\x04http";
    let place = bytes.windows(text.len()).rposition(|found| found == text);
    bytes[place.unwrap() + 1] = 2;
    let services = ApiResource::of::<Service>();
    let read = decode_list::<Service>(&document(bytes), &services, false, &|_| true).unwrap();
    let spec = read.items[0].spec.as_ref().unwrap();
    assert_eq!(spec.type_.as_deref(), Some("NewerType"));
    assert_eq!((read.items.len(), read.undecodable.len()), (1, 1));
    assert_eq!(
        read.undecodable[0].to_string(),
        "Service n/b cannot be decoded: spec.ports[0].targetPort: not protobuf of Kubernetes: neither a number nor a string"
    );
}

#[test]
fn a_list_of_another_kind_is_refused() {
    let list = json!({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {}, "items": []});
    let refused = receive_list::<Pod>(&written(&list), &pods(), false, true).err();
    assert_eq!(
        refused.as_deref(),
        Some("kind: expected `PodList` of `v1`, found `ConfigMapList` of `v1`")
    );
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let format = Encoding::Protobuf.into();
    let refused = ObjectBytes::read(
        Part::of_bytes(format, &written(&object).bytes),
        &pods(),
        false,
    );
    assert!(
        refused
            .unwrap_err()
            .reason
            .starts_with("kind: expected `Pod`")
    );
}

/// The items of such a list have no envelope. Without their own kind they would be Pods without containers.
#[test]
fn metadata_alone_is_no_object() {
    let list = json!({
        "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": {"resourceVersion": "9"},
        "items": [{"metadata": {"name": "a", "annotations": {"text": "x".repeat(900)}}}, {"metadata": {"name": "b"}}],
    });
    let list = written(&list);
    let read = receive_list::<PartialObject<Pod>>(&list, &pods(), false, true).unwrap();
    let names = read.items.iter().map(|item| match item {
        Received::Bytes(bytes) => {
            let object = bytes.decode::<PartialObject<Pod>>(&pods()).unwrap();
            object.name().to_owned()
        }
        Received::Decoded(object) => object.name().to_owned(),
    });
    assert_eq!(names.collect::<Vec<_>>(), ["a", "b"]);
    let whole = decode_list::<Pod>(&list, &pods(), false, &|_| true).unwrap();
    assert_eq!((whole.items.len(), whole.undecodable.len()), (0, 2));
    let received = receive_list::<Pod>(&list, &pods(), false, true).unwrap();
    for item in received.items {
        match item {
            Received::Bytes(bytes) => assert!(bytes.decode::<Pod>(&pods()).is_err()),
            Received::Decoded(pod) => panic!("{pod:?}"),
        }
    }
}

#[test]
fn frames_are_changes_bookmarks_and_errors() {
    let change = frame("MODIFIED", &pod("a", 900));
    match decode_event::<Pod>(&change, None, &pods(), false) {
        Ok(Event::Event(WatchEvent::Modified(found))) => {
            assert_eq!(found, expected(&pod("a", 900)));
        }
        _ => panic!("no change"),
    }
    match receive_event::<Pod>(&change, None, &pods(), false, true) {
        Ok(Event::Event(WatchEvent::Modified(Received::Bytes(bytes)))) => {
            check(&bytes, &expected(&pod("a", 900)));
        }
        _ => panic!("no change"),
    }
    let bookmark = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {
        "resourceVersion": "12", "annotations": {"k8s.io/initial-events-end": "true"},
    }});
    match receive_event::<Pod>(&frame("BOOKMARK", &bookmark), None, &pods(), false, true) {
        Ok(Event::Event(WatchEvent::Bookmark {
            resource_version,
            initial_events_end,
        })) => assert_eq!((&*resource_version, initial_events_end), ("12", true)),
        _ => panic!("no bookmark"),
    }
    let gone = json!({"apiVersion": "v1", "kind": "Status", "code": 410, "reason": "Expired"});
    match receive_event::<Pod>(&frame("ERROR", &gone), None, &pods(), false, true) {
        Ok(Event::Error(status)) => assert!(status.is_expired()),
        _ => panic!("no error"),
    }
    let mut cut = change.bytes.to_vec();
    cut.truncate(cut.len() - 9);
    assert!(receive_event::<Pod>(&document(cut), None, &pods(), false, true).is_err());
}

#[test]
fn small_objects_are_decoded_at_once_if_the_cache_wants_it() {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
    let maps = ApiResource::of::<ConfigMap>();
    let read = |decodes_small| {
        let frame = frame("ADDED", &object);
        match receive_event::<ConfigMap>(&frame, None, &maps, false, decodes_small) {
            Ok(Event::Event(WatchEvent::Added(received))) => received,
            _ => panic!("no object"),
        }
    };
    match (read(true), read(false)) {
        (Received::Decoded(map), Received::Bytes(bytes)) => {
            assert_eq!(map.data.as_ref().unwrap()["k"], "v");
            assert_eq!(bytes.decode::<ConfigMap>(&maps), Ok(map));
        }
        _ => panic!("the first one is not decoded, or the second one is"),
    }
}

#[test]
fn the_servers_status_is_read() {
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound",
        "message": "gone", "details": {"name": "a", "kind": "pods", "retryAfterSeconds": 3},
    });
    let read = decode_status(&written(&status)).unwrap();
    assert_eq!((read.code, &*read.message), (404, "gone"));
    assert_eq!(read.details.unwrap().retry_after_seconds, 3);
    let done = decode_deleted::<Pod>(&written(&status), false).unwrap();
    assert!(matches!(done, Deleted::Done(_)));
    let deleted = decode_deleted::<Pod>(&written(&pod("a", 0)), false).unwrap();
    assert_eq!(deleted.object().unwrap(), expected(&pod("a", 0)));
}

/// Fields of metadata as Go writes them, and others: in another order, twice, empty, with text that is not UTF-8, unknown ones, and cut off.
fn any_metadata() -> impl Strategy<Value = Vec<u8>> {
    let number = prop::sample::select(vec![1, 2, 3, 5, 6, 7, 8, 9, 11, 12, 13, 14, 17, 19, 40]);
    let value = prop_oneof![
        8 => "[a-z]{0,3}".prop_map(String::into_bytes),
        1 => Just(vec![0xff]),
        // A time, and Go's zero time.
        1 => Just(vec![0x08, 0x05]),
        1 => Just(vec![0x08, 0x80, 0x92, 0xb8, 0xc3, 0x98, 0xfe, 0xff, 0xff, 0xff, 0x01]),
    ];
    let of_field = |(number, value): (u8, Vec<u8>)| match number {
        // A number.
        7 => vec![7 << 3, 1],
        // A time that nobody asked for: whether it is one is found when the object is decoded.
        8 => field(number, &[0x08, 0x05]),
        _ => field(number, &value),
    };
    let fields = prop::collection::vec((number, value), 0..12);
    (fields, any::<bool>(), 0..8usize).prop_map(move |(mut fields, is_sorted, cut)| {
        if is_sorted {
            fields.sort_by_key(|(number, _)| *number);
        }
        let mut bytes: Vec<u8> = fields.into_iter().flat_map(of_field).collect();
        // Few are cut off.
        bytes.truncate(bytes.len() - if cut > 5 { bytes.len().min(cut - 5) } else { 0 });
        bytes
    })
}

/// The outline that is read straight from the bytes of an object with such metadata, and the one by the table.
fn outlines(object: &[u8]) -> (Option<ObjectOutline<'_>>, Result<ObjectOutline<'_>, String>) {
    let Encoded { bytes, .. } = written(&pod("a", 0));
    let codec = Protobuf(Shape::Document).opened(&bytes).unwrap().codec;
    let by_table = read_outline(codec, object, None, |_, _| Ok(()));
    (codec.outline(object), by_table)
}

proptest! {
    #[test]
    fn the_quick_outline_of_an_object_is_the_one_by_the_table(metadata in any_metadata(), before in 0..8) {
        let (spec, metadata) = (field(2, b""), field(1, &metadata));
        let object = if before == 0 { [spec, metadata].concat() } else { [metadata, spec].concat() };
        match outlines(&object) {
            (Some(quick), Ok(slow)) => prop_assert_eq!(quick, slow),
            (Some(_), Err(reason)) => prop_assert!(false, "the table has an error: {reason}"),
            (None, _) => {}
        }
    }
}

#[test]
fn the_quick_outline_has_all_labels_and_no_zero_time() {
    let zero = [
        0x08, 0x80, 0x92, 0xb8, 0xc3, 0x98, 0xfe, 0xff, 0xff, 0xff, 0x01,
    ];
    let labels = [field(11, b"a"), field(11, b"b")].concat();
    let metadata = [field(1, b"a"), field(9, &zero), labels.clone()].concat();
    let object = field(1, &metadata);
    let (quick, slow) = outlines(&object);
    let quick = quick.unwrap();
    assert_eq!((quick.labels, quick.is_deleting), (Some(&*labels), false));
    assert_eq!(Ok(quick), slow);
    let deleted = field(1, &field(9, &[0x08, 0x05]));
    assert!(outlines(&deleted).0.unwrap().is_deleting);
}

#[test]
fn what_is_not_as_go_writes_it_has_no_quick_outline() {
    for metadata in [
        [field(3, b"n"), field(1, b"a")],
        [field(1, b"a"), field(1, b"b")],
        [field(2, b"a"), field(2, b"b")],
        [field(1, b"a"), field(3, &[0xff])],
        [field(1, b"a"), vec![11 << 3, 1]],
    ] {
        let object = field(1, &metadata.concat());
        assert!(outlines(&object).0.is_none(), "{metadata:?}");
    }
}

#[test]
fn an_object_with_a_broken_end_keeps_what_its_metadata_tell() {
    let Encoded { bytes, .. } = written(&pod("a", 900));
    let opened = Protobuf(Shape::Document).opened(&bytes).unwrap();
    // Metadata again, after the spec.
    let object = [opened.bytes, &*field(1, b"")].concat();
    let format = opened.codec.format();
    let read = ObjectBytes::read(Part::of_bytes(format, &object), &pods(), false).unwrap();
    let reason = read.decode::<Pod>(&pods()).unwrap_err();
    let broken = read.undecodable(&pods(), reason);
    assert_eq!(broken.key.as_str(), "n/a");
    assert_eq!(
        (broken.uid.as_deref(), broken.is_deleting),
        (Some("u-1"), true)
    );
    assert_eq!(broken.owner_references[0].uid, "owner");
    assert_eq!(broken.labels["app"], "web");
}

#[test]
fn the_outline_of_what_a_server_sends_is_quick() {
    let Encoded { bytes, .. } = written(&pod("a", 0));
    let opened = Protobuf(Shape::Document).opened(&bytes).unwrap();
    let outline = opened.codec.outline(opened.bytes).unwrap();
    assert_eq!(outline.name.as_deref(), Some("a"));
    let parts = [
        outline.labels,
        outline.owner_references,
        outline.managed_fields,
    ];
    assert!(outline.is_deleting && parts.iter().all(Option::is_some));
}
