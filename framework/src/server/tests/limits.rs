use std::{
    future::{pending, poll_fn},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use http::Request;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream},
    task::JoinHandle,
};

use super::{bytes, connected, connected_with};
use crate::server::{Limits, Routes};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// An HTTP/2 SETTINGS frame without settings.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

fn small() -> Routes {
    Routes::new().get("/", |_| bytes(2))
}

fn about(seconds: u64) -> std::ops::Range<Duration> {
    Duration::from_secs(seconds)..Duration::from_secs(seconds + 2)
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_complete_head_is_closed_after_ten_seconds() {
    let beginnings: [&[u8]; 5] = [
        b"",
        // These bytes may become the preface of HTTP/2.
        b"P",
        b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ",
        PREFACE,
        &[PREFACE, SETTINGS].concat(),
    ];
    for beginning in beginnings {
        let (mut client, served) = connected(small(), None, 1024);
        client.write_all(beginning).await.unwrap();
        let took = served.await.unwrap();
        let said = String::from_utf8_lossy(beginning);
        assert!(about(10).contains(&took), "{said:?}: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_next_head_has_the_same_time_limit() {
    let (mut client, served) = connected(small(), None, 1024);
    client
        .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HT")
        .await
        .unwrap();
    let took = served.await.unwrap();
    assert!(about(10).contains(&took), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_of_an_api_server_stays_open_longer_than_the_api_server_keeps_it() {
    let limits = Limits::WEBHOOKS;
    let (mut client, served) = connected_with(limits, small(), None, 1024);
    let mut some = [0; 1024];
    // An API server closes its idle connections after 90 s.
    for _ in 0..3 {
        let head = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        client.write_all(head).await.unwrap();
        assert!(client.read(&mut some).await.unwrap() > 0);
        tokio::time::sleep(Duration::from_secs(120)).await;
    }
    let took = served.await.unwrap();
    assert!(about(2 * 120 + 300).contains(&took), "{took:?}");
    // It may also keep a connection that it has not used yet.
    let (mut client, served) = connected_with(limits, small(), None, 1024);
    tokio::time::sleep(Duration::from_secs(120)).await;
    let head = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    client.write_all(head).await.unwrap();
    assert!(client.read(&mut some).await.unwrap() > 0);
    drop(client);
    served.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_huge_head_is_refused() {
    let (mut client, served) = connected(small(), None, 1024 * 1024);
    let long = "x".repeat(80 * 1024);
    let head = format!("GET / HTTP/1.1\r\nHost: x\r\nX-Long: {long}\r\n\r\n");
    client.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    served.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_the_response_is_disconnected() {
    let large = Routes::new().get("/", |_| bytes(1024 * 1024));
    // The second response fits into the connection's buffer, so for its handler it has ended.
    for (routes, head) in [
        (large, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
        (
            Routes::new().get("/", |_| bytes(8 * 1024)),
            "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        ),
    ] {
        let (mut client, served) = connected(routes, None, 512);
        client.write_all(head.as_bytes()).await.unwrap();
        let took = served.await.unwrap();
        assert!(about(10).contains(&took), "{took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_reads_the_response_too_slowly_is_disconnected() {
    let routes = Routes::new().get("/", |_| bytes(1024 * 1024));
    let (mut client, served) = connected(routes, None, 512);
    client
        .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    let reads = tokio::spawn(async move {
        let mut some = [0; 256];
        while client.read(&mut some).await.is_ok_and(|read| read > 0) {
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
    });
    let took = served.await.unwrap();
    assert!(about(30).contains(&took), "{took:?}");
    reads.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_does_not_respond_is_dropped() {
    let routes = Routes::new().get_async("/", |_| pending());
    let (mut client, served) = connected(routes, None, 1024);
    client
        .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    let took = served.await.unwrap();
    assert!(about(30).contains(&took), "{took:?}");
}

/// An HTTP/2 client with a running connection.
async fn http2(
    stream: DuplexStream,
    window: u32,
) -> (SendRequest<Bytes>, JoinHandle<Result<(), h2::Error>>) {
    let mut builder = Builder::new();
    builder.initial_window_size(window);
    // Streams that were reset are forgotten at once, so that the limits of a good client do not interfere.
    builder.max_concurrent_reset_streams(0);
    let (requests, connection) = builder.handshake(stream).await.unwrap();
    (requests, tokio::spawn(connection))
}

fn request() -> Request<()> {
    Request::get("http://x/").body(()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_http2_does_not_take_ends_the_connection() {
    let routes = Routes::new().get("/", |_| bytes(256 * 1024));
    let (client, served) = connected(routes, None, 4096);
    let (requests, connection) = http2(client, 0).await;
    let mut requests = requests.ready().await.unwrap();
    let (answer, _) = requests.send_request(request(), true).unwrap();
    let answer = answer.await.unwrap();
    let took = served.await.unwrap();
    assert!(about(30).contains(&took), "{took:?}");
    drop(answer);
    let _ = connection.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn http2_on_which_nothing_is_asked_is_closed() {
    let (client, served) = connected(small(), None, 4096);
    let (requests, connection) = http2(client, 65_535).await;
    let mut requests = requests.ready().await.unwrap();
    let (answer, _) = requests.send_request(request(), true).unwrap();
    answer.await.unwrap();
    let took = served.await.unwrap();
    assert!(about(90).contains(&took), "{took:?}");
    let _ = connection.await.unwrap();
    drop(requests);
}

#[tokio::test(start_paused = true)]
async fn one_connection_runs_a_limited_number_of_requests_at_once() {
    let open = Arc::new(AtomicUsize::new(0));
    let begun = open.clone();
    let routes = Routes::new().get_async("/", move |_| {
        begun.fetch_add(1, Ordering::Relaxed);
        pending()
    });
    let (client, served) = connected(routes, None, 64 * 1024);
    let mut builder = Builder::new();
    // More than the server allows, as long as it has not announced its limit.
    builder.initial_max_send_streams(1000);
    let (mut requests, connection) = builder.handshake::<_, Bytes>(client).await.unwrap();
    let mut answers = Vec::new();
    for _ in 0..500 {
        answers.push(requests.send_request(request(), true).unwrap());
    }
    let connection = tokio::spawn(connection);
    served.await.unwrap();
    let open = open.load(Ordering::Relaxed);
    assert!((1..=32).contains(&open), "{open}");
    let _ = connection.await.unwrap();
}

/// Sends and cancels requests again and again. Returns the number of requests that the server started.
async fn flood(in_batches: bool) -> usize {
    let begun = Arc::new(AtomicUsize::new(0));
    let counted = begun.clone();
    let routes = Routes::new().get_async("/", move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        pending()
    });
    let (client, served) = connected(routes, None, 64 * 1024);
    let (requests, connection) = http2(client, 65_535).await;
    let mut requests = requests.ready().await.unwrap();
    for _ in 0..10_000 {
        let Ok((answer, mut stream)) = requests.send_request(request(), false) else {
            break;
        };
        stream.send_reset(h2::Reason::CANCEL);
        drop(answer);
        if !in_batches {
            tokio::task::yield_now().await;
        }
        if poll_fn(|cx| requests.poll_ready(cx)).await.is_err() {
            break;
        }
    }
    // The server may or may not send a GOAWAY frame.
    let _ = connection.await.unwrap();
    let took = served.await.unwrap();
    assert!(took < Duration::from_secs(10), "{took:?}");
    begun.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_cancelled_requests_closes_the_connection() {
    for in_batches in [false, true] {
        let begun = flood(in_batches).await;
        assert!(begun < 500, "in batches: {in_batches}: {begun}");
    }
}

#[tokio::test(start_paused = true)]
async fn many_complete_requests_do_not_close_the_connection() {
    let (client, served) = connected(small(), None, 64 * 1024);
    let (requests, connection) = http2(client, 65_535).await;
    let mut requests = requests.ready().await.unwrap();
    for number in 0..500 {
        let method = if number % 2 == 0 { "GET" } else { "HEAD" };
        let request = Request::builder().method(method).uri("http://x/");
        let (answer, _) = requests
            .send_request(request.body(()).unwrap(), true)
            .unwrap();
        let mut body = answer.await.unwrap().into_body();
        while let Some(data) = body.data().await {
            data.unwrap();
        }
        requests = requests.ready().await.unwrap();
    }
    drop(requests);
    connection.await.unwrap().unwrap();
    served.await.unwrap();
}
