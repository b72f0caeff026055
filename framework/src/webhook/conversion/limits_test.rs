//! Reviews that come slowly, break off, are too large, too deep or too late, or that are none.

use std::time::Duration;

use futures_util::future::join_all;
use http::{Request, StatusCode};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    PATH,
    tests::{World, old, review},
};
use crate::{
    client::Body,
    logged::logged,
    webhook::limits_test::{piece, post},
};

/// The largest body, in bytes.
const LARGEST: usize = 256 * 1024 * 1024;

fn message(status: &Value) -> &str {
    status["message"].as_str().unwrap()
}

/// The request with the time that an API server gives a review.
fn patient(mut request: Request<Body>) -> Request<Body> {
    *request.uri_mut() = format!("{PATH}?timeout=30s").parse().unwrap();
    request
}

#[tokio::test(start_paused = true)]
async fn r14_bodies_that_never_come_give_their_memory_back() {
    let world = World::new();
    // The first takes all the memory that there is.
    let silent = [Some(LARGEST), Some(1000)].map(|length| post(Vec::new(), false, length));
    let silent = join_all(silent.map(|request| world.send(patient(request))));
    let began = Instant::now();
    let small = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let body = review(&[old("a", "1")]).to_string();
        let length = Some(body.len());
        let request = patient(post(vec![piece(body)], true, length));
        (world.send(request).await, began.elapsed())
    };
    let (silent, (small, taken)) = tokio::join!(silent, small);
    assert_eq!(small.0, StatusCode::OK, "{}", small.1);
    assert!(taken < Duration::from_secs(21), "{taken:?}");
    for (code, status) in silent {
        assert_eq!(code, 400, "{status}");
        assert_eq!(message(&status), "the body of the review is too slow");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_breaks_off_or_is_too_large_gets_an_error() {
    let world = World::new();
    let broken = vec![piece("{"), Err("reset by peer: hunter2".into())];
    let (code, status) = world.send(post(broken, true, Some(1000))).await;
    assert_eq!(code, 400);
    assert_eq!(message(&status), "the body of the review breaks off");
    let announced = post(Vec::new(), false, Some(LARGEST + 1));
    let (code, status) = world.send(announced).await;
    assert_eq!(code, 413);
    assert_eq!(
        message(&status),
        "the body of a conversion has at most 256 MiB"
    );
}

#[tokio::test]
async fn a_conversion_that_takes_too_long_is_a_timeout() {
    let world = World::new();
    let objects: Vec<_> = (0..1000).map(|_| old("slow", "1")).collect();
    let request =
        Request::post(format!("{PATH}?timeout=1s")).header("content-type", "application/json");
    let body = review(&objects).to_string().into_bytes();
    let (code, status) = world.send(request.body(body.into()).unwrap()).await;
    assert_eq!(code, 504, "{status}");
    assert!(message(&status).contains("did not end in time"), "{status}");
    let timeouts = world
        .metrics
        .value("pilothouse_webhook_timeouts_total", &[("webhook", PATH)]);
    assert_eq!(timeouts, Some(1.0));
}

#[tokio::test]
async fn what_is_not_posted_as_json_is_refused() {
    let world = World::new();
    let body = || review(&[]).to_string().into_bytes().into();
    let get = Request::get(PATH).body(body()).unwrap();
    assert_eq!(world.send(get).await.0, 405);
    let text = Request::post(PATH).header("content-type", "text/plain");
    assert_eq!(world.send(text.body(body()).unwrap()).await.0, 415);
}

#[tokio::test]
async fn r15_a_review_that_fails_tells_no_value() {
    let (log, _guard) = logged(tracing::Level::TRACE);
    let world = World::new();
    let text_of = |spec: &str| {
        let review = review(&[old("a", "SPEC")]).to_string();
        review.replace("{\"text\":\"SPEC\"}", spec)
    };
    let deep = format!(
        "{{\"text\":{}\"hunter2\"{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let mut unknown = review(&[old("a", "hunter2")]);
    unknown["request"]["desiredAPIVersion"] = json!("demo.example.com/v7");
    for (body, part) in [
        (text_of("{\"text\":[\"hunter2\"]}"), "spec.text"),
        (text_of(&deep), "127"),
        (text_of("{\"text\":\"hunter2\""), ""),
        (unknown.to_string(), "demo.example.com/v7"),
    ] {
        let (code, answer) = world.post(body).await;
        let status = match code {
            StatusCode::OK => &answer["response"]["result"],
            _ => &answer,
        };
        assert_eq!(status["status"], "Failure", "{answer}");
        assert!(message(status).contains(part), "{answer}");
        assert!(!answer.to_string().contains("hunter2"), "{answer}");
    }
    assert!(!log.text().contains("hunter2"));
}
