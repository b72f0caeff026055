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

/// A stream that notices when the reader has processed the first bytes of the server.
///
/// The first frame of an HTTP/2 server says how many streams it allows, and hyper has no way to wait for it. The reader
/// asks for more bytes only after it has processed the ones before. That is the sign.
pub(super) struct SettingsWaitIo {
    io: Box<dyn Io>,
    something_came: bool,
    settings_wait: Arc<SettingsWait>,
}

pub(super) struct SettingsWait {
    notify: Notify,
    /// Whether nothing waits any more.
    settled: AtomicBool,
}

impl SettingsWaitIo {
    pub(super) fn new(io: Box<dyn Io>) -> (Self, Arc<SettingsWait>) {
        let settings_wait = Arc::new(SettingsWait {
            notify: Notify::new(),
            settled: AtomicBool::new(false),
        });
        let io = Self {
            io,
            something_came: false,
            settings_wait: settings_wait.clone(),
        };
        (io, settings_wait)
    }

    fn tell(&self) {
        if self.something_came && !self.settings_wait.settled.load(Ordering::Relaxed) {
            self.settings_wait.notify.notify_one();
        }
    }
}

impl SettingsWait {
    /// Waits until `is_settled` returns true. Calls it each time after new bytes were processed.
    pub(super) async fn until(&self, is_settled: impl Fn() -> bool) {
        while !is_settled() {
            self.notify.notified().await;
        }
        self.settled.store(true, Ordering::Relaxed);
    }
}

impl AsyncRead for SettingsWaitIo {
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

impl AsyncWrite for SettingsWaitIo {
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
