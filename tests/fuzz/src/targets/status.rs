//! Checks that the error of a refused request keeps the server's reason, whatever else is wrong with the answer.

use bytes::Bytes;
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
    let request = client(answer).request("get").path("/");
    let error = now(request.send()).expect_err("a refusal");
    let Some(found) = error.status() else {
        panic!("another error: {error}");
    };
    assert_ne!(found.code, 0);
    assert!(found.message.len() <= 1024 * 1024);
    // The whole error can be displayed.
    assert!(!error.to_string().is_empty());
    if media_type != "application/json" || input::depth(body) > input::DEEPEST {
        return;
    }
    let Ok(told) = serde_json::from_slice::<Value>(body) else {
        assert_eq!(found.code, status);
        return;
    };
    // Which of two equal keys counts is up to the reader.
    if !input::Unique::is(body) {
        return;
    }
    let text = |key: &str| {
        told.get(key)
            .and_then(Value::as_str)
            .filter(|it| !it.is_empty())
    };
    let code = told.get("code").and_then(Value::as_u64);
    // A field of a wrong type makes the whole Status unreadable for the reference.
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
    if text("reason").or(text("message")).is_none() && code.is_none_or(|code| code == 0) {
        return;
    }
    // The error keeps the details as well.
    let seconds = told
        .pointer("/details/retryAfterSeconds")
        .and_then(Value::as_u64);
    if let Some(seconds) = seconds.and_then(|seconds| u32::try_from(seconds).ok()) {
        let details = found.details.as_ref().expect("details that are there");
        assert_eq!(details.retry_after_seconds, seconds);
    }
}
