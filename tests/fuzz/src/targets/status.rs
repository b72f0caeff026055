//! A refused request keeps what the server says of it, whatever else is wrong with the answer.

use bytes::Bytes;
use pilothouse::client::{Body, Error};
use serde_json::Value;

use crate::{
    answers::{Answer, client, now},
    input,
};

pub(crate) fn run(data: &[u8]) {
    let (form, body) = input::choice(data);
    let status = [400, 401, 403, 404, 409, 410, 422, 429, 500, 503, 504][usize::from(form) % 11];
    let media_type = [
        "application/json",
        "text/plain",
        "text/html",
        "application/cbor",
    ][usize::from(form) / 11 % 4];
    let answer = Answer {
        status,
        media_type,
        pieces: vec![Bytes::copy_from_slice(body)],
    };
    let request = http::Request::get("/")
        .body(Body::empty())
        .expect("a request");
    let error = now(client(answer).request::<Value>(request)).expect_err("a refusal");
    let Error::Api { status: found, .. } = &error else {
        panic!("another error: {error}");
    };
    assert_ne!(found.code, 0);
    assert!(found.message.len() <= 1024 * 1024);
    // All of it can be shown.
    assert!(!error.to_string().is_empty());
    if media_type != "application/json" || input::depth(body) > input::DEEPEST {
        return;
    }
    let told = serde_json::from_slice::<Value>(body);
    let Some(told) = told.ok().filter(|_| input::Unique::is(body)) else {
        assert_eq!(found.code, status);
        return;
    };
    let text = |key: &str| {
        told.get(key)
            .and_then(Value::as_str)
            .filter(|it| !it.is_empty())
    };
    let code = told.get("code").and_then(Value::as_u64);
    // A field of another type than it should be spoils the whole.
    if !told.is_object() || serde_json::from_slice::<pilothouse::resource::Status>(body).is_err() {
        return;
    }
    if let Some(reason) = text("reason") {
        assert_eq!(found.reason, reason);
    }
    if let Some(message) = text("message") {
        assert_eq!(found.message, message);
    }
    if let Some(code) = code
        .and_then(|code| u16::try_from(code).ok())
        .filter(|code| *code > 0)
    {
        assert_eq!(found.code, code);
    }
    // What is there in details is kept, too.
    let seconds = told
        .pointer("/details/retryAfterSeconds")
        .and_then(Value::as_u64);
    if let Some(seconds) = seconds.and_then(|seconds| u32::try_from(seconds).ok()) {
        let details = found.details.as_ref().expect("details that are there");
        assert_eq!(details.retry_after_seconds, seconds);
    }
}
