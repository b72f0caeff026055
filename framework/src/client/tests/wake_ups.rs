//! Which wake-ups reach the task that waits on an HTTP/1.1 connection. Nothing else happens between two polls, because
//! the runtime has one thread.

use std::{
    convert::Infallible,
    pin::pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use http::Response;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use tokio::{sync::mpsc, time::sleep};

use super::server::{Answer, OBJECT, Server, Site, json};
use crate::client::{Api, Client, WatchParams, wake::woken::Woken};

async fn start(mut site: Site) -> (Server, Api<ConfigMap>) {
    site.http2 = false;
    let server = Server::start(&site).await;
    let client = Client::new(server.config()).unwrap();
    (server, Api::namespaced(&client, "default"))
}

/// Polls at each wake-up until there is a result. Returns it, and how often the last poll woke its own task.
async fn ready<T>(woken: &Woken, mut poll: impl FnMut() -> Poll<T>) -> (T, usize) {
    loop {
        while woken.take() == 0 {
            sleep(Duration::from_millis(1)).await;
        }
        if let Poll::Ready(given) = poll() {
            return (given, woken.take());
        }
    }
}

#[tokio::test]
async fn taking_an_event_wakes_no_task() {
    let (say, said) = mpsc::channel(1);
    let said = Mutex::new(Some(said));
    let site = Site::new(move |_| -> Option<Answer> {
        let mut said: mpsc::Receiver<String> = said.lock().take()?;
        let pieces = stream::poll_fn(move |cx| said.poll_recv(cx));
        let pieces = pieces.map(|piece| Ok::<_, Infallible>(Frame::data(Bytes::from(piece))));
        Some(Response::new(StreamBody::new(pieces).boxed_unsync()))
    });
    let (_server, maps) = start(site).await;
    let mut events = maps.watch(&WatchParams::default()).await.unwrap();
    let woken = Arc::<Woken>::default();
    let waker = woken.waker();
    let mut next = || events.poll_next_unpin(&mut Context::from_waker(&waker));
    assert!(next().is_pending());
    for round in 0..3 {
        let event = format!("{{\"type\":\"ADDED\",\"object\":{OBJECT}}}\n");
        say.send(event).await.unwrap();
        let (event, wakes) = ready(&woken, &mut next).await;
        assert!(event.unwrap().is_ok());
        assert_eq!(wakes, 0, "round {round}");
        assert!(next().is_pending());
        assert_eq!(woken.take(), 0, "round {round}, nothing is left");
    }
}

#[tokio::test]
async fn sending_a_request_and_reading_its_answer_wakes_no_other_task() {
    let (_server, maps) = start(Site::new(|_| json(200, OBJECT))).await;
    // Opens the connection.
    maps.get("a").await.unwrap();
    let woken = Arc::<Woken>::default();
    let waker = woken.waker();
    for round in 0..3 {
        let mut answer = pin!(maps.get("a"));
        let mut poll = || answer.poll_unpin(&mut Context::from_waker(&waker));
        assert!(poll().is_pending());
        assert_eq!(woken.take(), 0, "round {round}, it was sent");
        let (answer, wakes) = ready(&woken, poll).await;
        assert!(answer.is_ok());
        assert_eq!(wakes, 0, "round {round}");
    }
}
