use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use http::Request;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Io;
use crate::client::{Body, error::FenceClosed, request::Fence};

/// A stream that checks the fences of its requests in the same poll that gives bytes to the kernel.
///
/// After a request has passed its fence, it may stay in the process for a long time before it is written: its task is
/// not polled, the process is stopped (SIGSTOP), or the other side accepts no bytes. A connection cannot leave out the
/// bytes of one request. So if the fence of a waiting request is closed, the stream writes nothing more, and the
/// connection ends. Other requests on it fail as on a broken connection.
pub(super) struct FencedIo {
    io: Box<dyn Io>,
    fences: Fences,
    /// Whether accepted bytes may not have reached the kernel.
    unflushed: bool,
    closed: bool,
}

/// The fences of the requests on one connection that wait for their answers.
#[derive(Clone, Default)]
pub(super) struct Fences(Arc<FenceSet>);

#[derive(Default)]
struct FenceSet {
    /// The number of requests with a fence. A connection without any checks nothing.
    fenced: AtomicUsize,
    /// Each fence once, because the requests of one client share it.
    fences: Mutex<Vec<CountedFence>>,
    /// The number of requests that were given up, and may still have bytes to write.
    dropped: AtomicUsize,
    /// The number of writes so far.
    writes: AtomicU64,
}

struct CountedFence {
    fence: Fence,
    requests: usize,
    dropped: usize,
}

/// A request with a fence, until its answer begins.
///
/// If this is dropped before [`done`](Self::done), the caller gave up the request. Its fence is checked until all bytes
/// are written.
pub(super) struct FencedRequest {
    inner: Arc<FenceSet>,
    fence: Fence,
    /// The number of writes before this request.
    writes: u64,
    is_done: bool,
}

impl FencedIo {
    pub(super) fn new(io: Box<dyn Io>) -> (Self, Fences) {
        let fences = Fences::default();
        let fenced = Self {
            io,
            fences: fences.clone(),
            unflushed: false,
            closed: false,
        };
        (fenced, fences)
    }

    fn check(&mut self) -> io::Result<()> {
        if !self.closed && self.fences.0.fenced.load(Ordering::Acquire) > 0 {
            self.closed = self.fences.0.are_closed();
        }
        match self.closed {
            true => Err(io::Error::new(
                io::ErrorKind::ConnectionAborted,
                "a request on this connection may not be sent any more",
            )),
            false => Ok(()),
        }
    }

    fn wrote(&mut self, written: &Poll<io::Result<usize>>) {
        if matches!(written, Poll::Ready(Ok(_))) {
            self.unflushed = true;
            self.fences.0.writes.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Fences {
    /// Accepts `request` if its fence is open. Checks the fence before each write until the returned value is dropped.
    ///
    /// # Errors
    /// The fence is closed. Nothing was sent.
    pub(super) fn enter(
        &self,
        request: &Request<Body>,
    ) -> Result<Option<FencedRequest>, FenceClosed> {
        let Some(fence) = request.extensions().get::<Fence>() else {
            return Ok(None);
        };
        check_fence(fence)?;
        let inner = self.0.clone();
        let mut fences = inner.fences.lock();
        match fences.iter_mut().find(|one| one.fence.is(fence)) {
            Some(one) => one.requests += 1,
            None => fences.push(CountedFence {
                fence: fence.clone(),
                requests: 1,
                dropped: 0,
            }),
        }
        drop(fences);
        inner.fenced.fetch_add(1, Ordering::Release);
        let writes = inner.writes.load(Ordering::Relaxed);
        let fence = fence.clone();
        Ok(Some(FencedRequest {
            inner,
            fence,
            writes,
            is_done: false,
        }))
    }
}

impl FenceSet {
    fn are_closed(&self) -> bool {
        let fences = self.fences.lock();
        fences.iter().any(|one| check_fence(&one.fence).is_err())
    }

    /// Must be called when all accepted bytes have reached the kernel.
    fn flushed(&self) {
        if self.dropped.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut fences = self.fences.lock();
        let mut ended = 0;
        fences.retain_mut(|one| {
            ended += std::mem::take(&mut one.dropped);
            one.requests > 0
        });
        drop(fences);
        self.dropped.fetch_sub(ended, Ordering::Release);
        self.fenced.fetch_sub(ended, Ordering::Release);
    }
}

fn check_fence(fence: &Fence) -> Result<(), FenceClosed> {
    fence.check()
}

impl FencedRequest {
    /// The reason why the request was not sent. `None` if its fence is open, or if something was written since the
    /// request came.
    pub(super) fn unsent(&self) -> Option<FenceClosed> {
        let nothing = self.inner.writes.load(Ordering::Relaxed) == self.writes;
        check_fence(&self.fence).err().filter(|_| nothing)
    }

    /// The answer began, or the request failed. None of its bytes will be written any more.
    pub(super) fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for FencedRequest {
    fn drop(&mut self) {
        let mut fences = self.inner.fences.lock();
        for one in fences.iter_mut().filter(|one| one.fence.is(&self.fence)) {
            one.requests = one.requests.saturating_sub(1);
            one.dropped += usize::from(!self.is_done);
        }
        fences.retain(|one| one.requests + one.dropped > 0);
        drop(fences);
        if self.is_done {
            self.inner.fenced.fetch_sub(1, Ordering::Release);
        } else {
            self.inner.dropped.fetch_add(1, Ordering::Release);
        }
    }
}

impl AsyncRead for FencedIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.io).poll_read(cx, buffer)
    }
}

impl AsyncWrite for FencedIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        let written = Pin::new(&mut *self.io).poll_write(cx, bytes);
        self.wrote(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        let written = Pin::new(&mut *self.io).poll_write_vectored(cx, slices);
        self.wrote(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    /// TLS writes here the bytes for which the kernel had no room.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.unflushed {
            self.check()?;
        }
        let flushed = Pin::new(&mut *self.io).poll_flush(cx);
        if matches!(flushed, Poll::Ready(Ok(()))) {
            self.unflushed = false;
            self.fences.0.flushed();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The shutdown would write unflushed bytes.
        if self.unflushed {
            self.check()?;
        }
        Pin::new(&mut *self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use tokio::io::AsyncWriteExt;

    use super::*;

    /// A request with a fence that is open until the flag is set.
    fn fenced(closed: &Arc<AtomicBool>) -> Request<Body> {
        let closed = closed.clone();
        let fence = Fence::new(move || match closed.load(Ordering::SeqCst) {
            true => Err("lost".into()),
            false => Ok(()),
        });
        let mut request = Request::new(Body::empty());
        request.extensions_mut().insert(fence);
        request
    }

    #[tokio::test]
    async fn nothing_is_written_flushed_or_ended_once_the_fence_of_a_request_is_closed() {
        let closed = Arc::new(AtomicBool::new(false));
        let (near, far) = tokio::io::duplex(64);
        let (mut io, fences) = FencedIo::new(Box::new(near));
        let passing = fences.enter(&fenced(&closed)).unwrap().unwrap();
        io.write_all(b"head").await.unwrap();
        closed.store(true, Ordering::SeqCst);
        let aborted = io::ErrorKind::ConnectionAborted;
        assert_eq!(io.flush().await.unwrap_err().kind(), aborted);
        assert_eq!(io.shutdown().await.unwrap_err().kind(), aborted);
        assert_eq!(io.write(b"body").await.unwrap_err().kind(), aborted);
        let slices = [io::IoSlice::new(b"body")];
        let error = io.write_vectored(&slices).await.unwrap_err();
        assert_eq!(error.kind(), aborted);
        // The fence stays closed after the request has ended.
        passing.done();
        assert!(io.write(b"body").await.is_err());
        drop(far);
    }

    #[tokio::test]
    async fn a_request_counts_as_unsent_only_if_nothing_was_written_since_it_came() {
        let closed = Arc::new(AtomicBool::new(false));
        let (near, _far) = tokio::io::duplex(64);
        let (mut io, fences) = FencedIo::new(Box::new(near));
        let request = fenced(&closed);
        let first = fences.enter(&request).unwrap().unwrap();
        io.write_all(b"head").await.unwrap();
        let second = fences.enter(&request).unwrap().unwrap();
        assert!(second.unsent().is_none(), "the fence is open");
        closed.store(true, Ordering::SeqCst);
        assert!(first.unsent().is_none() && second.unsent().is_some());
        assert!(fences.enter(&request).is_err());
        let unfenced = Request::new(Body::empty());
        assert!(fences.enter(&unfenced).unwrap().is_none());
    }

    #[tokio::test]
    async fn no_fence_of_an_answered_or_dropped_request_is_kept() {
        let closed = Arc::new(AtomicBool::new(false));
        let (near, _far) = tokio::io::duplex(64);
        let (mut io, fences) = FencedIo::new(Box::new(near));
        let request = fenced(&closed);
        let enter = || fences.enter(&request).unwrap().unwrap();
        let (answered, dropped, waiting) = (enter(), enter(), enter());
        answered.done();
        drop(dropped);
        let counts = || {
            let inner = &fences.0;
            let kept = inner.fences.lock().len();
            (
                kept,
                inner.fenced.load(Ordering::SeqCst),
                inner.dropped.load(Ordering::SeqCst),
            )
        };
        assert_eq!(counts(), (1, 2, 1));
        io.flush().await.unwrap();
        assert_eq!(counts(), (1, 1, 0));
        waiting.done();
        assert_eq!(counts(), (0, 0, 0));
        closed.store(true, Ordering::SeqCst);
        io.write_all(b"head").await.unwrap();
    }
}
