//! What tests get of an answer.

use std::{convert::Infallible, time::Duration};

use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt;

use super::answer::Answer;

/// No event is waited for longer.
const LIMIT: Duration = Duration::from_secs(10);

/// The body of an answer that ends.
pub(super) async fn whole(answer: Answer) -> Bytes {
    let collected = answer.into_body().collect().await;
    collected.unwrap_or_else(|never| match never {}).to_bytes()
}

/// The next piece of an answer that does not end.
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
