//! Reads answers in tests.

use std::{convert::Infallible, time::Duration};

use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt;
use serde_json::Value;

use super::answer::Answer;

/// The longest wait for an event.
const LIMIT: Duration = Duration::from_secs(10);

/// Returns the whole body of an answer that ends.
pub(super) async fn whole(answer: Answer) -> Bytes {
    let collected = answer.into_body().collect().await;
    collected.unwrap_or_else(|never| match never {}).to_bytes()
}

/// Returns the next piece of an answer that does not end.
pub(super) async fn piece(
    body: &mut (impl Body<Data = Bytes, Error = Infallible> + Unpin),
) -> Bytes {
    tokio::time::timeout(LIMIT, body.frame())
        .await
        .expect("an event")
        .expect("no end")
        .unwrap_or_else(|never| match never {})
        .into_data()
        .expect("data")
}

/// Returns the next `count` events of a watch.
pub(super) async fn lines(
    body: &mut (impl Body<Data = Bytes, Error = Infallible> + Unpin),
    count: usize,
) -> Vec<Value> {
    let mut lines = Vec::new();
    while lines.len() < count {
        let frame = piece(body).await;
        assert_eq!(frame.last(), Some(&b'\n'));
        lines.extend(
            frame
                .split(|byte| *byte == b'\n')
                .filter(|line| !line.is_empty())
                .map(|line| serde_json::from_slice::<Value>(line).expect("JSON")),
        );
    }
    assert_eq!(lines.len(), count);
    lines
}

/// Returns the fields of a message, with numbers as bytes.
pub(super) fn fields(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let number = |bytes: &mut &[u8]| {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (first, rest) = bytes.split_first().expect("a byte");
            *bytes = rest;
            value |= usize::from(first & 0x7f) << shift;
            shift += 7;
            if *first < 0x80 {
                return value;
            }
        }
    };
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = number(&mut bytes);
        let length = number(&mut bytes);
        if tag & 7 == 0 {
            found.push(((tag >> 3) as u8, length.to_string().into_bytes()));
            continue;
        }
        assert_eq!(tag & 7, 2);
        found.push(((tag >> 3) as u8, bytes[..length].to_vec()));
        bytes = &bytes[length..];
    }
    found
}

/// Returns the first field with a number.
pub(super) fn one(fields: &[(u8, Vec<u8>)], number: u8) -> &[u8] {
    let (_, bytes) = fields
        .iter()
        .find(|field| field.0 == number)
        .expect("the field");
    bytes
}

/// Returns the content of an envelope of this kind.
pub(super) fn opened(kind: &str, bytes: &[u8]) -> Vec<u8> {
    let unknown = fields(bytes.strip_prefix(b"k8s\0").expect("the magic"));
    let of_kind = fields(one(&unknown, 1));
    assert_eq!(
        (one(&of_kind, 1), one(&of_kind, 2)),
        (&b"v1"[..], kind.as_bytes())
    );
    one(&unknown, 2).to_vec()
}

/// Returns the next events of a watch in protobuf: their types, and the messages of their objects.
pub(super) async fn protobuf_events(
    body: &mut (impl Body<Data = Bytes, Error = Infallible> + Unpin),
    kind: &str,
    count: usize,
) -> Vec<(String, Vec<u8>)> {
    let (mut events, mut bytes) = (Vec::new(), BytesMut::new());
    while events.len() < count {
        bytes.extend_from_slice(&piece(body).await);
        while !bytes.is_empty() {
            let length = u32::from_be_bytes(bytes.split_to(4)[..].try_into().expect("four bytes"));
            let event = fields(&bytes.split_to(length as usize));
            let what = String::from_utf8(one(&event, 1).to_vec()).expect("text");
            events.push((what, opened(kind, one(&fields(one(&event, 2)), 1))));
        }
    }
    assert_eq!(events.len(), count);
    events
}
