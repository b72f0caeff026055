use std::{
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use http::Request;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Io;
use crate::client::{
    Body,
    stack::{Closed, Fence},
};

/// A stream that asks the fences of the requests on it in the very poll that hands bytes to the kernel.
///
/// A request that passed its fence may stay in the process for long before it is written: its task is not polled, the
/// process is stopped (SIGSTOP), or the other side takes nothing. A connection cannot leave out the bytes of one request.
/// So once a fence of a request that waits for its answer is closed, nothing is written any more, and the connection
/// ends. Other requests on it fail as on a connection that broke.
pub(super) struct FencedIo {
    io: Box<dyn Io>,
    fences: Fences,
    /// Bytes were taken that may not have reached the kernel.
    unflushed: bool,
    closed: bool,
}

/// The fences of the requests on one connection that wait for their answers.
#[derive(Clone, Default)]
pub(super) struct Fences(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// How many requests have a fence, so that a connection without any asks nothing.
    fenced: AtomicUsize,
    /// Each fence once: the requests of one client share it.
    fences: Mutex<Vec<Fenced>>,
    /// How many requests were given up, and may still have bytes to write.
    given_up: AtomicUsize,
    /// Counts what was written.
    writes: AtomicU64,
}

struct Fenced {
    fence: Fence,
    requests: usize,
    given_up: usize,
}

/// A request that has a fence, until its answer has begun.
///
/// Dropped before it is [done](Self::done), the request was given up. Its fence is asked until all was written.
pub(super) struct Passing {
    inner: Arc<Inner>,
    fence: Fence,
    /// What had been written when it came.
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
    /// Lets `request` pass if its fence is open, and asks the fence before each write until what this gives is dropped.
    ///
    /// # Errors
    /// The fence is closed: nothing was sent.
    pub(super) fn enter(&self, request: &Request<Body>) -> Result<Option<Passing>, Closed> {
        let Some(fence) = request.extensions().get::<Fence>() else {
            return Ok(None);
        };
        is_open(fence)?;
        let inner = self.0.clone();
        let mut fences = inner.fences();
        match fences.iter_mut().find(|one| one.fence.is(fence)) {
            Some(one) => one.requests += 1,
            None => fences.push(Fenced {
                fence: fence.clone(),
                requests: 1,
                given_up: 0,
            }),
        }
        drop(fences);
        inner.fenced.fetch_add(1, Ordering::Release);
        let writes = inner.writes.load(Ordering::Relaxed);
        let fence = fence.clone();
        Ok(Some(Passing {
            inner,
            fence,
            writes,
            is_done: false,
        }))
    }
}

impl Inner {
    fn are_closed(&self) -> bool {
        let fences = self.fences();
        fences.iter().any(|one| is_open(&one.fence).is_err())
    }

    /// All that was taken has reached the kernel.
    fn flushed(&self) {
        if self.given_up.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut fences = self.fences();
        let mut ended = 0;
        fences.retain_mut(|one| {
            ended += std::mem::take(&mut one.given_up);
            one.requests > 0
        });
        drop(fences);
        self.given_up.fetch_sub(ended, Ordering::Release);
        self.fenced.fetch_sub(ended, Ordering::Release);
    }

    fn fences(&self) -> MutexGuard<'_, Vec<Fenced>> {
        self.fences.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_open(fence: &Fence) -> Result<(), Closed> {
    fence.check()
}

impl Passing {
    /// Why the request was not sent, if nothing was written since it came because its fence is closed.
    pub(super) fn unsent(&self) -> Option<Closed> {
        let nothing = self.inner.writes.load(Ordering::Relaxed) == self.writes;
        is_open(&self.fence).err().filter(|_| nothing)
    }

    /// Its answer has begun, or it failed: nothing of it will be written any more.
    pub(super) fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        let mut fences = self.inner.fences();
        for one in fences.iter_mut().filter(|one| one.fence.is(&self.fence)) {
            one.requests = one.requests.saturating_sub(1);
            one.given_up += usize::from(!self.is_done);
        }
        fences.retain(|one| one.requests + one.given_up > 0);
        drop(fences);
        if self.is_done {
            self.inner.fenced.fetch_sub(1, Ordering::Release);
        } else {
            self.inner.given_up.fetch_add(1, Ordering::Release);
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

    /// TLS writes here what the kernel had no room for.
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
        // It would write what is unflushed.
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
    use tower::{Layer, Service, ServiceExt};

    use super::*;
    use crate::client::{BoxError, stack::FenceLayer};

    /// A request with a fence that is open until the flag is set.
    async fn fenced(closed: &Arc<AtomicBool>) -> Request<Body> {
        let closed = closed.clone();
        let layer = FenceLayer::new(move || match closed.load(Ordering::SeqCst) {
            true => Err("lost".into()),
            false => Ok(()),
        });
        // The layer gives the fence to what passes it.
        let (sender, receiver) = std::sync::mpsc::channel();
        let passed = tower::service_fn(move |request: Request<Body>| {
            sender.send(request).unwrap();
            async { Ok::<_, BoxError>(http::Response::new(Body::empty())) }
        });
        let mut service = layer.layer(passed);
        let service = service.ready().await.unwrap();
        let request = Request::new(Body::empty());
        service.call(request).await.unwrap();
        receiver.recv().unwrap()
    }

    #[tokio::test]
    async fn nothing_is_written_flushed_or_ended_once_the_fence_of_a_request_is_closed() {
        let closed = Arc::new(AtomicBool::new(false));
        let (near, far) = tokio::io::duplex(64);
        let (mut io, fences) = FencedIo::new(Box::new(near));
        let passing = fences.enter(&fenced(&closed).await).unwrap().unwrap();
        io.write_all(b"head").await.unwrap();
        closed.store(true, Ordering::SeqCst);
        let aborted = io::ErrorKind::ConnectionAborted;
        assert_eq!(io.flush().await.unwrap_err().kind(), aborted);
        assert_eq!(io.shutdown().await.unwrap_err().kind(), aborted);
        assert_eq!(io.write(b"body").await.unwrap_err().kind(), aborted);
        let slices = [io::IoSlice::new(b"body")];
        let error = io.write_vectored(&slices).await.unwrap_err();
        assert_eq!(error.kind(), aborted);
        // It stays closed, whatever becomes of the request.
        passing.done();
        assert!(io.write(b"body").await.is_err());
        drop(far);
    }

    #[tokio::test]
    async fn a_request_counts_as_unsent_only_if_nothing_was_written_since_it_came() {
        let closed = Arc::new(AtomicBool::new(false));
        let (near, _far) = tokio::io::duplex(64);
        let (mut io, fences) = FencedIo::new(Box::new(near));
        let request = fenced(&closed).await;
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
    async fn nothing_is_kept_of_requests_that_were_answered_or_given_up() {
        let closed = Arc::new(AtomicBool::new(false));
        let (near, _far) = tokio::io::duplex(64);
        let (mut io, fences) = FencedIo::new(Box::new(near));
        let request = fenced(&closed).await;
        let enter = || fences.enter(&request).unwrap().unwrap();
        let (answered, given_up, waiting) = (enter(), enter(), enter());
        answered.done();
        drop(given_up);
        let counts = || {
            let inner = &fences.0;
            let kept = inner.fences().len();
            (
                kept,
                inner.fenced.load(Ordering::SeqCst),
                inner.given_up.load(Ordering::SeqCst),
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
