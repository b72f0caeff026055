//! Server-side apply of ConfigMaps: each is taken as it comes, and nobody is told of it.

use bytes::{Bytes, BytesMut};
use hyper::StatusCode;
use serde_json::Value;

use super::{
    Served,
    answer::{Answer, Parts, failure, json, written},
    form::Format,
    messages,
    wire::{field, nested, number},
};

/// What the server adds is put here.
const METADATA: &[u8] = b"\"metadata\":{";

const MANAGED: &str = "\"managedFields\":[{\"manager\":\"bench\",\"operation\":\"Apply\",\"apiVersion\":\"v1\",\
    \"time\":\"2026-01-01T00:00:00Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:data\":{\"f:text\":{}}}}],";

/// Answers with what was sent and what a server adds: a UID, a resource version, managed fields.
pub(super) fn answer(
    served: &Served,
    path: &str,
    query: &str,
    accept: &str,
    body: &Bytes,
) -> Answer {
    if !is_config_map(path) {
        return failure(
            StatusCode::NOT_FOUND,
            &format!("PATCH {path}: only ConfigMaps are applied here"),
        );
    }
    if !query.split('&').any(|pair| pair == "force=true") {
        return failure(
            StatusCode::BAD_REQUEST,
            &format!("PATCH {path}?{query}: only forced applies"),
        );
    }
    let Some(place) = find(body, METADATA).map(|place| place + METADATA.len()) else {
        return failure(
            StatusCode::BAD_REQUEST,
            &format!("PATCH {path}: no metadata in JSON"),
        );
    };
    let number = served.counts.apply();
    let version = served.last_version() + number;
    let uid = format!("00000000-0000-4000-a000-{number:012}");
    if Format::accepted(accept) == Format::Protobuf {
        let Some(message) = message(body, &uid, version) else {
            return failure(
                StatusCode::BAD_REQUEST,
                &format!("PATCH {path}: not a ConfigMap in JSON"),
            );
        };
        let object = messages::alone("v1", "ConfigMap", &message);
        let content_type = Format::Protobuf.content_type(false);
        return written(StatusCode::CREATED, content_type, Parts::new([object]));
    }
    let added = format!("\"uid\":\"{uid}\",\"resourceVersion\":\"{version}\",{MANAGED}");
    let mut object = BytesMut::with_capacity(body.len() + added.len());
    object.extend_from_slice(&body[..place]);
    object.extend_from_slice(added.as_bytes());
    object.extend_from_slice(&body[place..]);
    json(StatusCode::CREATED, Parts::new([object.freeze()]))
}

/// The same in protobuf, as far as a peer sends it: names, labels, owners and data.
fn message(body: &[u8], uid: &str, version: u64) -> Option<BytesMut> {
    let object: Value = serde_json::from_slice(body).ok()?;
    let sent = &object["metadata"];
    let mut message = BytesMut::new();
    nested(1, &mut message, |metadata| {
        let name = |field: &str| sent[field].as_str().unwrap_or_default();
        field(1, name("name").as_bytes(), metadata);
        field(3, name("namespace").as_bytes(), metadata);
        field(5, uid.as_bytes(), metadata);
        field(6, version.to_string().as_bytes(), metadata);
        map(11, &sent["labels"], metadata);
        for owner in sent["ownerReferences"].as_array().into_iter().flatten() {
            nested(13, metadata, |reference| {
                for (number, name) in [(1, "kind"), (3, "name"), (4, "uid"), (5, "apiVersion")] {
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
    map(2, &object["data"], &mut message);
    Some(message)
}

fn map(number: u32, sent: &Value, buffer: &mut BytesMut) {
    for (key, value) in sent.as_object().into_iter().flatten() {
        nested(number, buffer, |entry| {
            field(1, key.as_bytes(), entry);
            field(2, value.as_str().unwrap_or_default().as_bytes(), entry);
        });
    }
}

fn is_config_map(path: &str) -> bool {
    let parts: Vec<_> = path.split('/').collect();
    matches!(parts[..], ["", "api", "v1", "namespaces", _, "configmaps", name] if !name.is_empty())
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}
