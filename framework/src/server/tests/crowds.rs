//! Many connections at once, over real sockets, from several addresses.

use std::{
    future::pending,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Duration,
};

use bytes::Bytes;
use h2::client::Builder;
use http::{Request, StatusCode};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{bytes, connected, tls};
use crate::{
    health::Checks,
    server::{Address, Routes, Server, Tls},
};

/// A server on loopback, and the connections that attackers hold open.
struct Besieged {
    address: SocketAddr,
    /// The certificate of the server.
    certificate: Option<String>,
    held: Vec<Box<dyn Send>>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// The machine that sends the probes.
const KUBELET: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const PREFACE: &str = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The time limit of a probe; a kubelet's default is 1 s.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(5);

fn routes() -> Routes {
    Routes::new()
        .health("/livez", Checks::new("livez"))
        .get("/small", |_| bytes(2))
        .get("/large", |_| bytes(4 * 1024 * 1024))
        .get_async("/never", |_| pending())
}

impl Besieged {
    async fn new(tls: Option<Tls>, certificate: Option<String>) -> Self {
        let mut server = Server::bind(&Address::loopback(0)).await.unwrap();
        if let Some(tls) = tls {
            server = server.tls(tls);
        }
        let stop = CancellationToken::new();
        Self {
            address: server.local_addr().unwrap(),
            certificate,
            held: Vec::new(),
            task: tokio::spawn(server.run(routes(), stop.clone())),
            stop,
        }
    }

    async fn connect(&self, from: IpAddr) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((from, 0).into()).unwrap();
        // Responses that the client does not read must fill the buffers.
        socket.set_recv_buffer_size(4096).unwrap();
        socket.connect(self.address).await.unwrap()
    }

    /// Holds a connection open that has sent these bytes and reads nothing.
    async fn hold(&mut self, from: IpAddr, sent: &[u8]) {
        let mut stream = self.connect(from).await;
        // The server may have closed it already for another connection.
        let _ = stream.write_all(sent).await;
        self.held.push(Box::new(stream));
    }

    /// Holds an HTTP/2 connection open whose streams do not read their responses.
    async fn hold_streams(&mut self, from: IpAddr, path: &str) {
        let stream = self.connect(from).await;
        let mut builder = Builder::new();
        builder.initial_window_size(0);
        let Ok((mut requests, connection)) = builder.handshake::<_, Bytes>(stream).await else {
            return;
        };
        self.held.push(Box::new(tokio::spawn(connection)));
        let mut answers = Vec::new();
        for _ in 0..8 {
            let request = Request::get(format!("http://x{path}")).body(()).unwrap();
            answers.extend(requests.send_request(request, true).ok());
        }
        self.held.push(Box::new((requests, answers)));
    }

    /// The response to a probe on a new connection.
    async fn probe(&self) -> String {
        let asked = async {
            let stream = self.connect(KUBELET).await;
            match &self.certificate {
                Some(certificate) => ask(tls::trusted(stream, certificate).await.unwrap()).await,
                None => ask(stream).await,
            }
        };
        timeout(REVIEW_TIMEOUT, asked).await.unwrap_or_default()
    }

    async fn is_live(&self) -> bool {
        let answer = self.probe().await;
        answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("ok")
    }

    async fn end(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> String {
    let head = "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let mut answer = String::new();
    let asked = async {
        stream.write_all(head.as_bytes()).await?;
        stream.read_to_string(&mut answer).await
    };
    match asked.await {
        Ok(_) => answer,
        Err(error) => error.to_string(),
    }
}

/// The addresses of the attackers: the kubelet's machine and others.
fn attacker(number: usize) -> IpAddr {
    let last = [1, 2, 2, 3, 4, 5, 6, 7];
    Ipv4Addr::new(127, 0, 0, last[number % last.len()]).into()
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn health_responds_despite_hundreds_of_hostile_connections() {
    let get = |path| format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
    let begun = [
        String::new(),
        "G".into(),
        "GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: ".into(),
        PREFACE.into(),
        get("/small"),
        get("/large"),
        get("/never"),
        get("/livez?verbose"),
    ];
    let mut server = Besieged::new(None, None).await;
    assert!(server.is_live().await);
    for number in 0..320 {
        let from = attacker(number / begun.len());
        let sent = begun[number % begun.len()].as_bytes();
        server.hold(from, sent).await;
        if number % 16 == 0 {
            assert!(server.is_live().await, "after {number} connections");
        }
    }
    for number in 0..40 {
        let path = ["/livez", "/large", "/never"][number % 3];
        server.hold_streams(attacker(number), path).await;
        assert!(server.is_live().await, "after {number} of HTTP/2");
    }
    server.end().await;
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn health_responds_over_https_despite_hundreds_of_unfinished_handshakes() {
    let (certificate, tls) = tls::served().await;
    let mut server = Besieged::new(Some(tls), Some(certificate)).await;
    assert!(server.is_live().await);
    // The start of the first record of a handshake.
    let begun: [&[u8]; 3] = [
        b"",
        b"\x16",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ];
    for number in 0..320 {
        let from = attacker(number / begun.len());
        server.hold(from, begun[number % begun.len()]).await;
        if number % 16 == 0 {
            assert!(server.is_live().await, "after {number} handshakes");
        }
    }
    server.end().await;
}

#[tokio::test(start_paused = true)]
async fn one_peer_gets_a_limited_number_of_responses_at_once_beside_health() {
    let (client, served) = connected(routes(), None, 64 * 1024);
    let (mut requests, connection) = Builder::new().handshake::<_, Bytes>(client).await.unwrap();
    let connection = tokio::spawn(connection);
    let mut ask = |path: &str| {
        let request = Request::get(format!("http://x{path}")).body(()).unwrap();
        requests.send_request(request, true).unwrap().0
    };
    let never: Vec<_> = (0..16).map(|_| ask("/never")).collect();
    let refused = ask("/small").await.unwrap();
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(ask("/livez").await.unwrap().status(), StatusCode::OK);
    // A response outside of the limit is not affected.
    assert_eq!(ask("/none").await.unwrap().status(), StatusCode::NOT_FOUND);
    drop(never);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(ask("/small").await.unwrap().status(), StatusCode::OK);
    drop(requests);
    // Both sides close at the same time, so this side may find the connection closed.
    let _ = connection.await.unwrap();
    served.await.unwrap();
}
