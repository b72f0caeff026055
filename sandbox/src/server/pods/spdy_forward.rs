//! Forwarded ports over SPDY, in the protocol `portforward.k8s.io`: two streams for each connection, for errors and for data.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::FuturesUnordered;
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;

use super::handshake::Socket;
use super::port_forward::RunningPod;
use super::spdy::{self, SpdyStream};
use crate::core::Core;

/// The buffer of a connection, in bytes, in each direction.
const BUFFER: usize = 64 * 1024;
/// The most bytes in one message.
const MAX_MESSAGE: usize = 32 * 1024;
/// The most streams for errors that wait for their stream for data.
const MAX_WAITING: usize = 256;

/// Forwards connections until the client disconnects.
pub(super) async fn serve(
    core: &Arc<Core>,
    pod: &RunningPod,
    io: impl AsyncRead + AsyncWrite,
) -> io::Result<()> {
    let (accepted, opened) = mpsc::channel(8);
    tokio::select! {
        ended = spdy::serve(io, accepted) => ended,
        () = forward(core, pod, opened) => Ok(()),
    }
}

async fn forward(core: &Arc<Core>, pod: &RunningPod, mut opened: mpsc::Receiver<SpdyStream>) {
    let mut waiting = HashMap::new();
    let mut connections = FuturesUnordered::new();
    loop {
        // A connection that is not polled goes on later, and a received stream is not lost.
        tokio::select! {
            Some(stream) = opened.recv() => {
                let request = stream.header("requestid").to_owned();
                match stream.header("streamtype") {
                    "error" if waiting.len() < MAX_WAITING => drop(waiting.insert(request, stream)),
                    "data" => if let Some(errors) = waiting.remove(&request) {
                        connections.push(connection(core, pod, errors, stream));
                    },
                    _ => {}
                }
            }
            Some(()) = connections.next() => {}
            else => return,
        }
    }
}

/// Serves one connection. If nothing listens at the port, the stream for errors says so.
async fn connection(core: &Arc<Core>, pod: &RunningPod, errors: SpdyStream, data: SpdyStream) {
    let port = data.header("port").parse().unwrap_or(0);
    let mut errors = errors.io;
    let (mut from_client, mut to_client) = tokio::io::split(data.io);
    let Some(server) = core.containers.port(port) else {
        // A client that has disconnected does not need the reason.
        let _ = errors.write_all(pod.refused(port).as_bytes()).await;
        return;
    };
    let (near, far) = tokio::io::duplex(BUFFER);
    let (mut from_server, mut to_server) = tokio::io::split(near);
    let serving = async {
        server(far).await;
        std::future::pending::<()>().await;
    };
    let to_server = async {
        // A client that has sent everything still waits for the answer.
        let _ = tokio::io::copy(&mut from_client, &mut to_server).await;
        let _ = to_server.shutdown().await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        // It ends when the server closes the connection. Clients wait for the end of both streams then, without ending theirs.
        _ = tokio::io::copy(&mut from_server, &mut to_client) => {}
        () = to_server => {}
        () = serving => {}
    }
}

/// Carries the bytes of a connection in the messages of a WebSocket.
pub(super) async fn tunnel(socket: Socket, io: DuplexStream) -> io::Result<()> {
    let (mut sink, mut stream) = socket.split();
    let (mut reader, mut writer) = tokio::io::split(io);
    let to_client = async {
        let mut piece = vec![0; MAX_MESSAGE];
        loop {
            let length = reader.read(&mut piece).await?;
            let bytes = Bytes::copy_from_slice(piece.get(..length).unwrap_or_default());
            if bytes.is_empty() {
                return Ok(());
            }
            let sent = sink.send(Message::Binary(bytes)).await;
            sent.map_err(io::Error::other)?;
        }
    };
    let from_client = async {
        while let Some(message) = stream.next().await {
            match message.map_err(io::Error::other)? {
                Message::Binary(bytes) => writer.write_all(&bytes).await?,
                Message::Close(_) => return Ok(()),
                _ => {}
            }
        }
        Ok(())
    };
    tokio::select! {
        ended = to_client => ended,
        ended = from_client => ended,
    }
}

#[cfg(test)]
mod tests {
    use super::super::spdy::client::Client;
    use super::*;
    use crate::Sandbox;

    /// kubectl waits for the end of both streams before it ends its own.
    #[tokio::test]
    async fn both_streams_end_when_the_server_closes_the_connection() {
        let sandbox = Sandbox::builder().seed(1).build().unwrap();
        sandbox.pods().port(7, |mut stream| async move {
            let mut said = [0; 5];
            stream.read_exact(&mut said).await.unwrap();
            stream.write_all(b"heard").await.unwrap();
        });
        let pod = RunningPod::with_uid("1-2-3");
        let (near, far) = tokio::io::duplex(BUFFER);
        let core = sandbox.core().clone();
        tokio::spawn(async move { serve(&core, &pod, far).await });
        let mut client = Client::new(near);
        for (request, port, errors, answer) in [
            ("0", "7", "", "heard"),
            (
                "1",
                "9",
                "error forwarding port 9 to pod 1-2-3, uid : failed to connect to localhost:9: connection refused",
                "",
            ),
        ] {
            let headers = |kind| [("streamtype", kind), ("port", port), ("requestid", request)];
            let error = client.open(&headers("error")).await;
            let data = client.open(&headers("data")).await;
            client.write(data, b"hello").await;
            let heard = client.read_to_end([error, data]).await;
            assert_eq!(heard, [errors, answer]);
        }
        sandbox.shutdown().await;
    }
}
