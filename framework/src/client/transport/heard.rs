use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::Notify,
};

use super::Io;

/// A stream that tells when what came first from the other side has been worked on.
///
/// An HTTP/2 server's first frame says how many streams it allows, and hyper has no way to wait for
/// it. The reader asks for more only when it is done with what it has: that is the sign.
pub(super) struct Heard {
    io: Box<dyn Io>,
    something_came: bool,
    told: Arc<Told>,
}

pub(super) struct Told {
    notify: Notify,
    /// Nobody waits any more.
    settled: AtomicBool,
}

impl Heard {
    pub(super) fn new(io: Box<dyn Io>) -> (Self, Arc<Told>) {
        let told = Arc::new(Told {
            notify: Notify::new(),
            settled: AtomicBool::new(false),
        });
        let heard = Self {
            io,
            something_came: false,
            told: told.clone(),
        };
        (heard, told)
    }

    fn tell(&self) {
        if self.something_came && !self.told.settled.load(Ordering::Relaxed) {
            self.told.notify.notify_one();
        }
    }
}

impl Told {
    /// Waits until `is_settled`; it is asked each time something has come and been worked on.
    pub(super) async fn until(&self, is_settled: impl Fn() -> bool) {
        while !is_settled() {
            self.notify.notified().await;
        }
        self.settled.store(true, Ordering::Relaxed);
    }
}

impl AsyncRead for Heard {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.tell();
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut *self.io).poll_read(cx, buffer);
        self.something_came |= buffer.filled().len() > before;
        outcome
    }
}

impl AsyncWrite for Heard {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.io).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.io).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.io).poll_shutdown(cx)
    }
}
