//! Server-side apply of ConfigMaps: each is taken as it comes, and nobody is told of it.

use bytes::{Bytes, BytesMut};
use hyper::StatusCode;

use super::{
    Served,
    answer::{Answer, Parts, failure, json},
};

/// What the server adds is put here.
const METADATA: &[u8] = b"\"metadata\":{";

const MANAGED: &str = "\"managedFields\":[{\"manager\":\"bench\",\"operation\":\"Apply\",\"apiVersion\":\"v1\",\
    \"time\":\"2026-01-01T00:00:00Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:data\":{\"f:text\":{}}}}],";

/// Answers with what was sent and what a server adds: a UID, a resource version, managed fields.
pub(super) fn answer(served: &Served, path: &str, query: &str, body: &Bytes) -> Answer {
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
    let added = format!(
        "\"uid\":\"00000000-0000-4000-a000-{number:012}\",\"resourceVersion\":\"{version}\",{MANAGED}"
    );
    let mut object = BytesMut::with_capacity(body.len() + added.len());
    object.extend_from_slice(&body[..place]);
    object.extend_from_slice(added.as_bytes());
    object.extend_from_slice(&body[place..]);
    json(StatusCode::CREATED, Parts::new([object.freeze()]))
}

fn is_config_map(path: &str) -> bool {
    let parts: Vec<_> = path.split('/').collect();
    matches!(parts[..], ["", "api", "v1", "namespaces", _, "configmaps", name] if !name.is_empty())
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}
