use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, Uri, header};
use http_body::{Body as _, Frame, SizeHint};
use hyper::{body::Incoming, client::conn::TrySendError};
use tokio::time::Instant;

use super::{
    connection::Http1,
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
    pub(super) error: hyper::Error,
    pub(super) unsent: Option<Request<Body>>,
}

/// Sends `request`, whose URI is absolute, on a connection of the pool, which has it back when the
/// answer was read to its end, or dropped.
pub(super) async fn send(
    pool: &Arc<Shared>,
    class: Class,
    taken: Taken,
    request: Request<Body>,
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
            let outcome = sender.try_send_request(request).await;
            std::mem::forget(given_up);
            match outcome {
                Ok(response) => {
                    stream.heard();
                    (response, Hold::Http2(stream))
                }
                Err(error) => {
                    let failed = failed(error);
                    if failed.unsent.is_some() {
                        pool.forget(class, &stream);
                    }
                    return Err(failed);
                }
            }
        }
        Taken::Http1(Http1 {
            mut sender,
            generation,
        }) => {
            if let Err(error) = sender.ready().await {
                return Err(Box::new(Failed {
                    error,
                    unsent: Some(request),
                }));
            }
            let uri = request.uri().clone();
            match sender.try_send_request(origin_form(request)).await {
                Ok(response) => (response, Hold::Http1(Http1 { sender, generation })),
                Err(error) => {
                    let mut failed = failed(error);
                    if let Some(request) = &mut failed.unsent {
                        // What comes back has to fit a connection of the other kind, too.
                        *request.uri_mut() = uri;
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
            hold: Some(hold),
            class,
            pool: pool.clone(),
        };
        if body.incoming.is_end_stream() {
            body.give_back();
            return Body::empty();
        }
        match class {
            Class::Request | Class::Upgrade => Body::new(body),
            Class::Watch => Body::new(Unread::new(body)),
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

fn failed(mut error: TrySendError<Request<Body>>) -> Box<Failed> {
    let unsent = error.take_message();
    Box::new(Failed {
        error: error.into_error(),
        unsent,
    })
}

/// HTTP/1.1 names the host in a header and only the path in the first line.
pub(super) fn origin_form(mut request: Request<Body>) -> Request<Body> {
    let uri = std::mem::take(request.uri_mut());
    let host = uri.authority().map(|authority| authority.as_str());
    if let Some(Ok(host)) = host.map(HeaderValue::from_str) {
        request.headers_mut().entry(header::HOST).or_insert(host);
    }
    let path = uri.into_parts().path_and_query;
    *request.uri_mut() = path.map_or_else(Uri::default, Uri::from);
    request
}

/// What an answer holds on to while it is read.
enum Hold {
    Http1(Http1),
    Http2(Stream),
}

/// The body of an answer.
struct PooledBody {
    incoming: Incoming,
    hold: Option<Hold>,
    class: Class,
    pool: Arc<Shared>,
}

impl PooledBody {
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
        let frame = ready!(Pin::new(&mut self.incoming).poll_frame(cx));
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
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
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
