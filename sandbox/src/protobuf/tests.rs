use serde_json::{Value, json};

use super::*;
use crate::depth;

/// A field of a message: a number and a value with its length before it.
fn field(number: u8, value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    let mut length = value.len();
    while length >= 0x80 {
        bytes.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend(value);
    bytes
}

fn enveloped(api_version: &str, kind: &str, inner: &[u8]) -> Vec<u8> {
    let names = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    [b"k8s\0", &*field(1, &names), &*field(2, inner)].concat()
}

fn read(api_version: &str, kind: &str, inner: &[u8]) -> Result<Value, String> {
    let body = enveloped(api_version, kind, inner);
    decode(&body, ("v1", "Namespace"), |object| object).map_err(|wrong| wrong.text)
}

/// Reads the `spec` of a Pod.
fn pod_spec(spec: &[u8]) -> Result<Value, String> {
    let mut pod = read("v1", "Pod", &field(2, spec))?;
    Ok(pod["spec"].take())
}

#[test]
fn an_object_is_written_with_every_field_that_is_not_a_pointer() {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
        "data": {"b": "2", "a": "1"}, "binaryData": {"c": "AQI="}, "immutable": false});
    let time = field(8, b"");
    let meta = [
        field(1, b"a"),
        field(2, b""),
        field(3, b""),
        field(4, b""),
        field(5, b""),
        field(6, b""),
        vec![7 << 3, 0],
        time,
    ]
    .concat();
    let entry = |number, key: &[u8], value: &[u8]| {
        field(number, &[field(1, key), field(2, value)].concat())
    };
    let inner = [
        field(1, &meta),
        entry(2, b"a", b"1"),
        entry(2, b"b", b"2"),
        entry(3, b"c", &[1, 2]),
        vec![4 << 3, 0],
    ]
    .concat();
    let expected = [
        enveloped("v1", "ConfigMap", &inner),
        field(3, b""),
        field(4, b""),
    ]
    .concat();
    assert_eq!(encode(&map), Some(expected));
}

#[test]
fn fields_that_are_not_set_appear_only_if_go_writes_them() {
    assert_eq!(
        read("v1", "Pod", b""),
        Ok(
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {"containers": null}, "status": {}})
        )
    );
    // Zero values that are set: of a pointer (30, `enableServiceLinks`), and of no pointer (11, `hostNetwork`).
    let spec = [vec![11 << 3, 0], vec![0xf0, 1, 0]].concat();
    assert_eq!(
        pod_spec(&spec),
        Ok(json!({"containers": null, "enableServiceLinks": false}))
    );
}

#[test]
fn the_parts_of_a_message_are_joined() {
    let two = [
        field(1, &field(1, b"a")),
        field(1, &field(3, b"n")),
        field(1, &field(1, b"b")),
    ];
    let map = read("v1", "ConfigMap", &two.concat()).unwrap();
    assert_eq!(map["metadata"], json!({"name": "b", "namespace": "n"}));
    // A time is replaced.
    let time = |seconds: &[u8]| field(1, &field(8, seconds));
    let times = [time(&[8, 5, 16, 0]), time(b"")].concat();
    let map = read("v1", "ConfigMap", &times).unwrap();
    assert_eq!(map["metadata"], json!({}));
}

#[test]
fn types_with_a_form_of_their_own_are_read_and_written() {
    for object in [
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"creationTimestamp": "2026-01-02T03:04:05Z"},
            "spec": {"ports": [{"port": 1, "targetPort": "http"}, {"port": -1, "targetPort": 8080}]}, "status": {"loadBalancer": {}}}),
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"managedFields": [{"fieldsV1": {"f:a": {}}}]},
            "spec": {"renewTime": "1969-12-31T23:59:59.000001Z"}}),
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {},
            "spec": {"resources": {"requests": {"storage": "1536Mi"}}}, "status": {}}),
        json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {}, "data": {"a": [null]}, "revision": 3}),
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {},
            "spec": {"extra": {"a": ["b", "c"]}}, "status": {"allowed": false}}),
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {},
            "spec": {"group": "", "names": {"plural": "", "kind": ""}, "scope": "", "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "maximum": 1.5, "minimum": -3, "default": [1], "enum": [null, "a"],
                    "items": [{"type": "string"}], "additionalProperties": false,
                    "not": {"items": {"type": "string"}, "additionalProperties": {"type": "string"}},
                    "dependencies": {"a": ["b"], "c": {"type": "string"}},
                }}},
            ]}, "status": {"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": null}}),
    ] {
        let bytes = encode(&object).unwrap();
        assert_eq!(decode(&bytes, ("", ""), |object| object), Ok(object));
    }
}

#[test]
fn packed_lists_are_read() {
    let group = |bytes: &[u8]| pod_spec(&field(14, bytes));
    // 4, `supplementalGroups`: one packed list, and two values.
    let packed = group(&[4 << 3 | 2, 3, 1, 0x80, 2]).unwrap();
    assert_eq!(
        packed["securityContext"],
        json!({"supplementalGroups": [1, 256]})
    );
    assert_eq!(group(&[4 << 3, 1, 4 << 3, 0x80, 2]), Ok(packed));
}

#[test]
fn unknown_fields_of_every_wire_type_are_skipped() {
    for skipped in [
        &[0xc0, 0x3e, 0xff, 1][..],
        &[0xc1, 0x3e, 1, 2, 3, 4, 5, 6, 7, 8],
        &[0xc2, 0x3e, 2, 0xff, 0xff],
        &[0xc5, 0x3e, 1, 2, 3, 4],
        // Groups, one in the other.
        &[0xc3, 0x3e, 0xc3, 0x3e, 8, 1, 0xc4, 0x3e, 0xc4, 0x3e],
    ] {
        let known = field(1, &field(1, b"a"));
        let map = read("v1", "ConfigMap", &[skipped, &known].concat()).unwrap();
        assert_eq!(map["metadata"]["name"], "a", "{skipped:?}");
    }
}

#[test]
fn malformed_messages_are_refused_with_the_texts_of_a_real_server() {
    for (inner, text) in [
        (&[0xff][..], "unexpected EOF"),
        (&[0x0a, 2, 8], "unexpected EOF"),
        (&[0xff; 11], "proto: integer overflow"),
        (&[0, 0], "proto: ConfigMap: illegal tag 0 (wire type 0)"),
        (
            &[0x0c],
            "proto: ConfigMap: wiretype end group for non-group",
        ),
        (&[0x08, 1], "proto: wrong wireType = 0 for field ObjectMeta"),
        (
            &[0x0a, 2, 0x28, 1],
            "proto: wrong wireType = 0 for field UID",
        ),
        (&[0x3e], "proto: illegal wireType 6"),
        (&[0xc3, 0x3e], "unexpected EOF"),
        (&[0xc5, 0x3e, 1], "unexpected EOF"),
        (
            &[
                0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
            ],
            "proto: negative length found during unmarshaling",
        ),
        (
            &[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
            "proto: negative length found during unmarshaling",
        ),
        // In an entry of a map.
        (&[0x12, 1, 0x24], "proto: unexpected end of group"),
        (&[0x12, 2, 0x1a, 1], "unexpected EOF"),
        // The text of the owner of a field is not JSON.
        (
            &[0x0a, 10, 0x8a, 1, 7, 0x3a, 5, 0x0a, 3, b'a', b'b', b'c'],
            "invalid character 'a' looking for beginning of value",
        ),
    ] {
        let found = read("v1", "ConfigMap", inner);
        assert_eq!(found, Err(text.to_owned()), "{inner:?}");
    }
    // `type` 2 of a `targetPort`.
    let port = field(2, &[0x0a, 4, 0x22, 2, 8, 2]);
    let found = read("v1", "Service", &port);
    assert_eq!(found, Err("impossible IntOrString.Type".to_owned()));
    let requests = [field(1, b"cpu"), field(2, &field(1, b"much"))].concat();
    let claim = field(2, &field(2, &field(2, &requests)));
    let found = read("v1", "PersistentVolumeClaim", &claim).unwrap_err();
    assert!(found.starts_with("quantities must match"), "{found}");
    let late = [&[8][..], &[0xff; 7], &[0x3f]].concat();
    let found = read("v1", "ConfigMap", &field(1, &field(8, &late))).unwrap_err();
    assert!(found.ends_with("is not in the years 1 to 9999"), "{found}");
}

#[test]
fn malformed_envelopes_are_refused_and_missing_names_are_the_expected_ones() {
    let read = |body: &[u8]| decode(body, ("v1", "ConfigMap"), |object| object);
    for (body, text) in [
        (&b""[..], "empty data"),
        (b"k8s\0", "empty body"),
        (
            b"{}",
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        ),
        (b"k8s\0\0\0", "proto: Unknown: illegal tag 0 (wire type 0)"),
    ] {
        let wrong = read(body).unwrap_err();
        assert_eq!((wrong.text.as_str(), wrong.kind), (text, None));
    }
    let nameless = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}});
    for body in [&b"k8s\0\x12\0"[..], &enveloped("a/b/c", "", b"")] {
        assert_eq!(read(body), Ok(nameless.clone()));
    }
    // A kind without a message: the caller tells what it is.
    let gadget = json!({"apiVersion": "example.com/v1", "kind": "Gadget"});
    assert_eq!(
        read(&enveloped("example.com/v1", "Gadget", &[0xff])),
        Ok(gadget.clone())
    );
    assert_eq!(encode(&gadget), None);
}

#[test]
fn events_of_a_watch_have_their_length_before_them() {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let inner = encode(&object).unwrap();
    let event = encode_event(&json!({"type": "ADDED", "object": object})).unwrap();
    let expected = [field(1, b"ADDED"), field(2, &field(1, &inner))].concat();
    assert_eq!(event[..4], (expected.len() as u32).to_be_bytes());
    assert_eq!(event[4..], expected);
}

#[test]
fn a_message_may_be_nested_as_deeply_as_json() {
    // `not` in `not`: one level each.
    let nested = |levels: usize| {
        let mut schema = field(5, b"object");
        for _ in 0..levels {
            schema = field(28, &schema);
            // Field 28 does not fit into one byte.
            schema.splice(..1, [0xe2, 1]);
        }
        let version = field(4, &field(1, &schema));
        read(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            &field(2, &field(7, &version)),
        )
    };
    assert!(nested(50).is_ok());
    let body = |levels| {
        crate::stack::large(|| nested(levels).map(|object| depth::within(&object, depth::LIMIT)))
    };
    assert_eq!(body(depth::LIMIT - 10), Ok(true));
    assert_eq!(
        body(depth::LIMIT),
        Err("the object has more than 10000 levels".to_owned())
    );
}
