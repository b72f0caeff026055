use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;

use super::activity::OpenResponse;

/// The size of a body frame. Larger frames would make the connection buffer data for a peer that does
/// not read it.
const CHUNK: usize = 16 * 1024;

/// The body of a response. The response counts as open until the connection has the whole body.
pub(super) struct ResponseBody {
    whole: Full<Bytes>,
    rest: Bytes,
    open: OpenResponse,
}

impl ResponseBody {
    /// Creates the body. If it is empty, `open` counts as handed over at once.
    pub(super) fn new(whole: Full<Bytes>, mut open: OpenResponse) -> Self {
        if whole.is_end_stream() {
            open.take();
        }
        Self {
            whole,
            rest: Bytes::new(),
            open,
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            let frame = ready!(Pin::new(&mut self.whole).poll_frame(cx)?);
            let data = frame.and_then(|frame| frame.into_data().ok());
            let Some(data) = data else {
                self.open.take();
                return Poll::Ready(None);
            };
            self.rest = data;
        }
        let chunk = self.rest.len().min(CHUNK);
        let chunk = self.rest.split_to(chunk);
        if self.is_end_stream() {
            self.open.take();
        }
        Poll::Ready(Some(Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.whole.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let whole = self.whole.size_hint().exact().unwrap_or_default();
        SizeHint::with_exact(whole + self.rest.len() as u64)
    }
}
