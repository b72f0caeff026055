//! Checks that the sandbox reads back what it writes in protobuf, and that `prost` reads the same ConfigMap.
//!
//! The first byte selects the kind, so that the input needs no envelope; without a kind the input is a whole body.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pilothouse_sandbox::internals::protobuf::{decode, encode};
use prost::Message;
use serde_json::{Map, Value};

use crate::input;

const KINDS: [(&str, &str); 9] = [
    ("", ""),
    ("v1", "ConfigMap"),
    ("v1", "Pod"),
    ("v1", "Service"),
    ("v1", "Event"),
    ("meta.k8s.io/v1", "DeleteOptions"),
    ("apps/v1", "DeploymentList"),
    ("authorization.k8s.io/v1", "SubjectAccessReview"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
];

#[derive(Message)]
struct Envelope {
    #[prost(message, required, tag = "1")]
    kind: TypeMeta,
    #[prost(bytes = "vec", tag = "2")]
    raw: Vec<u8>,
}

#[derive(Message)]
struct TypeMeta {
    #[prost(string, tag = "1")]
    api_version: String,
    #[prost(string, tag = "2")]
    kind: String,
}

#[derive(Message)]
struct ConfigMap {
    #[prost(message, optional, tag = "1")]
    metadata: Option<ObjectMeta>,
    #[prost(btree_map = "string, string", tag = "2")]
    data: BTreeMap<String, String>,
    #[prost(btree_map = "string, bytes", tag = "3")]
    binary_data: BTreeMap<String, Vec<u8>>,
    #[prost(bool, optional, tag = "4")]
    immutable: Option<bool>,
}

#[derive(Message)]
struct ObjectMeta {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(int64, tag = "7")]
    generation: i64,
    #[prost(btree_map = "string, string", tag = "11")]
    labels: BTreeMap<String, String>,
    #[prost(string, repeated, tag = "14")]
    finalizers: Vec<String>,
}

pub(crate) fn run(data: &[u8]) {
    let (form, inner) = input::choice(data);
    let (api_version, kind) = KINDS[usize::from(form) % KINDS.len()];
    let body = match kind {
        "" => inner.to_vec(),
        _ => enveloped(api_version, kind, inner),
    };
    let Ok(read) = decode(&body, ("v1", "Pod"), |object| object) else {
        return;
    };
    if kind == "ConfigMap"
        && let Ok(expected) = ConfigMap::decode(inner)
    {
        assert_eq!(fields(&read), json(expected), "prost reads it");
    }
    let Some(written) = encode(&read) else {
        return;
    };
    let again = decode(&written, ("", ""), |object| object).expect("what was written");
    assert_eq!(encode(&again), Some(written), "what was written");
}

pub(super) fn enveloped(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let envelope = Envelope {
        kind: TypeMeta {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        },
        raw: raw.to_vec(),
    };
    [b"k8s\0", &*envelope.encode_to_vec()].concat()
}

/// The fields of a ConfigMap that the reference knows.
fn fields(map: &Value) -> [Value; 7] {
    let meta = &map["metadata"];
    [
        meta["name"].clone(),
        meta["generation"].clone(),
        meta["labels"].clone(),
        meta["finalizers"].clone(),
        map["data"].clone(),
        map["binaryData"].clone(),
        map["immutable"].clone(),
    ]
}

/// The same fields of the reference. Fields that are not set are null.
fn json(map: ConfigMap) -> [Value; 7] {
    let meta = map.metadata.unwrap_or_default();
    let texts = |entries: BTreeMap<String, String>| filled(entries, Value::from);
    let finalizers = match meta.finalizers {
        list if list.is_empty() => Value::Null,
        list => list.into(),
    };
    [
        some(!meta.name.is_empty(), meta.name.into()),
        some(meta.generation != 0, meta.generation.into()),
        texts(meta.labels),
        finalizers,
        texts(map.data),
        filled(map.binary_data, |bytes| STANDARD.encode(bytes).into()),
        map.immutable.into(),
    ]
}

fn some(is_set: bool, value: Value) -> Value {
    if is_set { value } else { Value::Null }
}

fn filled<T>(entries: BTreeMap<String, T>, show: impl Fn(T) -> Value) -> Value {
    let entries = entries.into_iter().map(|(key, value)| (key, show(value)));
    let entries: Map<String, Value> = entries.collect();
    some(!entries.is_empty(), entries.into())
}
