use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;

use super::activity::OpenAnswer;

/// How much of an answer is given away at once: what the connection holds beyond it, it holds for a peer that reads.
const CHUNK: usize = 16 * 1024;

/// The body of an answer, which is open until the connection has all of it.
pub(super) struct AnswerBody {
    whole: Full<Bytes>,
    rest: Bytes,
    open: OpenAnswer,
}

impl AnswerBody {
    /// `open` is taken at once when there is nothing to take.
    pub(super) fn new(whole: Full<Bytes>, mut open: OpenAnswer) -> Self {
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

impl Body for AnswerBody {
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
