use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_core::Stream;
use http_body::Body as _;

use crate::client::{Body, Encoding, Error, codec::Frames};

/// An answer as it comes, in pieces of any length. An error is the last item.
///
/// If the caller reads nothing for 30 s while more than 256 KiB wait, the stream ends with
/// [`ErrorKind::Lagged`](crate::client::ErrorKind::Lagged).
pub struct AnswerStream {
    verb: &'static str,
    target: String,
    body: Body,
    ended: bool,
}

impl AnswerStream {
    pub(crate) fn new(verb: &'static str, target: String, body: Body) -> Self {
        Self {
            verb,
            target,
            body,
            ended: false,
        }
    }

    pub(crate) fn verb(&self) -> &'static str {
        self.verb
    }

    pub(crate) fn target(&self) -> &str {
        &self.target
    }

    /// Returns the answer line by line, without line ends and blank lines: the events of a watch, for example. A line of
    /// more than 32 MiB is an error.
    pub fn lines(self) -> impl Stream<Item = Result<Bytes, Error>> + Send + Unpin + use<> {
        let Self {
            verb, target, body, ..
        } = self;
        let frames = Some(Frames::new(Encoding::Json, body));
        let lines = futures_util::stream::unfold(frames, move |frames| {
            let target = target.clone();
            async move {
                let mut frames = frames?;
                match std::future::poll_fn(|cx| frames.poll_frame(cx)).await? {
                    Ok(line) => Some((Ok(line), Some(frames))),
                    Err(source) => Some((Err(Error::from_stack(verb, target, source)), None)),
                }
            }
        });
        Box::pin(lines)
    }
}

impl Stream for AnswerStream {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        while !self.ended {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if let Ok(piece) = frame.into_data()
                        && !piece.is_empty()
                    {
                        return Poll::Ready(Some(Ok(piece)));
                    }
                }
                Some(Err(error)) => {
                    self.ended = true;
                    let error = Error::from_stack(self.verb, self.target.clone(), error);
                    return Poll::Ready(Some(Err(error)));
                }
                None => self.ended = true,
            }
        }
        Poll::Ready(None)
    }
}

impl fmt::Debug for AnswerStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AnswerStream({} {})", self.verb, self.target)
    }
}
