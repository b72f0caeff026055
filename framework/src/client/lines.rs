use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use http_body::Body as _;

use super::{Body, BoxError};

/// The longest line that is taken; an object in etcd is at most a few MiB.
const LONGEST: usize = 32 * 1024 * 1024;

/// The lines of a body. A line that came in one piece is not copied.
pub(super) struct Lines {
    body: Body,
    /// What is left of the piece that came last.
    piece: Bytes,
    /// The beginning of a line whose end has not come yet.
    begun: Vec<u8>,
    ended: bool,
}

impl Lines {
    pub(super) fn new(body: Body) -> Self {
        Self {
            body,
            piece: Bytes::new(),
            begun: Vec::new(),
            ended: false,
        }
    }

    /// The next line that is not blank; the rest of the body after the last line break is one, too.
    pub(super) fn poll_line(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, BoxError>>> {
        while !self.ended {
            if let Some(end) = memchr::memchr(b'\n', &self.piece) {
                let mut line = self.piece.split_to(end);
                self.piece.advance(1);
                if !self.begun.is_empty() {
                    self.begun.extend_from_slice(&line);
                    line = std::mem::take(&mut self.begun).into();
                }
                if !line.trim_ascii().is_empty() {
                    return Poll::Ready(Some(Ok(line)));
                }
                continue;
            }
            self.begun.extend_from_slice(&self.piece);
            self.piece.clear();
            if self.begun.len() > LONGEST {
                self.ended = true;
                let text = format!("a line is longer than {LONGEST} bytes");
                return Poll::Ready(Some(Err(text.into())));
            }
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => self.piece = frame.into_data().unwrap_or_default(),
                Some(Err(error)) => {
                    self.ended = true;
                    return Poll::Ready(Some(Err(error)));
                }
                None => {
                    self.ended = true;
                    let rest = std::mem::take(&mut self.begun);
                    if !rest.trim_ascii().is_empty() {
                        return Poll::Ready(Some(Ok(rest.into())));
                    }
                }
            }
        }
        Poll::Ready(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::StreamExt;
    use http_body::Frame;
    use http_body_util::StreamBody;
    use proptest::prelude::*;

    /// All lines of a body that comes in these pieces.
    fn lines(pieces: Vec<Vec<u8>>) -> Vec<Bytes> {
        let pieces = pieces
            .into_iter()
            .map(|piece| Ok::<_, BoxError>(Frame::data(Bytes::from(piece))));
        let body = StreamBody::new(futures_util::stream::iter(pieces));
        let mut lines = Lines::new(Body::new(body));
        let stream = futures_util::stream::poll_fn(move |cx| lines.poll_line(cx));
        let all = futures_util::FutureExt::now_or_never(stream.collect::<Vec<_>>()).unwrap();
        all.into_iter().map(Result::unwrap).collect()
    }

    proptest! {
        #[test]
        fn the_cuts_of_the_transport_do_not_matter(
            text in "[ab\n ]{0,60}", cuts in proptest::collection::vec(0..60usize, 0..6)
        ) {
            let mut pieces = vec![Vec::new()];
            for (at, byte) in text.bytes().enumerate() {
                if cuts.contains(&at) {
                    pieces.push(Vec::new());
                }
                pieces.last_mut().unwrap().push(byte);
            }
            let expected: Vec<_> = text.split('\n').filter(|line| !line.trim().is_empty()).collect();
            prop_assert_eq!(lines(pieces), expected);
        }
    }
}
