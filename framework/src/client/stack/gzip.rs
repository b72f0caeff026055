use std::{
    io,
    task::{Context, Poll},
};

use async_compression::tokio::bufread::GzipDecoder;
use futures_util::TryStreamExt;
use http::{
    HeaderMap, HeaderValue, Method, Request, Response,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH},
};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio_util::io::{ReaderStream, StreamReader};
use tower::{Layer, Service};

use super::and_then::{AndThen, OnOutcome, Outcome};
use crate::client::{Body, BoxError, error::InvalidGzip, request::RequestClass};

/// The most bytes of a decompressed piece, however well they were compressed.
const PIECE: usize = 64 * 1024;

/// Requests compressed answers, and decompresses them piece by piece.
///
/// API servers compress answers that are longer than 128 KiB, but no watches. If a request has `Accept-Encoding`
/// already, the layer changes neither it nor its answer. See
/// [`Config::with_compression`](crate::client::Config::with_compression).
#[derive(Clone, Debug)]
pub struct GzipLayer {
    asks: bool,
}

impl GzipLayer {
    /// Requests compressed answers if `asks`. Otherwise the layer does nothing.
    pub fn new(asks: bool) -> Self {
        Self { asks }
    }
}

impl<S> Layer<S> for GzipLayer {
    type Service = Gzip<S>;

    fn layer(&self, inner: S) -> Gzip<S> {
        Gzip {
            inner,
            asks: self.asks,
        }
    }
}

/// The service of [`GzipLayer`].
#[derive(Clone, Debug)]
pub struct Gzip<S> {
    inner: S,
    asks: bool,
}

impl<S> Service<Request<Body>> for Gzip<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = AndThen<S::Future, Unpack>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let is_read = request.method() == Method::GET
            && request.extensions().get() == Some(&RequestClass::Request);
        let asks = self.asks && is_read && !request.headers().contains_key(ACCEPT_ENCODING);
        if asks {
            let headers = request.headers_mut();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        }
        AndThen::new(self.inner.call(request), Unpack(asks))
    }
}

pub struct Unpack(bool);

impl OnOutcome for Unpack {
    fn then(self, outcome: Outcome) -> Outcome {
        let mut response = outcome?;
        if !self.0 || !is_gzip(response.headers()) {
            return Ok(response);
        }
        response.headers_mut().remove(CONTENT_ENCODING);
        response.headers_mut().remove(CONTENT_LENGTH);
        Ok(response.map(unpacked))
    }
}

fn is_gzip(headers: &HeaderMap) -> bool {
    let encoding = headers.get(CONTENT_ENCODING);
    encoding.is_some_and(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"gzip"))
}

/// Decompresses a body piece by piece. An error of the transport comes back as it was.
fn unpacked(packed: Body) -> Body {
    let packed = packed
        .into_data_stream()
        .map_err(|error| io::Error::other(Transport(error)));
    let mut decoder = GzipDecoder::new(StreamReader::new(packed));
    decoder.multiple_members(true);
    let pieces = ReaderStream::with_capacity(decoder, PIECE)
        .map_ok(Frame::data)
        .map_err(|error| match error.downcast() {
            Ok(Transport(error)) => error,
            Err(_) => InvalidGzip.into(),
        });
    Body::new(StreamBody::new(pieces))
}

/// Carries an error of the transport through the decoder, which knows errors of `std::io` only.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Transport(BoxError);

#[cfg(test)]
mod tests {
    use std::{io::Write, time::Duration};

    use bytes::Bytes;
    use flate2::{Compression, write::GzEncoder};
    use futures_util::{FutureExt, stream};
    use proptest::prelude::*;

    use super::*;
    use crate::client::{Deadline, error::DeadlineExpired};

    fn packed(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    /// The output of these pieces, or the error that the caller gets.
    fn output(pieces: Vec<Result<Bytes, BoxError>>) -> Result<Bytes, BoxError> {
        let pieces = stream::iter(pieces).map_ok(Frame::data);
        let body = unpacked(Body::new(StreamBody::new(pieces)));
        let body = body.collect().now_or_never();
        body.unwrap().map(|body| body.to_bytes())
    }

    /// The output of these bytes, which come in pieces of this size.
    fn of_chunks(packed: &[u8], size: usize) -> Result<Bytes, BoxError> {
        let pieces = packed.chunks(size).map(Bytes::copy_from_slice);
        output(pieces.map(Ok).collect())
    }

    proptest! {
        #[test]
        fn the_pieces_of_the_transport_do_not_matter(
            plain in proptest::collection::vec(any::<u8>(), 0..5000), size in 1..2000_usize
        ) {
            let whole = packed(&plain);
            prop_assert_eq!(of_chunks(&whole, size).unwrap(), plain);
            for end in 0..whole.len().min(200) {
                let cut = of_chunks(&whole[..whole.len() - 1 - end], size).unwrap_err();
                prop_assert!(cut.is::<InvalidGzip>());
            }
        }

        #[test]
        fn any_bytes_are_decompressed_without_a_panic(
            text in proptest::collection::vec(any::<u8>(), 0..2000), at in 0..1000_usize
        ) {
            let _ = of_chunks(&text, 100);
            let mut spoiled = packed(&text);
            let at = at % spoiled.len();
            spoiled[at] ^= 1;
            let _ = of_chunks(&spoiled, 100);
        }
    }

    #[test]
    fn an_error_of_the_transport_keeps_its_type() {
        let begun = Bytes::copy_from_slice(&packed(b"a")[..12]);
        for first in [begun, Bytes::new()] {
            let expired = DeadlineExpired {
                deadline: Deadline::Idle,
                after: Duration::from_secs(1),
            };
            let error = output(vec![Ok(first), Err(expired.into())]).unwrap_err();
            assert!(error.is::<DeadlineExpired>(), "{error}");
        }
    }

    #[test]
    fn several_compressed_parts_are_one_body() {
        let parts = [packed(b"a"), packed(b"b")].concat();
        assert_eq!(of_chunks(&parts, 7).unwrap(), "ab");
        let rest = [packed(b"a"), b"b".to_vec()].concat();
        assert!(of_chunks(&rest, 7).unwrap_err().is::<InvalidGzip>());
    }

    #[test]
    fn highly_compressed_data_comes_in_small_pieces() {
        let bomb = packed(&vec![0; 64 * 1024 * 1024]);
        let mut body = unpacked(Body::from(Bytes::from(bomb)));
        let mut total = 0;
        while let Some(frame) = body.frame().now_or_never().unwrap() {
            let length = frame.unwrap().into_data().unwrap().len();
            assert!(length <= PIECE, "{length}");
            total += length;
        }
        assert_eq!(total, 64 * 1024 * 1024);
    }
}
