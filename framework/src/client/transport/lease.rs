use std::{
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
    http1::{Http1, nobody},
    pool::Shared,
    shelf::{Stream, Taken},
    unread::Unread,
};
use crate::client::{Body, BoxError, class::Class};

/// A connection on which nothing came for so long after a request that was then given up gets no
/// further ones: it may be dead behind somebody who answers pings.
const UNANSWERED: Duration = Duration::from_secs(2);
/// The same of one on which a watch was given up. A watch that lives is sent a bookmark each minute.
const SILENT: Duration = Duration::from_secs(90);

/// A request that failed; `unsent` is the request when nothing of it can have been done.
pub(super) struct Failed {
    pub(super) error: BoxError,
    pub(super) unsent: Option<Request<Body>>,
}

impl Failed {
    pub(super) fn of(mut error: TrySendError<Request<Body>>) -> Box<Self> {
        let unsent = error.take_message();
        Box::new(Self {
            error: error.into_error().into(),
            unsent,
        })
    }

    /// More than `most` interim answers came.
    pub(super) fn interim(most: u32) -> Box<Self> {
        let text = format!("the server sent more than {most} interim answers (1xx) and no other");
        Box::new(Self {
            error: text.into(),
            unsent: None,
        })
    }
}

/// Sends `request`, whose URI is only path and query, on a connection of the pool, which has it back when the
/// answer was read to its end, or dropped.
pub(super) async fn send(
    pool: &Arc<Shared>,
    class: Class,
    taken: Taken,
    mut request: Request<Body>,
) -> Result<Response<Body>, Box<Failed>> {
    let (response, hold) = match taken {
        Taken::Http2(stream) => {
            let mut sender = stream.sender();
            let given_up = GivenUp {
                pool,
                class,
                stream: &stream,
                since: Instant::now(),
            };
            let uri = request.uri().clone();
            *request.uri_mut() = pool.absolute(uri.clone());
            let outcome = sender.try_send_request(request).await;
            std::mem::forget(given_up);
            match outcome {
                Ok(response) => {
                    stream.heard();
                    (response, Hold::Http2(stream))
                }
                Err(error) => {
                    let mut failed = Failed::of(error);
                    if let Some(request) = &mut failed.unsent {
                        // What comes back has to fit a connection of the other kind, too.
                        *request.uri_mut() = uri;
                        pool.forget(class, &stream);
                    }
                    return Err(failed);
                }
            }
        }
        Taken::Http1(mut connection) => {
            if let Err(error) = connection.ready().await {
                return Err(Box::new(Failed {
                    error: error.into(),
                    unsent: Some(request),
                }));
            }
            pool.name_host(&mut request);
            match connection.send(request).await {
                Ok(response) => (response, Hold::Http1(connection)),
                Err(mut failed) => {
                    if let Some(request) = &mut failed.unsent {
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
            Class::Watch => Body::new(Unread::new(body)),
            Class::Request | Class::Upgrade => match body.all() {
                Some(bytes) => Body::from(bytes),
                None => Body::new(body),
            },
        }
    }))
}

/// A request that waits for its answer. When it is dropped it was given up.
struct GivenUp<'a> {
    pool: &'a Shared,
    class: Class,
    stream: &'a Stream,
    since: Instant,
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        let nothing_came = self.stream.last_heard() <= self.since;
        if nothing_came && self.since.elapsed() >= UNANSWERED {
            self.pool.forget(self.class, self.stream);
        }
    }
}

/// What an answer holds on to while it is read.
enum Hold {
    Http1(Http1),
    Http2(Stream),
}

/// The body of an answer.
struct PooledBody {
    incoming: Incoming,
    /// What came first, if that was not all.
    ahead: Option<Result<Frame<Bytes>, BoxError>>,
    hold: Option<Hold>,
    class: Class,
    pool: Arc<Shared>,
}

impl PooledBody {
    /// The whole body if it has come with the head, as short ones do: who reads it has nothing to wait for then.
    fn all(&mut self) -> Option<Bytes> {
        if self.incoming.is_end_stream() {
            self.give_back();
            return Some(Bytes::new());
        }
        let first = match Pin::new(&mut *self).poll_frame(&mut nobody()) {
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
            Some(Hold::Http1(connection)) => connection.poll_body(&mut self.incoming, cx),
            _ => Pin::new(&mut self.incoming).poll_frame(cx),
        }
    }

    fn give_back(&mut self) {
        match self.hold.take() {
            Some(Hold::Http1(connection)) => self.pool.put_http1(self.class, connection),
            // The stream gives itself back.
            Some(Hold::Http2(_)) | None => {}
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
                if let Some(Hold::Http2(stream)) = &self.hold {
                    stream.heard();
                }
                if self.incoming.is_end_stream() {
                    self.give_back();
                }
            }
            None => self.give_back(),
            // A connection that broke is not used again.
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
        // Somebody does not wait any longer for what has not ended.
        if let Some(Hold::Http2(stream)) = &self.hold
            && stream.last_heard().elapsed() >= SILENT
        {
            self.pool.forget(self.class, stream);
        }
    }
}
