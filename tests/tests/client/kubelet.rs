//! A stand-in for a kubelet: a node of a real API server whose containers run `programs`.
//!
//! It declares that it accepts WebSocket directly (KEP-4006's last step, `ExtendWebSocketsToKubelet`), so that
//! kube-apiserver forwards streams without translating them into SPDY.

use std::{collections::HashMap, convert::Infallible, sync::Arc, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt, stream};
use http::{Request, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use pilothouse::{
    client::{Api, Client, PostParams},
    k8s::api::core::v1::Node,
};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf},
    net::{TcpListener, TcpStream},
    sync::{mpsc, watch},
    task::JoinSet,
    time::timeout,
};
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, protocol::Role},
};
use tokio_util::task::AbortOnDropHandle;

use crate::programs::{self, ECHO, Streams};

/// The time for the other side to close. Closing a connection with unread bytes resets it, and the bytes that were sent
/// last are lost.
const LAST_WORD: Duration = Duration::from_secs(2);

const NODE: &str = "stand-in";

/// A node and its kubelet, which ends when this is dropped.
pub(crate) struct Kubelet {
    logs: Logs,
    _task: AbortOnDropHandle<()>,
}

/// The lines of each Pod, by namespace and name.
type Logs = Arc<watch::Sender<HashMap<String, Vec<String>>>>;
type Body = UnsyncBoxBody<Bytes, Infallible>;
type Socket = WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>;

impl Kubelet {
    /// Listens, and registers the node.
    pub(crate) async fn start(client: &Client) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let logs: Logs = Arc::new(watch::Sender::new(HashMap::new()));
        let task = tokio::spawn(accept(listener, logs.clone()));
        let node: Node = serde_json::from_value(json!({
            "metadata": {"name": NODE},
            "status": {
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
                "declaredFeatures": ["ExtendWebSocketsToKubelet"],
            },
        }))
        .unwrap();
        let nodes = Api::<Node>::all(client);
        nodes.create(&PostParams::default(), &node).await.unwrap();
        Self {
            logs,
            _task: AbortOnDropHandle::new(task),
        }
    }

    pub(crate) fn node(&self) -> &'static str {
        NODE
    }

    pub(crate) fn write_log(&self, namespace: &str, pod: &str, text: &str) {
        self.logs.send_modify(|logs| {
            let log = logs.entry(format!("{namespace}/{pod}")).or_default();
            log.extend(text.split_inclusive('\n').map(str::to_owned));
        });
    }
}

async fn accept(listener: TcpListener, logs: Logs) {
    let key = rcgen::generate_simple_self_signed(vec!["127.0.0.1".into()]).unwrap();
    let secret = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![key.cert.der().clone()], secret)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream, acceptor.clone(), logs.clone()));
    }
}

async fn serve(stream: TcpStream, acceptor: TlsAcceptor, logs: Logs) {
    let Ok(stream) = acceptor.accept(stream).await else {
        return;
    };
    let service = service_fn(move |request| {
        let logs = logs.clone();
        async move { Ok::<_, Infallible>(answer(request, &logs)) }
    });
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
}

fn text(code: u16, text: String) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(text)).boxed_unsync());
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    response
}

fn answer(mut request: Request<Incoming>, logs: &Logs) -> Response<Body> {
    let query = Query::of(&request);
    let path = request.uri().path().to_owned();
    match path.split('/').collect::<Vec<_>>()[..] {
        ["", "containerLogs", namespace, pod, _] => log(logs, format!("{namespace}/{pod}"), &query),
        ["", "exec", _, _, _] => {
            let command: Vec<_> = query.all("command").collect();
            upgraded(&mut request, &["v5.channel.k8s.io"], move |socket| {
                exec(socket, command)
            })
        }
        ["", "attach", namespace, pod, _] => {
            let logs = logs.subscribe();
            let log = format!("{namespace}/{pod}");
            upgraded(&mut request, &["v5.channel.k8s.io"], move |socket| {
                attach(socket, logs, log)
            })
        }
        ["", "portForward", _, _] => {
            // The name of the query parameter dates from SPDY.
            let port = query.all("port").next().unwrap().parse().unwrap();
            upgraded(&mut request, &["v4.channel.k8s.io"], move |socket| {
                forward(socket, port)
            })
        }
        _ => text(404, format!("{path}?")),
    }
}

struct Query(Vec<(String, String)>);

impl Query {
    fn of(request: &Request<Incoming>) -> Self {
        let query = request.uri().query().unwrap_or_default();
        let decode = |part: &str| {
            let part = part.replace('+', " ");
            percent_encoding::percent_decode_str(&part)
                .decode_utf8()
                .unwrap()
                .into_owned()
        };
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        Self(
            pairs
                .map(|(name, value)| (decode(name), decode(value)))
                .collect(),
        )
    }

    fn all(&self, name: &str) -> impl Iterator<Item = String> {
        let found = self.0.iter().filter(move |(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    }
}

/// Answers with the present log. If the log is followed, each further piece contains the lines since then.
fn log(logs: &Logs, log: String, query: &Query) -> Response<Body> {
    let number = |name| {
        query
            .all(name)
            .next()
            .and_then(|number| number.parse().ok())
    };
    let lines = logs.borrow().get(&log).cloned().unwrap_or_default();
    let skipped = lines.len() - number("tailLines").unwrap_or(lines.len()).min(lines.len());
    let mut first = lines[skipped..].concat();
    first.truncate(number("limitBytes").unwrap_or(first.len()));
    let follow = query.all("follow").any(|follow| follow == "true");
    let now = stream::iter([first]);
    let later = new_lines(logs.subscribe(), log, lines.len());
    let pieces = now.chain(later.take(if follow { usize::MAX } else { 0 }));
    let frames = pieces.map(|piece| Ok(Frame::data(Bytes::from(piece))));
    Response::new(StreamBody::new(frames).boxed_unsync())
}

/// Returns the lines that are written to a log after its first lines.
fn new_lines(
    logs: watch::Receiver<HashMap<String, Vec<String>>>,
    log: String,
    lines: usize,
) -> impl futures_util::Stream<Item = String> + Send {
    stream::unfold((logs, log, lines), |(mut logs, log, from)| async move {
        let written = |logs: &HashMap<String, Vec<String>>| {
            logs.get(&log).is_some_and(|lines| lines.len() > from)
        };
        let lines = logs.wait_for(written).await.ok()?[&log].clone();
        Some((lines[from..].concat(), (logs, log, lines.len())))
    })
}

/// Accepts a WebSocket, and passes it to the handler.
fn upgraded<R>(
    request: &mut Request<Incoming>,
    known: &[&'static str],
    then: impl FnOnce(Socket) -> R + Send + 'static,
) -> Response<Body>
where
    R: Future<Output = ()> + Send + 'static,
{
    let header = |name: header::HeaderName| {
        let value = request.headers().get(name);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_owned()
    };
    let asked = header(header::SEC_WEBSOCKET_PROTOCOL);
    let mut asked = asked.split(',').map(str::trim);
    let Some(protocol) = asked.find(|asked| known.contains(asked)) else {
        return text(
            400,
            "the request is not a WebSocket with a known protocol".into(),
        );
    };
    let key = header(header::SEC_WEBSOCKET_KEY) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    let proof = BASE64_STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, key.as_bytes()));
    let response = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_ACCEPT, proof)
        .header(header::SEC_WEBSOCKET_PROTOCOL, protocol)
        .body(Full::default().boxed_unsync());
    let upgrade = hyper::upgrade::on(request);
    tokio::spawn(async move {
        if let Ok(io) = upgrade.await {
            let io = TokioIo::new(io);
            then(WebSocketStream::from_raw_socket(io, Role::Server, None).await).await;
        }
    });
    response.unwrap()
}

/// Returns a message with `bytes` on `channel`.
fn message(channel: u8, bytes: &[u8]) -> Message {
    Message::Binary([&[channel], bytes].concat().into())
}

/// Returns the bytes of a reader as messages.
fn messages(channel: u8, reader: DuplexStream) -> impl futures_util::Stream<Item = Message> {
    stream::unfold(reader, move |mut reader| async move {
        let mut piece = vec![0; 32 * 1024];
        let length = reader
            .read(&mut piece)
            .await
            .ok()
            .filter(|length| *length > 0)?;
        Some((message(channel, &piece[..length]), reader))
    })
}

/// Speaks `v5.channel.k8s.io`: channel 0 is the input, 1 the output, 2 the errors, 3 the status, 4 the size; 255
/// closes a channel.
async fn exec(socket: Socket, command: Vec<String>) {
    let (mut sink, mut source) = socket.split();
    let (stdin, their_stdin) = tokio::io::duplex(1024);
    let (stdout, their_stdout) = tokio::io::duplex(1024);
    let (stderr, their_stderr) = tokio::io::duplex(1024);
    let (sizes, their_sizes) = mpsc::channel(4);
    let known = programs::NAMES.contains(&command[0].as_str());
    let streams = Streams {
        stdin: their_stdin,
        stdout: their_stdout,
        stderr: their_stderr,
        sizes: their_sizes,
    };
    let program = async move {
        match known {
            true => Some(programs::run(command, streams).await),
            false => None,
        }
    };
    let input = async move {
        let mut stdin = Some(stdin);
        while let Some(Ok(message)) = source.next().await {
            match &message.into_data()[..] {
                [0, bytes @ ..] => {
                    if let Some(stdin) = &mut stdin {
                        let _ = stdin.write_all(bytes).await;
                    }
                }
                [4, size @ ..] => {
                    let size: serde_json::Value = serde_json::from_slice(size).unwrap();
                    let number = |name| u16::try_from(size[name].as_u64().unwrap()).unwrap();
                    let _ = sizes.send((number("Width"), number("Height"))).await;
                }
                [255, 0] => stdin = None,
                _ => {}
            }
        }
    };
    tokio::pin!(input);
    let output = async {
        let mut outputs = stream::select(messages(1, stdout).boxed(), messages(2, stderr).boxed());
        while let Some(message) = outputs.next().await {
            sink.send(message).await.ok()?;
        }
        Some(())
    };
    let code = tokio::select! {
        (code, _) = async { tokio::join!(program, output) } => code,
        () = &mut input => return,
    };
    let end = match code {
        Some(0) => json!({"metadata": {}, "status": "Success"}),
        Some(code) => json!({
            "metadata": {}, "status": "Failure", "reason": "NonZeroExitCode",
            "message": format!("command terminated with non-zero exit code: exit status {code}"),
            "details": {"causes": [{"reason": "ExitCode", "message": code.to_string()}]},
        }),
        None => json!({
            "metadata": {}, "status": "Failure", "reason": "InternalError", "code": 500,
            "message": "Internal error occurred: error executing command in container: exec: executable file not found in $PATH",
        }),
    };
    let _ = sink.send(message(3, end.to_string().as_bytes())).await;
    let _ = sink.close().await;
    let _ = timeout(LAST_WORD, input).await;
}

async fn attach(
    mut socket: Socket,
    logs: watch::Receiver<HashMap<String, Vec<String>>>,
    log: String,
) {
    let written = logs.borrow().get(&log).map_or(0, Vec::len);
    let mut lines = Box::pin(new_lines(logs, log, written));
    loop {
        let sent = tokio::select! {
            Some(lines) = lines.next() => socket.send(message(1, lines.as_bytes())).await,
            Some(Ok(_)) = socket.next() => Ok(()),
            else => return,
        };
        if sent.is_err() {
            return;
        }
    }
}

/// Speaks `v4.channel.k8s.io`: channel 0 is the data, 1 the errors; each begins with the port.
async fn forward(socket: Socket, port: u16) {
    let (mut sink, mut source) = socket.split();
    for channel in [0, 1] {
        let _ = sink.send(message(channel, &port.to_le_bytes())).await;
    }
    if port != ECHO {
        let refused = format!("error forwarding port {port}: connection refused");
        let _ = sink.send(message(1, refused.as_bytes())).await;
        let _ = sink.close().await;
        let _ = timeout(LAST_WORD, async {
            while let Some(Ok(_)) = source.next().await {}
        })
        .await;
        return;
    }
    let (near, far) = tokio::io::duplex(1024);
    let (mut from, mut to): (ReadHalf<DuplexStream>, _) = tokio::io::split(near);
    let input = async move {
        while let Some(Ok(message)) = source.next().await {
            if let [0, bytes @ ..] = &message.into_data()[..] {
                let _ = to.write_all(bytes).await;
            }
        }
    };
    tokio::pin!(input);
    let output = async {
        let mut piece = vec![0; 32 * 1024];
        while let Ok(length @ 1..) = from.read(&mut piece).await {
            let _ = sink.send(message(0, &piece[..length])).await;
        }
    };
    let connection = async { tokio::join!(programs::echo(far), output) };
    tokio::select! {
        _ = connection => {}
        () = &mut input => return,
    }
    let _ = sink.close().await;
    let _ = timeout(LAST_WORD, input).await;
}
