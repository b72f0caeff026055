//! Checks that a watch gives the same events however the transport cuts it, and that these are the events of its lines.

use bytes::Bytes;
use futures_util::StreamExt;
use pilothouse::{
    client::{Api, Change, WatchEvent, WatchParams},
    k8s::api::core::v1::ConfigMap,
    resource::ApiResource,
};
use serde_json::Value;

use crate::{
    answers::{Answer, client, now},
    input,
};

type Found = Result<WatchEvent<ConfigMap>, String>;

pub(crate) fn run(data: &[u8]) {
    let (form, rest) = input::choice(data);
    let (cuts, body) = rest.split_at(rest.len().min(4));
    let media_type = match form & 1 {
        0 => "application/json",
        _ => "application/cbor-seq",
    };
    let whole = events(media_type, vec![Bytes::copy_from_slice(body)]);
    let cut = events(media_type, pieces(body, cuts));
    assert_eq!(whole, cut);
    if form & 1 == 0 {
        lines(&whole, body);
    }
}

fn events(media_type: &'static str, pieces: Vec<Bytes>) -> Vec<Found> {
    let answer = Answer {
        status: 200,
        media_type,
        pieces,
    };
    let api = Api::<ConfigMap>::of(&client(answer), ApiResource::of::<ConfigMap>(), None);
    let stream = now(api.watch(&WatchParams::default())).expect("a watch that is answered");
    let text = |event: Result<_, pilothouse::client::Error>| event.map_err(|e| e.to_string());
    now(stream.map(text).collect())
}

/// Cuts the body at positions from a generator that `cuts` seeds.
pub(super) fn pieces(body: &[u8], cuts: &[u8]) -> Vec<Bytes> {
    let seed = cuts
        .iter()
        .fold(1u64, |seed, byte| seed << 8 | u64::from(*byte));
    let (mut state, mut rest, mut pieces) = (seed, body, Vec::new());
    while !rest.is_empty() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        // Prefer short pieces, which are the difficult ones.
        let most = [1, 2, 7, 40, 300][(state >> 60) as usize % 5];
        let length = 1 + (state >> 33) as usize % most;
        let (piece, after) = rest.split_at(length.min(rest.len()));
        pieces.push(Bytes::copy_from_slice(piece));
        rest = after;
    }
    pieces
}

/// Checks that the events match the lines, up to the first error.
fn lines(events: &[Found], body: &[u8]) {
    let lines = body.split(|byte| *byte == b'\n');
    let mut lines = lines.filter(|line| !line.trim_ascii().is_empty());
    for event in events {
        let line = lines.next().expect("an event for a line");
        if input::depth(line) > input::DEEPEST {
            return;
        }
        let value = match serde_json::from_slice::<Value>(line) {
            Ok(value) if input::Unique::is(line) => value,
            Ok(_) => continue,
            Err(_) => match event {
                // Its ends are found. What is not JSON in the object spoils only the object.
                Ok(WatchEvent::Undecodable { .. }) => continue,
                Ok(_) => panic!("an event of what is not JSON: {event:?}"),
                Err(_) => return,
            },
        };
        let kind = value
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let mut object = value.get("object").cloned().unwrap_or_default();
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
        metadata.map(|metadata| metadata.remove("managedFields"));
        let fits = serde_json::from_str::<ConfigMap>(&object.to_string());
        match (event, kind) {
            (Ok(WatchEvent::Added(found)), "ADDED")
            | (Ok(WatchEvent::Modified(found)), "MODIFIED")
            | (Ok(WatchEvent::Deleted(found)), "DELETED") => {
                assert_eq!(found, &fits.expect("an object that fits"));
            }
            (Ok(WatchEvent::Undecodable { change, .. }), _) => {
                let named = match change {
                    Change::Added => "ADDED",
                    Change::Modified => "MODIFIED",
                    Change::Deleted => "DELETED",
                };
                assert_eq!(kind, named);
                assert!(
                    fits.is_err(),
                    "an object that fits is reported as undecodable: {object}"
                );
            }
            (
                Ok(WatchEvent::Bookmark {
                    resource_version, ..
                }),
                "BOOKMARK",
            ) => {
                let version = object.pointer("/metadata/resourceVersion");
                assert_eq!(version.and_then(Value::as_str), Some(&**resource_version));
            }
            (Err(_), "ADDED" | "MODIFIED" | "DELETED") => {
                assert!(
                    value.get("object").is_none(),
                    "a change that is an error: {value}"
                );
            }
            (Err(_), _) => {}
            (Ok(event), kind) => panic!("{event:?} of {kind:?}"),
        }
    }
    // An error ends the events. Without one, every line has its event.
    if !matches!(events.last(), Some(Err(_))) {
        assert_eq!(lines.next(), None);
    }
}
