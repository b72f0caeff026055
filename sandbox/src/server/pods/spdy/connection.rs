use std::collections::HashMap;
use std::io;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf,
};
use tokio::sync::mpsc;

use super::frame::{self, Frame};
use super::headers::{self, HeaderReader, Headers};

/// The most streams that a peer may have open.
const MAX_STREAMS: usize = 256;
/// The buffer of a stream, in bytes, in each direction.
const BUFFER: usize = 64 * 1024;
/// The most bytes in one frame of the server.
const MAX_DATA: usize = 32 * 1024;
/// The frames that wait to be written.
const WAITING: usize = 16;

/// A stream that a peer has opened. Dropping it ends it in the direction of the peer.
pub(in super::super) struct SpdyStream {
    headers: Headers,
    pub(in super::super) io: DuplexStream,
}

impl SpdyStream {
    /// Returns the value of a header, or an empty text.
    pub(in super::super) fn header(&self, name: &str) -> &str {
        let found = self
            .headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }
}

/// Serves a connection until the peer ends it. The streams go to `accepted`.
///
/// # Errors
/// `InvalidData` if the peer does not speak SPDY/3; the errors of the connection.
pub(in super::super) async fn serve(
    io: impl AsyncRead + AsyncWrite,
    accepted: mpsc::Sender<SpdyStream>,
) -> io::Result<()> {
    let (mut reader, mut writer) = tokio::io::split(io);
    let (frames, mut waiting) = mpsc::channel::<Bytes>(WAITING);
    // Bounded by the number of streams.
    let (opened, mut to_pump) = mpsc::channel(MAX_STREAMS);
    let write = async {
        while let Some(frame) = waiting.recv().await {
            writer.write_all(&frame).await?;
            writer.flush().await?;
        }
        Ok(())
    };
    let pump = async {
        let mut pumps = FuturesUnordered::new();
        loop {
            // A pump that is not polled goes on later, and a received stream is not lost.
            tokio::select! {
                Some((stream, reader)) = to_pump.recv() => pumps.push(pump(stream, reader, &frames)),
                Some(()) = pumps.next() => {}
                else => return,
            }
        }
    };
    let mut peer = Peer {
        frames: frames.clone(),
        accepted,
        opened,
        headers: HeaderReader::new(),
        writers: HashMap::new(),
        last: 0,
    };
    let read = async {
        while let Some(frame) = frame::read(&mut reader).await? {
            peer.take(frame).await?;
        }
        Ok(())
    };
    tokio::select! {
        ended = read => ended,
        ended = write => ended,
        () = pump => Ok(()),
    }
}

/// Sends what the server writes to a stream, and its end.
async fn pump(stream: u32, mut reader: ReadHalf<DuplexStream>, frames: &mpsc::Sender<Bytes>) {
    let mut piece = vec![0; MAX_DATA];
    loop {
        let length = reader.read(&mut piece).await.unwrap_or(0);
        let data = piece.get(..length).unwrap_or_default();
        if frames.send(frame::data(stream, data)).await.is_err() || data.is_empty() {
            return;
        }
    }
}

/// What a peer has sent so far.
struct Peer {
    frames: mpsc::Sender<Bytes>,
    accepted: mpsc::Sender<SpdyStream>,
    opened: mpsc::Sender<(u32, ReadHalf<DuplexStream>)>,
    headers: HeaderReader,
    /// The streams that the peer has not ended.
    writers: HashMap<u32, WriteHalf<DuplexStream>>,
    last: u32,
}

impl Peer {
    async fn take(&mut self, frame: Frame) -> io::Result<()> {
        match frame {
            Frame::Open {
                stream,
                is_last,
                headers,
            } => self.open(stream, is_last, &headers).await,
            Frame::Data {
                stream,
                is_last,
                data,
            } => {
                if let Some(writer) = self.writers.get_mut(&stream) {
                    // A reader that has closed the stream gets no more bytes.
                    let is_read = writer.write_all(&data).await.is_ok();
                    if is_last && is_read {
                        let _ = writer.shutdown().await;
                    }
                    if is_last || !is_read {
                        self.writers.remove(&stream);
                    }
                }
                Ok(())
            }
            Frame::Reset { stream } => {
                if let Some(mut writer) = self.writers.remove(&stream) {
                    let _ = writer.shutdown().await;
                }
                Ok(())
            }
            Frame::Ping { id } => self.send(frame::ping(id)).await,
            Frame::GoAway | Frame::Other => Ok(()),
        }
    }

    async fn open(&mut self, stream: u32, is_last: bool, headers: &[u8]) -> io::Result<()> {
        // Also those of a refused stream must be read: the next ones refer to them.
        let headers = self.headers.read(headers)?;
        if stream.is_multiple_of(2) || stream <= self.last {
            return Err(frame::invalid("a stream has a number that was used before"));
        }
        let is_first = self.last == 0;
        self.last = stream;
        if self.writers.len() >= MAX_STREAMS {
            return self.send(frame::reset(stream, frame::REFUSED)).await;
        }
        let (near, far) = tokio::io::duplex(BUFFER);
        let (reader, mut writer) = tokio::io::split(far);
        if is_last {
            let _ = writer.shutdown().await;
        } else {
            self.writers.insert(stream, writer);
        }
        self.send(frame::reply(stream, &headers::write(is_first, &[])))
            .await?;
        // Both receivers live as long as the connection, unless the handler has ended: then nobody reads the stream.
        let _ = self.opened.send((stream, reader)).await;
        let _ = self.accepted.send(SpdyStream { headers, io: near }).await;
        Ok(())
    }

    async fn send(&self, frame: Bytes) -> io::Result<()> {
        let sent = self.frames.send(frame).await;
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::client::Client;
    use super::*;

    #[tokio::test]
    async fn streams_carry_bytes_in_both_directions_and_end_one_at_a_time() {
        let (near, far) = tokio::io::duplex(BUFFER);
        let (accepted, mut opened) = mpsc::channel(8);
        let serving = tokio::spawn(serve(far, accepted));
        let mut client = Client::new(near);
        let (one, two) = (
            client.open(&[("streamtype", "x")]).await,
            client.open(&[]).await,
        );
        let (mut first, second) = (opened.recv().await.unwrap(), opened.recv().await.unwrap());
        assert_eq!(
            (first.header("StreamType"), second.header("streamtype")),
            ("x", "")
        );
        client.write(one, b"to the server").await;
        client.write(one, b"").await;
        let mut heard = String::new();
        first.io.read_to_string(&mut heard).await.unwrap();
        assert_eq!(heard, "to the server");
        first.io.write_all(b"to the client").await.unwrap();
        drop((first, second));
        let heard = client.read_to_end([one, two]).await;
        assert_eq!(heard, ["to the client", ""]);
        assert!(client.ping(7).await);
        drop(client);
        serving.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_number_that_was_used_before_ends_the_connection() {
        let (near, far) = tokio::io::duplex(BUFFER);
        let (accepted, _opened) = mpsc::channel(8);
        let mut near = near;
        for first in [true, false] {
            let headers = headers::write(first, &[]);
            near.write_all(&frame::open(1, &headers)).await.unwrap();
        }
        let error = serve(far, accepted).await.unwrap_err();
        assert!(error.to_string().contains("used before"), "{error}");
    }
}
