use std::{
    fmt,
    io::Write,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use flate2::write::MultiGzDecoder;
use http::{
    HeaderMap, HeaderValue, Method, Request, Response,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH},
};
use http_body::{Body as _, Frame};
use tower::{Layer, Service};

use super::after::{After, Outcome, Then};
use crate::client::{Body, BoxError, class::Class};

/// No more is unpacked at a time. It becomes at most a thousand times as much.
const STEP: usize = 1024;

/// Asks for compressed answers and unpacks them piece by piece.
///
/// API servers compress what is longer than 128 KiB, and no watches. A request that says itself
/// which encodings it takes is left as it is, and so is its answer. See
/// [`Config::with_compression`](crate::client::Config::with_compression).
#[derive(Clone, Debug)]
pub struct GzipLayer {
    asks: bool,
}

impl GzipLayer {
    /// Asks for it, or does nothing at all.
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
    type Future = After<S::Future, Unpack>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let is_read =
            request.method() == Method::GET && request.extensions().get() == Some(&Class::Request);
        let asks = self.asks && is_read && !request.headers().contains_key(ACCEPT_ENCODING);
        if asks {
            let headers = request.headers_mut();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        }
        After::new(self.inner.call(request), Unpack(asks))
    }
}

pub struct Unpack(bool);

impl Then for Unpack {
    fn then(self, outcome: Outcome) -> Outcome {
        let mut response = outcome?;
        if !self.0 || !is_gzip(response.headers()) {
            return Ok(response);
        }
        response.headers_mut().remove(CONTENT_ENCODING);
        response.headers_mut().remove(CONTENT_LENGTH);
        Ok(response.map(|packed| Body::new(Unpacked::new(packed))))
    }
}

fn is_gzip(headers: &HeaderMap) -> bool {
    let encoding = headers.get(CONTENT_ENCODING);
    encoding.is_some_and(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"gzip"))
}

struct Unpacked {
    packed: Body,
    /// What has come and is not unpacked yet.
    piece: Bytes,
    decoder: MultiGzDecoder<Vec<u8>>,
    ended: bool,
}

impl Unpacked {
    fn new(packed: Body) -> Self {
        Self {
            packed,
            piece: Bytes::new(),
            decoder: MultiGzDecoder::new(Vec::new()),
            ended: false,
        }
    }

    /// Unpacks the piece until there is something to pass on.
    fn unpack(&mut self) -> Result<Option<Bytes>, BoxError> {
        while !self.piece.is_empty() && self.decoder.get_ref().is_empty() {
            let step = self.piece.len().min(STEP);
            self.decoder
                .write_all(&self.piece[..step])
                .map_err(|_| NotGzip)?;
            self.piece.advance(step);
        }
        Ok(self.take())
    }

    fn take(&mut self) -> Option<Bytes> {
        let unpacked = std::mem::take(self.decoder.get_mut());
        (!unpacked.is_empty()).then(|| unpacked.into())
    }

    fn poll_unpacked(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BoxError>>> {
        loop {
            if let Some(unpacked) = self.unpack()? {
                return Poll::Ready(Some(Ok(unpacked)));
            }
            match ready!(Pin::new(&mut self.packed).poll_frame(cx)) {
                Some(Ok(frame)) => self.piece = frame.into_data().unwrap_or_default(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {
                    self.ended = true;
                    self.decoder.try_finish().map_err(|_| NotGzip)?;
                    return Poll::Ready(self.take().map(Ok));
                }
            }
        }
    }
}

/// What is said to be gzip is none.
#[derive(Debug)]
pub(crate) struct NotGzip;

impl fmt::Display for NotGzip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "it is not the gzip that it is said to be: check proxies on the way, or ask for no compressed answers (`disable-compression: true` of the cluster, `Config::with_compression`)",
        )
    }
}

impl std::error::Error for NotGzip {}

impl http_body::Body for Unpacked {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let unpacked = ready!(self.poll_unpacked(cx));
        self.ended |= matches!(unpacked, Some(Err(_)) | None);
        Poll::Ready(unpacked.map(|unpacked| unpacked.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use futures_util::{FutureExt, stream};
    use http_body_util::{BodyExt, StreamBody};
    use proptest::prelude::*;

    fn packed(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    /// What comes out of these bytes, cut into pieces of this size.
    fn unpacked(packed: &[u8], size: usize) -> Result<Bytes, BoxError> {
        let pieces: Vec<_> = packed.chunks(size).map(Bytes::copy_from_slice).collect();
        let pieces = pieces
            .into_iter()
            .map(|piece| Ok::<_, BoxError>(Frame::data(piece)));
        let body = Body::new(StreamBody::new(stream::iter(pieces)));
        let body = Unpacked::new(body).collect().now_or_never();
        body.unwrap().map(|body| body.to_bytes())
    }

    proptest! {
        #[test]
        fn the_cuts_of_the_transport_do_not_matter(
            plain in proptest::collection::vec(any::<u8>(), 0..5000), size in 1..2000_usize
        ) {
            let whole = packed(&plain);
            prop_assert_eq!(unpacked(&whole, size).unwrap(), plain);
            for end in 0..whole.len().min(200) {
                prop_assert!(unpacked(&whole[..whole.len() - 1 - end], size).is_err());
            }
        }

        #[test]
        fn nothing_that_comes_makes_it_panic(
            text in proptest::collection::vec(any::<u8>(), 0..2000), at in 0..1000_usize
        ) {
            let _ = unpacked(&text, 100);
            let mut spoiled = packed(&text);
            let at = at % spoiled.len();
            spoiled[at] ^= 1;
            let _ = unpacked(&spoiled, 100);
        }
    }

    #[test]
    fn what_swells_a_thousandfold_comes_in_bearable_pieces() {
        let bomb = packed(&vec![0; 64 * 1024 * 1024]);
        let mut body = Unpacked::new(Body::from(Bytes::from(bomb)));
        let mut total = 0;
        while let Some(frame) = body.frame().now_or_never().unwrap() {
            let length = frame.unwrap().into_data().unwrap().len();
            assert!(length <= 2 * 1024 * 1024, "{length}");
            total += length;
        }
        assert_eq!(total, 64 * 1024 * 1024);
    }
}
