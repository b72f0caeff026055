use std::{
    fmt, io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use tokio::{
    io::AsyncWrite,
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
};
use tokio_util::sync::PollSemaphore;

use super::session::Session;

/// The length limit of one message, in bytes.
const PIECE: usize = 32 * 1024;
/// How many messages may wait for the connection.
pub(super) const MAX_UNSENT: u32 = 4;

/// A message that waits. The permit is returned when the connection has taken the message.
pub(super) type Piece = (Bytes, OwnedSemaphorePermit);

/// The input of a process in a container.
///
/// A write waits if the other side accepts nothing more. [`flush`](tokio::io::AsyncWriteExt::flush) waits until the
/// connection has taken everything. Shutting this down, or dropping it, ends the input of the process. That needs
/// Kubernetes 1.30; with older servers, shutting down fails.
pub struct ProcessInput {
    pieces: Option<mpsc::UnboundedSender<Piece>>,
    permits: PollSemaphore,
    /// Whether the protocol can end the input.
    can_end: bool,
    _session: Arc<Session>,
}

impl ProcessInput {
    pub(super) fn new(
        can_end: bool,
        pieces: mpsc::UnboundedSender<Piece>,
        session: Arc<Session>,
    ) -> Self {
        Self {
            pieces: Some(pieces),
            permits: PollSemaphore::new(Arc::new(Semaphore::new(MAX_UNSENT as usize))),
            can_end,
            _session: session,
        }
    }
}

fn broken() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the connection has ended")
}

impl AsyncWrite for ProcessInput {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let permit = ready!(self.permits.poll_acquire(cx));
        let (Some(permit), Some(pieces)) = (permit, &self.pieces) else {
            return Poll::Ready(Err(broken()));
        };
        let piece = bytes.get(..PIECE).unwrap_or(bytes);
        let sent = pieces.send((Bytes::copy_from_slice(piece), permit));
        Poll::Ready(sent.map(|()| piece.len()).map_err(|_| broken()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // If this has all permits, no message waits.
        let all = ready!(self.permits.poll_acquire_many(cx, MAX_UNSENT));
        drop(all);
        Poll::Ready(match &self.pieces {
            Some(pieces) if pieces.is_closed() => Err(broken()),
            _ => Ok(()),
        })
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.pieces.is_none() {
            return Poll::Ready(Ok(()));
        }
        ready!(self.as_mut().poll_flush(cx))?;
        if !self.can_end {
            return Poll::Ready(Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "this server does not support closing the input: Kubernetes 1.30 or later is needed",
            )));
        }
        self.pieces = None;
        Poll::Ready(Ok(()))
    }
}

impl fmt::Debug for ProcessInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProcessInput")
    }
}
