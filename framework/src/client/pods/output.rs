use std::{
    fmt, io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use tokio::{
    io::{AsyncBufRead, AsyncRead, ReadBuf},
    sync::mpsc,
};

use super::session::Session;

/// The output, or the error output, of a process in a container.
///
/// It ends when the process closes it. If the connection breaks, reading fails. If the caller does not read it, the
/// process must wait, and so must its other output, because both come on one connection. After a drop, the output is
/// discarded.
pub struct ProcessOutput {
    pieces: mpsc::Receiver<Bytes>,
    /// The rest of the last piece.
    piece: Bytes,
    session: Arc<Session>,
}

impl ProcessOutput {
    pub(super) fn new(pieces: mpsc::Receiver<Bytes>, session: Arc<Session>) -> Self {
        Self {
            pieces,
            piece: Bytes::new(),
            session,
        }
    }

    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    /// The next piece as it came. `None` at the end.
    pub(super) fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Bytes>>> {
        if !self.piece.is_empty() {
            return Poll::Ready(Ok(Some(std::mem::take(&mut self.piece))));
        }
        Poll::Ready(match ready!(self.pieces.poll_recv(cx)) {
            Some(piece) => Ok(Some(piece)),
            None => self.session.how_it_broke().map_or(Ok(None), Err),
        })
    }
}

impl AsyncBufRead for ProcessOutput {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.get_mut();
        while this.piece.is_empty() {
            match ready!(this.poll_piece(cx))? {
                Some(piece) => this.piece = piece,
                None => break,
            }
        }
        Poll::Ready(Ok(&this.piece))
    }

    fn consume(mut self: Pin<&mut Self>, amount: usize) {
        let amount = amount.min(self.piece.len());
        self.piece.advance(amount);
    }
}

impl AsyncRead for ProcessOutput {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let piece = ready!(self.as_mut().poll_fill_buf(cx))?;
        let taken = piece.len().min(buf.remaining());
        buf.put_slice(piece.get(..taken).unwrap_or_default());
        self.consume(taken);
        Poll::Ready(Ok(()))
    }
}

impl fmt::Debug for ProcessOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProcessOutput")
    }
}
