use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use http_body::Body as _;

use super::{AddedCodec, Encoding, EventFrame};
use crate::client::{Body, BoxError};

/// The length limit of a frame. An object in etcd has at most a few MiB.
const LONGEST: usize = 32 * 1024 * 1024;

/// Splits the body of a watch into frames, one for each event. A frame that came in one piece is not copied.
pub(crate) struct Frames {
    body: Body,
    /// The rest of the last piece.
    piece: Bytes,
    /// The beginning of a frame whose end has not come yet.
    begun: Vec<u8>,
    cutter: Cutter,
    ended: bool,
}

/// Finds the end of a frame. Scans each byte once.
enum Cutter {
    Lines {
        seen: usize,
    },
    #[cfg(feature = "cbor")]
    Items(super::cbor::Items),
    /// The length of the frame stands before it, in four bytes.
    Counted,
    /// The codec of a program finds the frame.
    Added(AddedCodec),
}

impl Cutter {
    fn of(encoding: Encoding) -> Self {
        match encoding {
            Encoding::Json => Self::Lines { seen: 0 },
            #[cfg(feature = "cbor")]
            Encoding::Cbor => Self::Items(super::cbor::Items::default()),
            Encoding::Protobuf => Self::Counted,
            Encoding::Added(codec) => Self::Added(codec),
            #[cfg(test)]
            Encoding::Framed => Self::Counted,
        }
    }

    /// Finds the frame at the beginning of `buffer`. `None` if its end has not come yet; then the next call must pass
    /// the same bytes and more.
    fn cut(&mut self, buffer: &[u8]) -> Result<Option<Cut>, BoxError> {
        match self {
            Self::Lines { seen } => {
                let fresh = buffer.get(*seen..).unwrap_or_default();
                let Some(end) = memchr::memchr(b'\n', fresh) else {
                    *seen = buffer.len();
                    return Ok(None);
                };
                let end = *seen + end;
                *seen = 0;
                Ok(Some(Cut {
                    start: 0,
                    end,
                    taken: end + 1,
                }))
            }
            #[cfg(feature = "cbor")]
            Self::Items(items) => Ok(items.cut(buffer)?.map(|end| Cut {
                start: 0,
                end,
                taken: end,
            })),
            Self::Counted => {
                let Some((length, rest)) = buffer.split_first_chunk() else {
                    return Ok(None);
                };
                let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
                if length > LONGEST {
                    return Err(too_long());
                }
                let end = length + size_of::<u32>();
                Ok((rest.len() >= length).then_some(Cut {
                    start: size_of::<u32>(),
                    end,
                    taken: end,
                }))
            }
            Self::Added(codec) => {
                let Some(EventFrame { document, length }) = codec.0.event(buffer)? else {
                    return Ok(None);
                };
                let is_in_order = document.start <= document.end && document.end <= length;
                if !is_in_order || length == 0 || length > buffer.len() {
                    return Err("the codec found an event that is not in the body".into());
                }
                Ok(Some(Cut {
                    start: document.start,
                    end: document.end,
                    taken: length,
                }))
            }
        }
    }
}

struct Cut {
    start: usize,
    end: usize,
    taken: usize,
}

#[cold]
fn too_long() -> BoxError {
    format!("an event is longer than {LONGEST} bytes").into()
}

impl Frames {
    pub(crate) fn new(encoding: Encoding, body: Body) -> Self {
        Self {
            body,
            piece: Bytes::new(),
            begun: Vec::new(),
            cutter: Cutter::of(encoding),
            ended: false,
        }
    }

    /// The next frame that is not blank. The rest of the body after the last frame counts as one, too.
    ///
    /// # Errors
    /// The body breaks, a frame is longer than 32 MiB, or its end cannot be found. No frame follows.
    pub(crate) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, BoxError>>> {
        while !self.ended {
            match self.cut() {
                Ok(Some(frame)) if self.is_blank(&frame) => continue,
                Ok(Some(frame)) => return Poll::Ready(Some(self.document(frame))),
                Ok(None) => {}
                Err(error) => {
                    self.ended = true;
                    return Poll::Ready(Some(Err(error)));
                }
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
                    if !rest.is_empty() && !self.is_blank(&rest) {
                        return Poll::Ready(Some(self.document(rest.into())));
                    }
                }
            }
        }
        Poll::Ready(None)
    }

    /// What to decode of a frame. No frame follows an error.
    fn document(&mut self, frame: Bytes) -> Result<Bytes, BoxError> {
        let document = match &self.cutter {
            Cutter::Added(codec) => Encoding::Added(*codec).received(frame),
            _ => Ok(frame),
        };
        self.ended |= document.is_err();
        document.map_err(BoxError::from)
    }

    fn is_blank(&self, frame: &[u8]) -> bool {
        matches!(self.cutter, Cutter::Lines { .. }) && frame.trim_ascii().is_empty()
    }

    /// Cuts a whole frame. If the bytes hold no whole frame, moves all of them to `begun`.
    fn cut(&mut self) -> Result<Option<Bytes>, BoxError> {
        if self.piece.is_empty() {
            return Ok(None);
        }
        let before = self.begun.len();
        if before == 0 {
            if let Some(cut) = self.cutter.cut(&self.piece)? {
                let frame = self.piece.slice(cut.start..cut.end);
                self.piece.advance(cut.taken);
                return Ok(Some(frame));
            }
            self.begun.extend_from_slice(&self.piece);
            self.piece.clear();
        } else {
            self.begun.extend_from_slice(&self.piece);
            if let Some(cut) = self.cutter.cut(&self.begun)? {
                self.piece.advance(cut.taken.saturating_sub(before));
                self.begun.truncate(cut.end);
                let frame = Bytes::from(std::mem::take(&mut self.begun));
                return Ok(Some(frame.slice(cut.start..)));
            }
            self.piece.clear();
        }
        if self.begun.len() > LONGEST {
            return Err(too_long());
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::StreamExt;
    use http_body::Frame;
    use http_body_util::StreamBody;
    use proptest::prelude::*;

    /// All frames of a body that comes in pieces cut at these positions.
    fn frames(encoding: Encoding, body: &[u8], cuts: &[usize]) -> Vec<Result<Bytes, String>> {
        let mut pieces = vec![Vec::new()];
        for (at, byte) in body.iter().enumerate() {
            if cuts.contains(&at) {
                pieces.push(Vec::new());
            }
            pieces.last_mut().unwrap().push(*byte);
        }
        let pieces = pieces
            .into_iter()
            .map(|piece| Ok::<_, BoxError>(Frame::data(Bytes::from(piece))));
        let body = StreamBody::new(futures_util::stream::iter(pieces));
        let mut frames = Frames::new(encoding, Body::new(body));
        let stream = futures_util::stream::poll_fn(move |cx| frames.poll_frame(cx));
        let all = futures_util::FutureExt::now_or_never(stream.collect::<Vec<_>>()).unwrap();
        let text = |error: BoxError| error.to_string();
        all.into_iter().map(|frame| frame.map_err(text)).collect()
    }

    fn cuts() -> impl Strategy<Value = Vec<usize>> {
        proptest::collection::vec(0..60usize, 0..6)
    }

    proptest! {
        #[test]
        fn the_pieces_of_the_transport_do_not_matter(text in "[ab\n ]{0,60}", cuts in cuts()) {
            let expected: Vec<_> = text.split('\n').filter(|line| !line.trim().is_empty()).collect();
            let found = frames(Encoding::Json, text.as_bytes(), &cuts);
            let found: Vec<_> = found.into_iter().map(Result::unwrap).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn any_bytes_end_in_frames_or_an_error(
            body in proptest::collection::vec(any::<u8>(), 0..60), cuts in cuts()
        ) {
            for encoding in super::super::ALL_ENCODINGS.iter().chain(&[Encoding::Protobuf]) {
                let whole = frames(*encoding, &body, &[]);
                prop_assert!(whole.iter().rev().skip(1).all(Result::is_ok));
                prop_assert_eq!(whole, frames(*encoding, &body, &cuts));
            }
        }
    }

    #[test]
    fn an_endless_line_is_an_error() {
        let body = vec![b'a'; LONGEST + 1];
        for cuts in [&[][..], &[1]] {
            let found = frames(Encoding::Json, &body, cuts);
            assert_eq!(
                found,
                [Err("an event is longer than 33554432 bytes".to_owned())]
            );
        }
    }
}
