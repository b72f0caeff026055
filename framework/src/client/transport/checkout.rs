use std::{
    mem::take,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, header};
use http_body::{Body as _, Frame};
use hyper::{body::Incoming, client::conn::TrySendError};
use tokio::time::Instant;

use super::{
    http1::{Http1, noop_context},
    open_connections::{CheckedOut, Http2Stream},
    pool::PoolInner,
    slow_reader_guard::SlowReaderGuard,
};
use crate::client::{Body, BoxError, request::RequestClass};

/// If a request is given up after this time and nothing came on its connection since, the connection gets no further
/// requests. It may be dead behind a proxy that answers pings.
const UNANSWERED: Duration = Duration::from_secs(2);
/// The same for a connection on which a watch is given up. A healthy watch gets a bookmark each minute.
const SILENT: Duration = Duration::from_secs(90);

/// A request that failed.
pub(super) struct SendFailure {
    pub(super) error: BoxError,
    /// The server cannot have processed any of the request, which is in its place again, or still.
    pub(super) is_unsent: bool,
}

impl SendFailure {
    /// Puts the request back into `request` if it was not sent.
    pub(super) fn of(mut error: TrySendError<Request<Body>>, request: &mut Request<Body>) -> Self {
        let unsent = error.take_message();
        let is_unsent = unsent.is_some();
        if let Some(unsent) = unsent {
            *request = unsent;
        }
        Self {
            error: error.into_error().into(),
            is_unsent,
        }
    }

    /// The server sent more than `most` interim answers.
    pub(super) fn interim(most: u32) -> Self {
        let text = format!("the server sent more than {most} interim answers (1xx) and no other");
        Self {
            error: text.into(),
            is_unsent: false,
        }
    }
}

/// Sends `request`, whose URI has only path and query, on a connection of the pool. The pool gets the connection back
/// when the answer is read to its end, or dropped.
///
/// The request is taken out of its place. If it were passed from future to future, each of them would have room for it.
pub(super) async fn send(
    pool: &Arc<PoolInner>,
    class: RequestClass,
    taken: CheckedOut,
    request: &mut Request<Body>,
) -> Result<Response<Body>, SendFailure> {
    let (response, hold) = match taken {
        CheckedOut::Http2(stream) => {
            let mut sender = stream.sender();
            let given_up = UnansweredRequest {
                pool,
                class,
                stream: &stream,
                since: Instant::now(),
            };
            let uri = request.uri().clone();
            *request.uri_mut() = pool.absolute(uri.clone());
            let outcome = sender.try_send_request(take(request)).await;
            std::mem::forget(given_up);
            match outcome {
                Ok(response) => {
                    stream.record_activity();
                    (response, HeldConnection::Http2(stream))
                }
                Err(error) => {
                    let failed = SendFailure::of(error, request);
                    if failed.is_unsent {
                        // The request may go to an HTTP/1.1 connection next, which needs the URI without host.
                        *request.uri_mut() = uri;
                        pool.forget(class, &stream);
                    }
                    return Err(failed);
                }
            }
        }
        CheckedOut::Http1(mut connection) => {
            if let Err(error) = connection.ready().await {
                return Err(SendFailure {
                    error: error.into(),
                    is_unsent: true,
                });
            }
            pool.name_host(request);
            match connection.send(request).await {
                Ok(response) => (response, HeldConnection::Http1(connection)),
                Err(failed) => {
                    if failed.is_unsent {
                        // The request may go to an HTTP/2 connection next, which needs no such header.
                        request.headers_mut().remove(header::HOST);
                    }
                    return Err(failed);
                }
            }
        }
    };
    Ok(response.map(|incoming| {
        let mut body = PooledBody {
            incoming,
            ahead: None,
            hold: Some(hold),
            class,
            pool: pool.clone(),
        };
        match class {
            RequestClass::Watch => Body::new(SlowReaderGuard::new(body, pool.began)),
            RequestClass::Request | RequestClass::Upgrade => match body.all() {
                Some(bytes) => Body::from(bytes),
                None => Body::new(body),
            },
        }
    }))
}

/// A request that waits for its answer. A drop means that the caller gave it up.
struct UnansweredRequest<'a> {
    pool: &'a PoolInner,
    class: RequestClass,
    stream: &'a Http2Stream,
    since: Instant,
}

impl Drop for UnansweredRequest<'_> {
    fn drop(&mut self) {
        let nothing_came = self.stream.last_activity() <= self.since;
        if nothing_came && self.since.elapsed() >= UNANSWERED {
            self.pool.forget(self.class, self.stream);
        }
    }
}

/// The connection that an answer holds while it is read.
enum HeldConnection {
    Http1(Http1),
    Http2(Http2Stream),
}

/// The body of an answer.
struct PooledBody {
    incoming: Incoming,
    /// The first frame, if it is not the whole body.
    ahead: Option<Result<Frame<Bytes>, BoxError>>,
    hold: Option<HeldConnection>,
    class: RequestClass,
    pool: Arc<PoolInner>,
}

impl PooledBody {
    /// The whole body, if it came with the head, as short bodies do. The reader then never has to wait.
    fn all(&mut self) -> Option<Bytes> {
        if self.incoming.is_end_stream() {
            self.give_back();
            return Some(Bytes::new());
        }
        let first = match Pin::new(&mut *self).poll_frame(&mut noop_context()) {
            Poll::Ready(Some(first)) => first,
            Poll::Ready(None) => return Some(Bytes::new()),
            Poll::Pending => return None,
        };
        let data = first.as_ref().ok().and_then(Frame::data_ref);
        if let Some(data) = data.filter(|_| self.incoming.is_end_stream()) {
            return Some(data.clone());
        }
        self.ahead = Some(first);
        None
    }

    fn poll_incoming(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.hold {
            Some(HeldConnection::Http1(connection)) => connection.poll_body(&mut self.incoming, cx),
            _ => Pin::new(&mut self.incoming).poll_frame(cx),
        }
    }

    fn give_back(&mut self) {
        match self.hold.take() {
            Some(HeldConnection::Http1(connection)) => self.pool.put_http1(self.class, connection),
            // The stream returns itself when it is dropped.
            Some(HeldConnection::Http2(_)) | None => {}
        }
    }
}

impl http_body::Body for PooledBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(first) = self.ahead.take() {
            return Poll::Ready(Some(first));
        }
        let frame = ready!(self.poll_incoming(cx));
        match &frame {
            Some(Ok(_)) => {
                if let Some(HeldConnection::Http2(stream)) = &self.hold {
                    stream.record_activity();
                }
                if self.incoming.is_end_stream() {
                    self.give_back();
                }
            }
            None => self.give_back(),
            // A broken connection gets no further requests.
            Some(Err(_)) => self.hold = None,
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.ahead.is_none() && self.incoming.is_end_stream()
    }
}

impl Drop for PooledBody {
    fn drop(&mut self) {
        // The caller dropped an answer that has not ended.
        if let Some(HeldConnection::Http2(stream)) = &self.hold
            && stream.last_activity().elapsed() >= SILENT
        {
            self.pool.forget(self.class, stream);
        }
    }
}
