//! Server-side apply, which stores each object as it arrives. ConfigMaps cause no watch events; Secrets are stored
//! and can be watched.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::{Bytes, BytesMut};
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Served,
    answer::{Answer, Parts, failure, json, written},
    form::Format,
    messages,
    wire::{field, nested, number},
};

/// The place where the server inserts its additions.
const METADATA: &[u8] = b"\"metadata\":{";

const MANAGED: &str = "\"managedFields\":[{\"manager\":\"bench\",\"operation\":\"Apply\",\"apiVersion\":\"v1\",\
    \"time\":\"2026-01-01T00:00:00Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:data\":{\"f:text\":{}}}}],";

/// Answers with the sent object and the additions of a server: namespace, UID, resource version, managed fields.
pub(super) fn answer(
    served: &Served,
    path: &str,
    query: &str,
    accept: &str,
    body: &Bytes,
) -> Answer {
    let Some((kind, namespace)) = kind(path) else {
        return failure(
            StatusCode::NOT_FOUND,
            &format!("PATCH {path}: this server applies only ConfigMaps and Secrets"),
        );
    };
    if !query.split('&').any(|pair| pair == "force=true") {
        return failure(
            StatusCode::BAD_REQUEST,
            &format!("PATCH {path}?{query}: this server accepts only forced applies"),
        );
    }
    let Some(mut applied) = Applied::read(body, kind, namespace) else {
        return failure(
            StatusCode::BAD_REQUEST,
            &format!("PATCH {path}: the body is not a {kind} with metadata in JSON"),
        );
    };
    let count = served.counts.apply();
    let mut code = StatusCode::CREATED;
    if kind == "Secret" {
        (code, applied) = served.children.apply(path, applied);
    } else {
        (applied.first, applied.number) = (count, count);
    }
    let base = served.last_version();
    match Format::accepted(accept) {
        Format::Json => {
            let mut object = BytesMut::new();
            applied.json(base, &mut object);
            json(code, Parts::new([object.freeze()]))
        }
        Format::Protobuf => {
            let object = messages::alone("v1", kind, &applied.message(base));
            let content_type = Format::Protobuf.content_type(false);
            written(code, content_type, Parts::new([object]))
        }
    }
}

/// An object that was applied.
#[derive(Clone, Debug)]
pub(super) struct Applied {
    /// The body as it was sent.
    pub(super) body: Bytes,
    /// The position in the body for the additions.
    place: usize,
    /// The namespace of the path, if the body names none.
    namespace: String,
    /// The number of the change that created it.
    pub(super) first: u64,
    /// The number of its last change.
    pub(super) number: u64,
}

impl Applied {
    /// Reads a body. Returns `None` unless it is an object of this kind with metadata. The namespace is that of the path
    /// if the body names none.
    fn read(body: &Bytes, kind: &str, namespace: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Sent<'a> {
            kind: &'a str,
            metadata: Metadata<'a>,
        }
        #[derive(Deserialize)]
        struct Metadata<'a> {
            namespace: Option<&'a str>,
        }
        let sent: Sent<'_> = serde_json::from_slice(body).ok()?;
        let place = find(body, METADATA)? + METADATA.len();
        let namespace = match sent.metadata.namespace {
            Some(_) => "",
            None => namespace,
        };
        (sent.kind == kind).then(|| Self {
            body: body.clone(),
            place,
            namespace: namespace.to_owned(),
            first: 0,
            number: 0,
        })
    }

    fn uid(&self) -> String {
        format!("00000000-0000-4000-a000-{:012}", self.first)
    }

    /// Appends it with the server's additions; `base` is the resource version before the first change.
    pub(super) fn json(&self, base: u64, buffer: &mut BytesMut) {
        let (uid, version) = (self.uid(), base + self.number);
        let added = format!("\"uid\":\"{uid}\",\"resourceVersion\":\"{version}\",{MANAGED}");
        buffer.reserve(self.body.len() + added.len());
        buffer.extend_from_slice(&self.body[..self.place]);
        buffer.extend_from_slice(added.as_bytes());
        if !self.namespace.is_empty() {
            let namespace = format!("\"namespace\":\"{}\",", self.namespace);
            buffer.extend_from_slice(namespace.as_bytes());
        }
        buffer.extend_from_slice(&self.body[self.place..]);
    }

    /// Returns it in protobuf, as far as a peer sends it: names, labels, owners and data.
    pub(super) fn message(&self, base: u64) -> BytesMut {
        // The body was parsed before, so this cannot fail.
        let object: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let sent = &object["metadata"];
        let mut message = BytesMut::new();
        nested(1, &mut message, |metadata| {
            let name = |field: &str| sent[field].as_str().unwrap_or_default();
            field(1, name("name").as_bytes(), metadata);
            let namespace = sent["namespace"].as_str().unwrap_or(&self.namespace);
            field(3, namespace.as_bytes(), metadata);
            field(5, self.uid().as_bytes(), metadata);
            field(6, (base + self.number).to_string().as_bytes(), metadata);
            map(11, &sent["labels"], false, metadata);
            for owner in sent["ownerReferences"].as_array().into_iter().flatten() {
                nested(13, metadata, |reference| {
                    for (number, name) in [(1, "kind"), (3, "name"), (4, "uid"), (5, "apiVersion")]
                    {
                        let text = owner[name].as_str().unwrap_or_default();
                        field(number, text.as_bytes(), reference);
                    }
                    for (place, name) in [(6, "controller"), (7, "blockOwnerDeletion")] {
                        number(
                            place,
                            owner[name].as_bool().unwrap_or_default().into(),
                            reference,
                        );
                    }
                });
            }
            nested(17, metadata, |entry| {
                field(1, b"bench", entry);
                field(2, b"Apply", entry);
                field(3, b"v1", entry);
                nested(4, entry, |time| number(1, 1_767_225_600, time));
                field(6, b"FieldsV1", entry);
                nested(7, entry, |fields| {
                    field(1, b"{\"f:data\":{\"f:text\":{}}}", fields)
                });
            });
        });
        map(2, &object["data"], object["kind"] == "Secret", &mut message);
        message
    }
}

/// Appends a map of text, or of bytes for Secrets, which JSON has in base64.
fn map(number: u32, sent: &Value, is_base64: bool, buffer: &mut BytesMut) {
    for (key, value) in sent.as_object().into_iter().flatten() {
        let text = value.as_str().unwrap_or_default();
        nested(number, buffer, |entry| {
            field(1, key.as_bytes(), entry);
            if is_base64 {
                field(2, &STANDARD.decode(text).unwrap_or_default(), entry);
            } else {
                field(2, text.as_bytes(), entry);
            }
        });
    }
}

/// Returns the kind and the namespace of a path.
fn kind(path: &str) -> Option<(&'static str, &str)> {
    let parts: Vec<_> = path.split('/').collect();
    match parts[..] {
        ["", "api", "v1", "namespaces", namespace, plural, name] if !name.is_empty() => {
            match plural {
                "configmaps" => Some(("ConfigMap", namespace)),
                "secrets" => Some(("Secret", namespace)),
                _ => None,
            }
        }
        _ => None,
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}
