//! Bodies that come slowly, break off, or are too large or too deep.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{future::join_all, stream};
use http::Request;
use http_body::Frame;
use http_body_util::StreamBody;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    Admission, Change, Denied, Mutate, Validate, Warnings, Webhook,
    service::MAX_BODY,
    tests::{World, page, request, review},
};
use crate::{
    client::{Body, BoxError},
    logged::logged,
    resource::{ApiResource, DynamicObject},
};

struct AnyMap;

impl Validate for AnyMap {
    type Resource = k8s_openapi::api::core::v1::ConfigMap;

    async fn validate(
        &self,
        _: &Change<Self::Resource>,
        _: &Admission,
    ) -> Result<Warnings, Denied> {
        Ok(Warnings::none())
    }
}

/// A request whose body has these pieces and then, perhaps, never ends.
pub(super) fn post(
    pieces: Vec<Result<Frame<Bytes>, BoxError>>,
    ends: bool,
    length: Option<usize>,
) -> Request<Body> {
    let request = Request::post("/?timeout=10s").header("content-type", "application/json");
    let request = match length {
        Some(length) => request.header("content-length", length),
        None => request,
    };
    let pieces = stream::iter(pieces);
    let body = match ends {
        true => Body::new(StreamBody::new(pieces)),
        false => Body::new(StreamBody::new(stream::StreamExt::chain(
            pieces,
            stream::pending(),
        ))),
    };
    request.body(body).unwrap()
}

pub(super) fn piece(bytes: impl Into<Bytes>) -> Result<Frame<Bytes>, BoxError> {
    Ok(Frame::data(bytes.into()))
}

#[tokio::test(start_paused = true)]
async fn requests_whose_bodies_never_come_hold_up_no_other_request() {
    let world = World::validating(AnyMap);
    let silent = join_all((0..30).map(|_| world.send(post(Vec::new(), false, Some(MAX_BODY)))));
    let began = Instant::now();
    let small = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let body = review(&request("CREATE", json!(null), page(json!({}))));
        let length = Some(body.len());
        let (code, _) = world.send(post(vec![piece(body)], true, length)).await;
        (code, began.elapsed())
    };
    // The silent ones are in front of it: nine at once, for 2 s.
    let large = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let data = page(json!({"x": "y".repeat(100 * 1024)}));
        let body = review(&request("CREATE", json!(null), data));
        let length = Some(body.len());
        let (code, _) = world.send(post(vec![piece(body)], true, length)).await;
        (code, began.elapsed())
    };
    let (silent, small, large) = tokio::join!(silent, small, large);
    assert_eq!(small, (200, Duration::from_millis(1)));
    assert_eq!(large.0, 200);
    assert!(large.1 < Duration::from_secs(9), "{:?}", large.1);
    for (code, status) in silent {
        assert_eq!(code, 400, "{status}");
        assert_eq!(status["message"], "the body of the review is too slow");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_breaks_off_or_never_ends_gets_an_error() {
    let world = World::validating(AnyMap);
    let broken = vec![piece("{"), Err("reset by peer: hunter2".into())];
    let (code, status) = world.send(post(broken, true, Some(1000))).await;
    assert_eq!(code, 400);
    assert_eq!(status["message"], "the body of the review breaks off");
    // Without an announced length.
    let endless = (0..9).map(|_| piece(vec![b' '; 1024 * 1024]));
    let (code, status) = world.send(post(endless.collect(), false, None)).await;
    assert_eq!(code, 413, "{status}");
    assert_eq!(status["message"], "the body of a review has at most 7 MiB");
}

struct Marked;

impl Mutate for Marked {
    type Resource = DynamicObject;

    async fn mutate(&self, object: &mut DynamicObject, _: &Admission) -> Result<Warnings, Denied> {
        object.data.insert("marked".into(), json!(true));
        Ok(Warnings::none())
    }
}

#[tokio::test]
async fn a_review_that_is_too_deep_gets_an_error_without_its_values() {
    let (log, _guard) = logged(tracing::Level::TRACE);
    let resource = ApiResource::of::<k8s_openapi::api::core::v1::ConfigMap>();
    let world = World::of(Webhook::mutating(resource, Marked));
    let nested = |levels: usize| (0..levels).fold(json!("hunter2"), |inner, _| json!([inner]));
    let review_of = |levels| {
        review(&request(
            "CREATE",
            json!(null),
            page(json!({"x": nested(levels)})),
        ))
    };
    let (code, answer) = world.post(review_of(100)).await;
    assert_eq!((code, &answer["response"]["allowed"]), (200, &json!(true)));
    for levels in [200, 100_000] {
        // serde_json cannot write so many levels itself.
        let object = |inner: &str| {
            let text = review_of(0);
            text.replace("\"hunter2\"", inner)
        };
        let inner = format!("{}\"hunter2\"{}", "[".repeat(levels), "]".repeat(levels));
        let (code, answer) = world.post(object(&inner)).await;
        let message = match code {
            200 => &answer["response"]["status"]["message"],
            _ => &answer["message"],
        };
        let message: &Value = message;
        assert!(
            message.as_str().unwrap().contains("127"),
            "{levels}: {code} {answer}"
        );
        assert!(!answer.to_string().contains("hunter2"));
    }
    assert!(!log.text().contains("hunter2"));
}
