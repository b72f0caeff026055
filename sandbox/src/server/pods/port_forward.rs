use bytes::{BufMut, Bytes, BytesMut};
use futures_util::stream::{FuturesUnordered, SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt, future::BoxFuture};
use http::Response;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::Mutex;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::Asked;
use super::handshake::{Socket, goodbye};
use crate::api::{ApiError, meta};
use crate::server::respond::Body;

/// Bytes in flight of a connection, in each direction.
const PIPE: usize = 64 * 1024;
/// What one message carries at most.
const PIECE: usize = 32 * 1024;
/// A message begins with the channel, and that is one byte: 2 for each port.
const MOST_PORTS: usize = 127;

pub(super) fn answer(mut asked: Asked<'_>) -> Result<Response<Body>, ApiError> {
    asked.must_have_node()?;
    let Some(upgrade) = asked.upgrade.take() else {
        return Err(ApiError::bad_request("Upgrade request required"));
    };
    let protocol = upgrade.agree(&["v4.channel.k8s.io"])?;
    let ports = ports(asked.query.all("ports"))?;
    if asked.pod["status"]["phase"] != "Running" {
        let text = format!("pod not found (\"{}_{}\")", asked.name, asked.namespace);
        return Err(ApiError::internal(text));
    }
    let (mut ends, mut servers) = (Vec::new(), Vec::new());
    for &port in &ports {
        let (near, far) = tokio::io::duplex(PIPE);
        ends.push(near);
        servers.push(match asked.core.containers.port(port) {
            Some(server) => Ok(server(far)),
            None => Err(format!(
                "error forwarding port {port} to pod {}, uid {}: failed to connect to localhost:{port}: connection refused",
                asked.name,
                meta::uid(&asked.pod)
            )),
        });
    }
    let (response, socket) = upgrade.accept(protocol);
    asked.core.spawn(async move {
        let Some(socket) = socket.await else { return };
        if let Err(error) = serve(socket, &ports, ends, servers).await {
            tracing::debug!(%error, "a forwarded port of the sandbox ended");
        }
    });
    Ok(response)
}

fn ports<'a>(values: impl Iterator<Item = &'a str>) -> Result<Vec<u16>, ApiError> {
    let ports = values.flat_map(|value| value.split(','));
    let ports: Vec<u16> = ports
        .map(|port| match port.parse() {
            Ok(0) => Err(ApiError::bad_request(format!("port {port:?} must be > 0"))),
            Ok(port) => Ok(port),
            Err(error) => Err(ApiError::bad_request(format!(
                "unable to parse {port:?} as a port: {error}"
            ))),
        })
        .collect::<Result<_, _>>()?;
    match ports.len() {
        0 => Err(ApiError::bad_request(
            "query parameter \"ports\" is required",
        )),
        number if number > MOST_PORTS => Err(ApiError::bad_request("too many ports")),
        _ => Ok(ports),
    }
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

/// Two channels for each port, data and errors; both begin with the port. It ends with the last connection.
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
        // The caller is gone.
        () = read(&mut stream, writers) => return Ok(()),
    }
    drop(connections);
    goodbye(sink.into_inner(), stream).await
}

/// One connection: what its server writes is sent, or why there is none.
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
    let mut piece = vec![0; PIECE];
    loop {
        // A read takes nothing before it is done; a server that has ended is not polled again.
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
            // One that has ended hears nothing more.
            let _ = writer.write_all(&message).await;
        }
    }
}
