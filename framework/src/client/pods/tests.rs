//! Tests of processes and ports against a scripted server, with a paused clock.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{SinkExt, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream},
    sync::mpsc,
    time::{Instant, timeout},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, protocol::Role},
};

use super::{ExecParams, websocket::accept};
use crate::client::{Api, Client, Config, Error, ErrorKind};

const PIPE: usize = 64 * 1024;

/// Pods of a server. Each connection arrives as a pipe.
fn server() -> (Api<Pod>, mpsc::UnboundedReceiver<DuplexStream>) {
    server_of(|config| config)
}

fn server_of(
    configured: impl Fn(Config) -> Config,
) -> (Api<Pod>, mpsc::UnboundedReceiver<DuplexStream>) {
    let (connected, connections) = mpsc::unbounded_channel();
    let connector = move || -> io::Result<DuplexStream> {
        let (near, far) = tokio::io::duplex(PIPE);
        connected.send(far).map_err(io::Error::other)?;
        Ok(near)
    };
    let config = Config::new("http://sandbox".parse().unwrap());
    let client = Client::builder(configured(config)).connector(Arc::new(connector));
    let pods = Api::namespaced(&client.build().unwrap(), "default");
    (pods, connections)
}

/// The head of a request.
async fn head(io: &mut DuplexStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(io.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

fn header<'a>(head: &'a str, name: &str) -> &'a str {
    let value = head.lines().find_map(|line| {
        let (known, value) = line.split_once(": ")?;
        known.eq_ignore_ascii_case(name).then_some(value)
    });
    value.unwrap_or_default()
}

/// Accepts a WebSocket.
async fn agree(mut io: DuplexStream, protocol: &str) -> DuplexStream {
    let head = head(&mut io).await;
    let proof = accept(header(&head, "sec-websocket-key"));
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {proof}\r\nSec-WebSocket-Protocol: {protocol}\r\n\r\n"
    );
    io.write_all(answer.as_bytes()).await.unwrap();
    io
}

async fn socket(io: DuplexStream, protocol: &str) -> WebSocketStream<DuplexStream> {
    WebSocketStream::from_raw_socket(agree(io, protocol).await, Role::Server, None).await
}

const V5: &str = "v5.channel.k8s.io";
const V4: &str = "v4.channel.k8s.io";

fn cat() -> ExecParams {
    ExecParams::new(["cat"]).stdin()
}

#[tokio::test(start_paused = true)]
async fn a_dead_connection_is_noticed_within_a_minute() {
    let (pods, mut connections) = server();
    let dead = async {
        let _open = agree(connections.recv().await.unwrap(), V5).await;
        std::future::pending().await
    };
    let wait = async {
        let mut process = pods.exec("web-0", &cat()).await.unwrap();
        let start = Instant::now();
        let mut stdout = process.stdout.take().unwrap();
        let read = stdout.read_u8().await.unwrap_err();
        assert_eq!(read.kind(), io::ErrorKind::TimedOut);
        let error = process.wait().await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "exec Pod default/web-0: the connection to the API server broke: nothing was heard of the other side for 55 s"
        );
        assert!(start.elapsed() <= Duration::from_secs(60));
    };
    tokio::select! {
        () = dead => {}
        () = wait => {}
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_process_stays_for_hours() {
    let (pods, mut connections) = server();
    let alive = async {
        let mut socket = socket(connections.recv().await.unwrap(), V5).await;
        // Reading answers pings.
        while let Some(Ok(_)) = socket.next().await {}
    };
    let wait = async {
        let process = pods.exec("web-0", &cat()).await.unwrap();
        timeout(Duration::from_secs(7200), process.wait()).await
    };
    tokio::select! {
        () = alive => panic!("the connection ended"),
        waited = wait => assert!(waited.is_err(), "{waited:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn the_connection_closes_when_its_last_stream_is_dropped() {
    let (pods, mut connections) = server();
    let exec = cat();
    let (process, io) = tokio::join!(pods.exec("web-0", &exec), async {
        agree(connections.recv().await.unwrap(), V5).await
    });
    let (mut process, mut io) = (process.unwrap(), io);
    let stdout = process.stdout.take();
    drop(process);
    let mut rest = Vec::new();
    let open = timeout(Duration::from_secs(10), io.read_to_end(&mut rest)).await;
    assert!(open.is_err(), "its output is still there");
    drop(stdout);
    let closed = timeout(Duration::from_secs(1), io.read_to_end(&mut rest)).await;
    closed.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn unread_output_makes_the_server_wait() {
    let (pods, mut connections) = server();
    let sent = AtomicUsize::new(0);
    let flood = async {
        let mut socket = socket(connections.recv().await.unwrap(), V5).await;
        let mut message = vec![1];
        message.resize(32 * 1024, b'x');
        loop {
            let message = Message::Binary(message.clone().into());
            socket.send(message).await.unwrap();
            sent.fetch_add(1, Ordering::SeqCst);
        }
    };
    let idle = async {
        let process = pods.exec("web-0", &cat()).await.unwrap();
        // Far longer than the allowed silence. A side that makes us wait is not dead.
        tokio::time::sleep(Duration::from_secs(600)).await;
        process
    };
    let mut process = tokio::select! {
        () = flood => unreachable!(),
        process = idle => process,
    };
    let sent = sent.load(Ordering::SeqCst);
    assert!((1..20).contains(&sent), "{sent} messages of 32 KiB");
    let mut stdout = process.stdout.take().unwrap();
    assert_eq!(stdout.read_u8().await.unwrap(), b'x');
}

#[tokio::test(start_paused = true)]
async fn a_write_waits_for_the_server_and_a_flush_for_all_writes() {
    let (pods, mut connections) = server();
    let exec = cat();
    let (process, io) = tokio::join!(pods.exec("web-0", &exec), async {
        agree(connections.recv().await.unwrap(), V5).await
    });
    let mut stdin = process.unwrap().stdin.take().unwrap();
    let much = vec![b'x'; 1024 * 1024];
    let written = timeout(Duration::from_secs(10), stdin.write_all(&much)).await;
    assert!(written.is_err(), "nobody reads");
    let flushed = timeout(Duration::from_secs(10), stdin.flush()).await;
    assert!(flushed.is_err(), "nobody reads");
    drop(io);
    assert!(stdin.flush().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn with_an_older_server_the_input_cannot_be_closed() {
    let (pods, mut connections) = server();
    let exec = cat();
    let (process, socket) = tokio::join!(pods.exec("web-0", &exec), async {
        socket(connections.recv().await.unwrap(), V4).await
    });
    let (mut process, mut socket) = (process.unwrap(), socket);
    let mut stdin = process.stdin.take().unwrap();
    stdin.write_all(b"hi").await.unwrap();
    let heard = async {
        let Some(Ok(Message::Binary(message))) = socket.next().await else {
            panic!("no message")
        };
        assert_eq!(&message[..], b"\0hi");
    };
    let (ended, ()) = tokio::join!(stdin.shutdown(), heard);
    assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::Unsupported);
    drop(stdin);
    let said = r#"{"status":"Success"}"#;
    let end = async {
        let message = format!("\u{3}{said}").into_bytes();
        socket.send(Message::Binary(message.into())).await.unwrap();
        // The connection ends without a close frame, as with some servers.
        drop(socket);
    };
    let (exit, ()) = tokio::join!(process.wait(), end);
    assert_eq!(exit.unwrap().code(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_status_of_a_process_does_not_show_a_token_that_it_repeats() {
    let (pods, mut connections) = server_of(|config| config.with_token("t0ken-of-the-client"));
    let exec = cat();
    let (process, socket) = tokio::join!(pods.exec("web-0", &exec), async {
        socket(connections.recv().await.unwrap(), V4).await
    });
    let mut socket = socket;
    let said =
        "\u{3}{\"status\":\"Failure\",\"code\":500,\"message\":\"not for t0ken-of-the-client\"}";
    let said = Message::Binary(said.into());
    let (exit, sent) = tokio::join!(process.unwrap().wait(), async {
        socket.send(said).await?;
        socket.close(None).await
    });
    sent.unwrap();
    let error = exit.unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(
        shown.contains("not for <redacted>") && !shown.contains("t0ken"),
        "{shown}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_connection_closed_without_a_status_is_an_error() {
    let (pods, mut connections) = server();
    let exec = cat();
    let (process, socket) = tokio::join!(pods.exec("web-0", &exec), async {
        socket(connections.recv().await.unwrap(), V5).await
    });
    let mut socket = socket;
    let (exit, closed) = tokio::join!(process.unwrap().wait(), socket.close(None));
    closed.unwrap();
    assert_eq!(
        exit.unwrap_err().to_string(),
        "exec Pod default/web-0: the connection to the API server broke: it was closed before the server reported the end of the process"
    );
}

/// The error of an exec with this answer, and how many connections it took.
async fn answered(answer: &'static str) -> (Error, usize) {
    let (pods, mut connections) = server();
    let count = AtomicUsize::new(0);
    let serve = async {
        while let Some(mut io) = connections.recv().await {
            count.fetch_add(1, Ordering::SeqCst);
            head(&mut io).await;
            io.write_all(answer.as_bytes()).await.unwrap();
        }
    };
    let error = tokio::select! {
        () = serve => unreachable!(),
        process = async { pods.exec("web-0", &cat()).await } => process.unwrap_err(),
    };
    (error, count.into_inner())
}

#[tokio::test(start_paused = true)]
async fn an_exec_that_may_have_started_is_never_repeated() {
    let (error, connections) = answered("").await;
    assert!(matches!(error.kind(), ErrorKind::Transport(_)), "{error}");
    assert_eq!(connections, 1);
    let busy = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";
    let (error, connections) = answered(busy).await;
    assert_eq!(error.status().unwrap().code, 503);
    assert_eq!(connections, 1);
}

#[tokio::test(start_paused = true)]
async fn the_servers_answer_to_a_refused_exec_is_the_error() {
    let forbidden = "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: 101\r\n\r\n{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Forbidden\",\"code\":403,\"message\":\"pods \\\"web-0\\\" is no\"}";
    let table = [
        (
            forbidden,
            "exec Pod default/web-0: forbidden: pods \"web-0\" is no",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            "exec Pod default/web-0: the answer cannot be decoded: the server answered without an upgrade: check the cluster's `server`, and whether proxies on the way let WebSocket pass",
        ),
        (
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n",
            "exec Pod default/web-0: the answer cannot be decoded: the server switched to something else than WebSocket",
        ),
    ];
    for (answer, expected) in table {
        assert_eq!(answered(answer).await.0.to_string(), expected);
    }
}
