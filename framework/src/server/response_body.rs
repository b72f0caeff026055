use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::activity::OpenResponse;
use crate::client::{Body, BoxError};

/// The size of a body frame. Larger frames would make the connection buffer data for a peer that does
/// not read it.
const CHUNK: usize = 16 * 1024;

/// The body of a response. The response counts as open until the connection has the whole body.
pub(super) struct ResponseBody {
    /// What the connection did not ask for yet.
    body: Body,
    /// The part of the last frame that the connection did not take yet.
    rest: Bytes,
    open: OpenResponse,
}

impl ResponseBody {
    /// Creates the body. If it is empty, `open` counts as handed over at once.
    pub(super) fn new(body: Body, mut open: OpenResponse) -> Self {
        if http_body::Body::is_end_stream(&body) {
            open.take();
        }
        Self {
            body,
            rest: Bytes::new(),
            open,
        }
    }
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.rest.is_empty() {
            let frame = ready!(Pin::new(&mut self.body).poll_frame(cx)?);
            match frame.map(Frame::into_data) {
                Some(Ok(data)) => self.rest = data,
                // Trailers are the last frame.
                Some(Err(trailers)) => {
                    self.open.take();
                    return Poll::Ready(Some(Ok(trailers)));
                }
                None => {
                    self.open.take();
                    return Poll::Ready(None);
                }
            }
        }
        let chunk = self.rest.len().min(CHUNK);
        let chunk = self.rest.split_to(chunk);
        if self.is_end_stream() {
            self.open.take();
        }
        Poll::Ready(Some(Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.body.size_hint();
        let rest = self.rest.len() as u64;
        // The upper bound is set first, because it must not be below the lower one.
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(hint.lower() + rest);
        hint
    }
}
