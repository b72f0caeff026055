//! Which deadline expires, and when, with a paused clock.

use std::{convert::Infallible, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::Response;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::time::Instant;

use super::server::{Answer, Site, endless, in_memory};
use crate::client::{Api, Client, Config, Deadline, Deadlines, ErrorKind, WatchParams};

fn maps(site: &Site, deadlines: Deadlines) -> Api<ConfigMap> {
    let config = Config::new("http://sandbox".parse().unwrap()).with_deadlines(deadlines);
    let client = Client::builder(config).connector(in_memory(site));
    Api::namespaced(&client.build().unwrap(), "default")
}

/// An endless body with one piece each `pause`.
fn dripping(pause: Duration) -> Option<Answer> {
    let pieces = stream::unfold((), move |()| async move {
        tokio::time::sleep(pause).await;
        Some((
            Ok::<_, Infallible>(Frame::data(Bytes::from_static(b" "))),
            (),
        ))
    });
    Some(Response::new(
        StreamBody::new(pieces.boxed()).boxed_unsync(),
    ))
}

async fn outcome(site: Site, deadlines: Deadlines) -> (Deadline, u64, String) {
    let start = Instant::now();
    let error = maps(&site, deadlines).get("a").await.unwrap_err();
    let text = error.to_string();
    let &ErrorKind::Timeout { deadline, after } = error.kind() else {
        panic!("{text}");
    };
    assert_eq!(start.elapsed().as_secs(), after.as_secs(), "{text}");
    (deadline, after.as_secs(), text)
}

#[tokio::test(start_paused = true)]
async fn the_error_names_the_deadline_that_expired() {
    let table = [
        (
            Site::silent(),
            Deadlines::default(),
            (
                Deadline::Response,
                65,
                "get ConfigMap default/a: no response from the API server within 65 s",
            ),
        ),
        (
            Site::silent(),
            Deadlines::default().response(Duration::from_secs(7)),
            (
                Deadline::Response,
                7,
                "get ConfigMap default/a: no response from the API server within 7 s",
            ),
        ),
        (
            Site::new(|_| endless("{")),
            Deadlines::default(),
            (
                Deadline::Idle,
                30,
                "get ConfigMap default/a: the API server's response broke off: nothing more came for 30 s",
            ),
        ),
        (
            Site::new(|_| dripping(Duration::from_secs(29))),
            Deadlines::default(),
            (
                Deadline::Total,
                180,
                "get ConfigMap default/a: not done within 180 s, repetitions and pauses included",
            ),
        ),
        (
            Site::silent(),
            Deadlines::default().total(Duration::from_secs(5)),
            (
                Deadline::Total,
                5,
                "get ConfigMap default/a: not done within 5 s, repetitions and pauses included",
            ),
        ),
    ];
    for (site, deadlines, (deadline, after, text)) in table {
        assert_eq!(
            outcome(site, deadlines).await,
            (deadline, after, text.to_owned())
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_watch_with_an_endless_reason_ends_by_the_total_deadline() {
    let site = Site::new(|_| {
        let mut answer = endless("{").unwrap();
        *answer.status_mut() = http::StatusCode::FORBIDDEN;
        Some(answer)
    });
    let (maps, params) = (maps(&site, Deadlines::default()), WatchParams::default());
    let watch = tokio::time::timeout(Duration::from_secs(600), maps.watch(&params)).await;
    let error = watch.expect("it waits for ever").unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Timeout {
                deadline: Deadline::Total,
                ..
            }
        ),
        "{error}"
    );
}
