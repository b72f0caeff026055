use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream without TLS, which notices if the other side answers with a TLS record.
///
/// A TLS server answers a request without TLS with an alert (RFC 8446, section 6), which is not HTTP. Only the first
/// bytes are checked.
pub(super) struct Cleartext<T> {
    inner: T,
    is_checked: bool,
}

impl<T> Cleartext<T> {
    pub(super) fn new(inner: T) -> Self {
        Self {
            inner,
            is_checked: false,
        }
    }
}

/// An alert's content type, and the first byte of every version that TLS has had.
const ALERT: [u8; 2] = [21, 3];

impl<T: AsyncRead + Unpin> AsyncRead for Cleartext<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        if !self.is_checked {
            self.is_checked = true;
            let first = buffer.filled().get(before..).unwrap_or_default();
            if first.starts_with(&ALERT) {
                return Poll::Ready(Err(io::Error::other(
                    "the server speaks TLS: begin the cluster's `server` with https://",
                )));
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Cleartext<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buffer)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}
