use std::{
    collections::VecDeque,
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, BytesMut};
use futures_core::Stream;
use http::{Request, header};
use k8s_openapi::api::core::v1::Pod;

use super::LogParams;
use crate::client::{
    AnswerStream, Api, Body, Error, ErrorKind,
    request::{RequestClass, url::Query},
    rest::Call,
};

/// A longer line comes in several pieces.
const MAX_LINE: usize = 1024 * 1024;
/// [`Logs::text`] fails for a longer log.
const MAX_TEXT: usize = 64 * 1024 * 1024;

impl Api<Pod> {
    /// Opens the log of a container of the Pod named `name`, as a stream of lines.
    ///
    /// ```no_run
    /// # use pilothouse::client::{Api, Error, LogParams};
    /// # use pilothouse::k8s::api::core::v1::Pod;
    /// # async fn example(pods: Api<Pod>) -> Result<(), Error> {
    /// let crash = LogParams::default().container("web").previous().tail(20);
    /// let text = pods.logs("web-0", &crash).await?.text().await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if the Pod does not exist. [`Error::is_bad_request`] if the container does not exist or
    /// has not started, or if `container` is `None` and the Pod has several.
    pub async fn logs(&self, name: &str, params: &LogParams) -> Result<Logs, Error> {
        let call = self.call("log", Some(name), None);
        let mut query = Query::new(self.call("log", Some(name), Some("log")).path()?);
        params.write(&mut query);
        let request = Request::get(query.finish()).header(header::ACCEPT, "text/plain, */*");
        let mut request = request
            .body(Body::empty())
            .map_err(|error| call.invalid(format!("the request cannot be written: {error}")))?;
        // The caller may read slowly, for as long as the container runs.
        request.extensions_mut().insert(RequestClass::Watch);
        let answer = self.client().answered(call.verb, || call.target(), request);
        Ok(Logs::new(&call, answer.await?.into_body()))
    }
}

/// A container's log as a stream of lines, without their line breaks.
///
/// Bytes that are not UTF-8 become `U+FFFD`; [`into_bytes`](Self::into_bytes) loses nothing. A line of more than 1 MiB
/// comes in several pieces. An error is the last item: the connection broke, or the caller read nothing for 30 s while
/// more than 256 KiB waited.
pub struct Logs {
    bytes: AnswerStream,
    begun: BytesMut,
    /// The number of bytes in `begun` without a line break.
    seen: usize,
    ended: bool,
}

impl Logs {
    fn new(call: &Call<'_>, body: Body) -> Self {
        Self {
            bytes: AnswerStream::new(call.verb, call.target(), body),
            begun: BytesMut::new(),
            seen: 0,
            ended: false,
        }
    }

    /// Returns the log as the server sends it, byte for byte, in pieces of any length.
    pub fn into_bytes(self) -> AnswerStream {
        self.bytes
    }

    /// Reads the whole log. If it is followed, this ends when the container ends.
    ///
    /// # Errors
    /// [`ErrorKind::Decode`] if the log is longer than 64 MiB. Otherwise the error of the stream, such as a broken
    /// connection.
    pub async fn text(mut self) -> Result<String, Error> {
        let mut pieces = VecDeque::new();
        let mut length = 0;
        while let Some(piece) = futures_util::StreamExt::next(&mut self.bytes).await {
            let piece = piece?;
            length += piece.len();
            if length > MAX_TEXT {
                return Err(Error::new(
                    self.bytes.verb(),
                    self.bytes.target(),
                    ErrorKind::Decode {
                        reason: format!(
                            "it is longer than {MAX_TEXT} bytes: read it line by line, or set a limit"
                        ),
                    },
                ));
            }
            pieces.push_back(piece);
        }
        let mut text = Vec::with_capacity(length);
        for piece in pieces {
            text.extend_from_slice(&piece);
        }
        Ok(String::from_utf8(text)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// The next line of the bytes that have come.
    fn line(&mut self) -> Option<String> {
        let within = self.begun.len().min(MAX_LINE + 1);
        let unseen = self.begun.get(self.seen..within)?;
        let line = match memchr::memchr(b'\n', unseen) {
            Some(at) => {
                let line = self.begun.split_to(self.seen + at);
                self.begun.advance(1);
                line
            }
            None if within > MAX_LINE => self.begun.split_to(piece(&self.begun)),
            None => {
                self.seen = within;
                return None;
            }
        };
        self.seen = 0;
        Some(text(&line))
    }
}

/// Where to cut a line that is too long: between two characters if possible.
fn piece(line: &[u8]) -> usize {
    let starts = |at: &usize| line.get(*at).is_some_and(|byte| byte & 0xC0 != 0x80);
    (MAX_LINE - 3..=MAX_LINE)
        .rev()
        .find(starts)
        .unwrap_or(MAX_LINE)
}

fn text(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    String::from_utf8_lossy(line).into_owned()
}

impl Stream for Logs {
    type Item = Result<String, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(line) = self.line() {
                return Poll::Ready(Some(Ok(line)));
            }
            if self.ended {
                let rest = self.begun.split();
                self.seen = 0;
                return Poll::Ready((!rest.is_empty()).then(|| Ok(text(&rest))));
            }
            match ready!(Pin::new(&mut self.bytes).poll_next(cx)) {
                Some(Ok(piece)) => self.begun.extend_from_slice(&piece),
                Some(Err(error)) => {
                    self.ended = true;
                    self.begun.clear();
                    self.seen = 0;
                    return Poll::Ready(Some(Err(error)));
                }
                None => self.ended = true,
            }
        }
    }
}

impl fmt::Debug for Logs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Logs({})", self.bytes.target())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::BoxError;
    use futures_util::{FutureExt, StreamExt};
    use http_body::Frame;
    use http_body_util::StreamBody;
    use proptest::prelude::*;

    /// The lines of a log that comes in these pieces.
    fn lines(pieces: Vec<Vec<u8>>) -> Vec<String> {
        let pieces = pieces
            .into_iter()
            .map(|piece| Ok::<_, BoxError>(Frame::data(piece.into())));
        let logs = Logs {
            bytes: AnswerStream::new(
                "log",
                String::new(),
                Body::new(StreamBody::new(futures_util::stream::iter(pieces))),
            ),
            begun: BytesMut::new(),
            seen: 0,
            ended: false,
        };
        let all = logs.collect::<Vec<_>>().now_or_never().unwrap();
        all.into_iter().map(Result::unwrap).collect()
    }

    proptest! {
        #[test]
        fn lines_are_those_of_the_text_whatever_the_pieces(
            text in "[aé\r\n ]{0,60}", cuts in proptest::collection::vec(0..90usize, 0..6)
        ) {
            let mut pieces = vec![Vec::new()];
            for (at, byte) in text.bytes().enumerate() {
                if cuts.contains(&at) {
                    pieces.push(Vec::new());
                }
                pieces.last_mut().unwrap().push(byte);
            }
            let mut expected: Vec<_> = text.split('\n').collect();
            if expected.last() == Some(&"") {
                expected.pop();
            }
            let expected: Vec<_> = expected.iter().map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
            prop_assert_eq!(lines(pieces), expected);
        }
    }

    #[test]
    fn an_endless_line_comes_in_pieces_that_cut_no_character() {
        let text = format!("x{}\nend", "é".repeat(MAX_LINE));
        let found = lines(vec![text.clone().into_bytes()]);
        let longest = found.iter().map(String::len).max().unwrap();
        assert!(longest <= MAX_LINE, "{longest}");
        assert_eq!(found.last().unwrap(), "end");
        let (_, long) = found.split_last().unwrap();
        assert!(long.concat() + "\nend" == text);
    }
}
