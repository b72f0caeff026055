use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::time::timeout;

use crate::core::Core;

/// How much of a body is read that no handler has read, as in Go's server.
const LIMIT: usize = 256 * 1024;
/// How long it is waited for the rest of a body.
const PATIENCE: Duration = Duration::from_secs(30);

/// The body of an HTTP/1.1 request. What its handler leaves is read and dropped, so that the connection can carry the next request. A
/// client may send the body after the answer, and hyper closes a connection whose body is not there yet.
pub(super) struct Unread<B: Body<Data = Bytes> + Send + Unpin + 'static> {
    /// `None` after the end.
    body: Option<B>,
    core: Option<Arc<Core>>,
    ending: Ending,
}

/// Whether a connection ends with a request, because its body is too long to be read for nothing.
#[derive(Clone, Default)]
pub(super) struct Ending(Arc<AtomicBool>);

impl Ending {
    /// Whether the handler has left so much of the body that the connection ends.
    pub(super) fn is_due(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl<B: Body<Data = Bytes> + Send + Unpin + 'static> Unread<B> {
    /// Reads what is left with a task of the sandbox. Without a sandbox it is not read. Notes in `ending` whether that is too much.
    pub(super) fn new(body: B, core: Option<Arc<Core>>, ending: Ending) -> Self {
        Self {
            body: Some(body),
            core,
            ending,
        }
    }
}

impl<B: Body<Data = Bytes> + Send + Unpin + 'static> Body for Unread<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let frame = Pin::new(body).poll_frame(cx);
        if let Poll::Ready(None) = frame {
            self.body = None;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let hint = self.body.as_ref().map(Body::size_hint);
        hint.unwrap_or_else(|| SizeHint::with_exact(0))
    }
}

impl<B: Body<Data = Bytes> + Send + Unpin + 'static> Drop for Unread<B> {
    fn drop(&mut self) {
        let (Some(mut body), Some(core)) = (self.body.take(), self.core.take()) else {
            return;
        };
        if body.is_end_stream() {
            return;
        }
        if body.size_hint().lower() > LIMIT as u64 {
            self.ending.0.store(true, Ordering::Relaxed);
        }
        core.spawn(async move {
            let rest = async {
                let mut read = 0;
                while read <= LIMIT
                    && let Some(Ok(frame)) = body.frame().await
                {
                    read += frame.data_ref().map_or(0, Bytes::len);
                }
            };
            // What has not come by then does not come, and hyper closes the connection.
            let _ = timeout(PATIENCE, rest).await;
        });
    }
}
