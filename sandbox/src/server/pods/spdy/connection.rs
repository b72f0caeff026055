use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::frame::{self, Frame};
use super::headers::{self, HeaderReader, Headers};

/// The most streams of a connection. A stream counts until both sides have ended it.
const MAX_STREAMS: usize = 512;
/// The buffer of a stream, in bytes, in each direction.
const BUFFER: usize = 64 * 1024;
/// The most bytes in one frame of the server.
const MAX_DATA: usize = 32 * 1024;
/// The frames that wait to be written.
const WAITING: usize = 16;

/// A place among the streams of a connection. Both directions of a stream hold it.
type Place = Arc<OwnedSemaphorePermit>;

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
                Some(opened) = to_pump.recv() => pumps.push(pump(opened, &frames)),
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
        places: Arc::new(Semaphore::new(MAX_STREAMS)),
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

/// The direction of a stream to the peer.
struct ToPeer {
    stream: u32,
    reader: ReadHalf<DuplexStream>,
    _place: Place,
}

/// Sends what the server writes to a stream, and its end.
async fn pump(opened: ToPeer, frames: &mpsc::Sender<Bytes>) {
    let ToPeer {
        stream,
        mut reader,
        _place,
    } = opened;
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
    opened: mpsc::Sender<ToPeer>,
    headers: HeaderReader,
    /// The streams that the peer has not ended.
    writers: HashMap<u32, (WriteHalf<DuplexStream>, Place)>,
    places: Arc<Semaphore>,
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
                if let Some((writer, _)) = self.writers.get_mut(&stream) {
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
                if let Some((mut writer, _)) = self.writers.remove(&stream) {
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
        let Ok(place) = self.places.clone().try_acquire_owned() else {
            return self.send(frame::reset(stream, frame::REFUSED)).await;
        };
        let place = Arc::new(place);
        let (near, far) = tokio::io::duplex(BUFFER);
        let (reader, mut writer) = tokio::io::split(far);
        if is_last {
            let _ = writer.shutdown().await;
        } else {
            self.writers.insert(stream, (writer, place.clone()));
        }
        self.send(frame::reply(stream, &headers::write(is_first, &[])))
            .await?;
        // Both receivers live as long as the connection, unless the handler has ended: then nobody reads the stream.
        let opened = ToPeer {
            stream,
            reader,
            _place: place,
        };
        let _ = self.opened.send(opened).await;
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
    async fn streams_that_the_peer_has_ended_count_until_the_server_ends_them() {
        let (near, far) = tokio::io::duplex(BUFFER);
        let (accepted, mut opened) = mpsc::channel(2 * MAX_STREAMS);
        tokio::spawn(serve(far, accepted));
        let mut client = Client::new(near);
        for _ in 0..MAX_STREAMS {
            let stream = client.open(&[]).await;
            client.write(stream, b"").await;
            assert!(client.is_accepted(stream).await);
        }
        let stream = client.open(&[]).await;
        assert!(!client.is_accepted(stream).await);
        drop(opened.recv().await.unwrap());
        client.read_to_end([1]).await;
        let stream = client.open(&[]).await;
        assert!(client.is_accepted(stream).await);
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
