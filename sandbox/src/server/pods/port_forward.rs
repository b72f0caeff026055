use std::io;
use std::num::{IntErrorKind, ParseIntError};

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::stream::{FuturesUnordered, SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt, future::BoxFuture};
use http::Response;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::Mutex;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::handshake::{Socket, close};
use super::spdy_forward;
use super::{PodRequest, refused};
use crate::error::ApiError;
use crate::meta;
use crate::server::query::Query;
use crate::server::respond::Body;

/// The buffer of a connection, in bytes, in each direction.
const BUFFER: usize = 64 * 1024;
/// The most bytes in one message.
const MAX_MESSAGE: usize = 32 * 1024;
const SPDY: &str = "portforward.k8s.io";
/// SPDY inside a WebSocket.
const TUNNEL: &str = "SPDY/3.1+portforward.k8s.io";
/// A message begins with the channel in one byte, and each port has two channels.
const MAX_PORTS: usize = 127;

pub(super) fn handle(mut request: PodRequest<'_>) -> Result<Response<Body>, ApiError> {
    request.must_have_node()?;
    let Some(upgrade) = request.upgrade.take() else {
        return Err(ApiError::bad_request("Upgrade request required"));
    };
    if upgrade.is_spdy() {
        let Some(pod) = RunningPod::of(&request) else {
            return Ok(no_pod(&request));
        };
        let (response, io) = upgrade.accept_spdy(SPDY)?;
        let core = request.core.clone();
        request.core.spawn(async move {
            let Some(io) = io.await else { return };
            forwarded(spdy_forward::serve(&core, &pod, io).await);
        });
        return Ok(response);
    }
    let protocol = upgrade.agree(&["v4.channel.k8s.io", TUNNEL])?;
    if protocol == TUNNEL {
        let Some(pod) = RunningPod::of(&request) else {
            return Ok(no_pod(&request));
        };
        let (response, socket) = upgrade.accept(protocol);
        let core = request.core.clone();
        request.core.spawn(async move {
            let Some(socket) = socket.await else { return };
            let (near, far) = tokio::io::duplex(BUFFER);
            forwarded(tokio::select! {
                ended = spdy_forward::serve(&core, &pod, near) => ended,
                ended = spdy_forward::tunnel(socket, far) => ended,
            });
        });
        return Ok(response);
    }
    let ports = requested_ports(&request.query)?;
    if ports.len() > MAX_PORTS {
        return Err(ApiError::bad_request("too many ports"));
    }
    if let Some(why) = unfit(&ports) {
        return Ok(refused(400, why));
    }
    let Some(pod) = RunningPod::of(&request) else {
        return Ok(no_pod(&request));
    };
    let (mut ends, mut servers) = (Vec::new(), Vec::new());
    for &port in &ports {
        let (near, far) = tokio::io::duplex(BUFFER);
        ends.push(near);
        servers.push(match request.core.containers.port(port) {
            Some(server) => Ok(server(far)),
            None => Err(pod.refused(port)),
        });
    }
    let (response, socket) = upgrade.accept(protocol);
    request.core.spawn(async move {
        let Some(socket) = socket.await else { return };
        if let Err(error) = serve(socket, &ports, ends, servers).await {
            tracing::debug!(%error, "a forwarded port of the sandbox ended");
        }
    });
    Ok(response)
}

fn forwarded(ended: io::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a forwarded port of the sandbox ended");
    }
}

/// The answer of a kubelet whose Pod does not run.
fn no_pod(request: &PodRequest<'_>) -> Response<Body> {
    let (name, namespace) = (&request.name, &request.namespace);
    refused(500, format!("pod not found (\"{name}_{namespace}\")"))
}

/// A Pod whose ports can be forwarded.
pub(super) struct RunningPod {
    uid: String,
}

impl RunningPod {
    fn of(request: &PodRequest<'_>) -> Option<Self> {
        (request.pod["status"]["phase"] == "Running").then(|| Self {
            uid: meta::uid(&request.pod).to_owned(),
        })
    }

    #[cfg(test)]
    pub(super) fn with_uid(uid: &str) -> Self {
        Self { uid: uid.into() }
    }

    /// Why a connection to a port fails.
    pub(super) fn refused(&self, port: u16) -> String {
        // A container runtime has an ID of its own for a Pod, and does not know its UID here.
        let Self { uid } = self;
        format!(
            "error forwarding port {port} to pod {uid}, uid : failed to connect to localhost:{port}: connection refused"
        )
    }
}

/// The ports of a request, as kube-apiserver reads them.
///
/// # Errors
/// 400 if one is no number of 16 bits.
pub(super) fn requested_ports(query: &Query) -> Result<Vec<u16>, ApiError> {
    let ports = query.all("ports").flat_map(|value| value.split(','));
    let ports = ports.map(|port| {
        port.parse().map_err(|error: ParseIntError| {
            let why = match error.kind() {
                IntErrorKind::PosOverflow => "value out of range",
                _ => "invalid syntax",
            };
            ApiError::bad_request(format!(
                "cannot convert to []int32: strconv.ParseUint: parsing {port:?}: {why}"
            ))
        })
    });
    ports.collect()
}

/// Why a kubelet forwards none of these ports.
fn unfit(ports: &[u16]) -> Option<String> {
    if ports.is_empty() {
        // The name of the parameter dates from SPDY.
        return Some("query parameter \"port\" is required".to_owned());
    }
    // kube-apiserver passes all ports on as one text.
    let all: Vec<String> = ports.iter().map(u16::to_string).collect();
    let is_zero = ports.contains(&0);
    is_zero.then(|| format!("port {:?} must be > 0", all.join(",")))
}

type Sink = Mutex<SplitSink<Socket, Message>>;
type Server = Result<BoxFuture<'static, ()>, String>;

async fn send(sink: &Sink, channel: usize, bytes: &[u8]) -> Result<(), Error> {
    let mut message = BytesMut::with_capacity(1 + bytes.len());
    message.put_u8(u8::try_from(channel).unwrap_or(u8::MAX));
    message.put_slice(bytes);
    sink.lock()
        .await
        .send(Message::Binary(message.freeze()))
        .await
}

/// Serves two channels for each port: data and errors. Both begin with the port. Ends with the last connection.
async fn serve(
    socket: Socket,
    ports: &[u16],
    ends: Vec<DuplexStream>,
    servers: Vec<Server>,
) -> Result<(), Error> {
    let (sink, mut stream) = socket.split();
    let sink = Mutex::new(sink);
    for (place, port) in ports.iter().enumerate() {
        send(&sink, 2 * place, &port.to_le_bytes()).await?;
        send(&sink, 2 * place + 1, &port.to_le_bytes()).await?;
    }
    let (readers, writers): (Vec<_>, Vec<_>) = ends.into_iter().map(tokio::io::split).unzip();
    let connections = readers.into_iter().zip(servers).enumerate();
    let mut connections: FuturesUnordered<_> = connections
        .map(|(place, (reader, server))| connection(&sink, place, reader, server))
        .collect();
    let all = async {
        while let Some(ended) = connections.next().await {
            ended?;
        }
        Ok::<_, Error>(())
    };
    tokio::select! {
        ended = all => ended?,
        // The client has disconnected.
        () = read(&mut stream, writers) => return Ok(()),
    }
    drop(connections);
    close(sink.into_inner(), stream).await
}

/// Serves one connection. It sends what the connection's function writes. Without a function it sends the reason.
async fn connection(
    sink: &Sink,
    place: usize,
    mut reader: ReadHalf<DuplexStream>,
    server: Server,
) -> Result<(), Error> {
    let mut server = match server {
        Ok(server) => Some(server),
        Err(refused) => return send(sink, 2 * place + 1, refused.as_bytes()).await,
    };
    let mut piece = vec![0; MAX_MESSAGE];
    loop {
        // A cancelled read takes no bytes, and a function that has ended is not polled again.
        let length = tokio::select! {
            () = async { match &mut server { Some(server) => server.await, None => std::future::pending().await } } => {
                server = None;
                continue;
            }
            length = reader.read(&mut piece) => length.unwrap_or(0),
        };
        match piece.get(..length) {
            None | Some([]) => return Ok(()),
            Some(piece) => send(sink, 2 * place, piece).await?,
        }
    }
}

async fn read(stream: &mut SplitStream<Socket>, mut writers: Vec<WriteHalf<DuplexStream>>) {
    while let Some(Ok(message)) = stream.next().await {
        let mut message: Bytes = match message {
            Message::Binary(bytes) => bytes,
            Message::Close(_) => return,
            _ => continue,
        };
        if message.is_empty() {
            continue;
        }
        let channel = message.split_to(1);
        let channel = usize::from(channel.first().copied().unwrap_or_default());
        if channel % 2 == 0
            && let Some(writer) = writers.get_mut(channel / 2)
        {
            // A connection that has ended gets no more bytes.
            let _ = writer.write_all(&message).await;
        }
    }
}
