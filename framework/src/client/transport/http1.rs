use std::{
    future::{Future, poll_fn},
    mem::take,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body as _, Frame};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::task::unconstrained;

use super::{
    checkout::SendFailure,
    dialer::Dialled,
    fenced_io::{FencedIo, Fences},
};
use crate::client::{Body, ConnectProblem, PartWaker};

/// A request fails after this many interim answers (1xx, RFC 9110 section 15.2) without a final one. A server that
/// sends nothing else would keep the processor busy until the answer's deadline.
const MAX_INTERIM: u32 = 100;

/// An HTTP/1.1 connection, which carries one request after the other.
///
/// It has no task of its own. The task that waits for the connection drives it. So a request wakes no other task on its
/// way to the socket, and the socket wakes the task that waits for the answer. Between two requests nothing drives the
/// connection; the next request finds out whether the other side has closed it.
pub(super) struct Http1 {
    sender: http1::SendRequest<Body>,
    /// `None` after the connection ended.
    driver: Option<Box<Driver>>,
    /// Wakes the task that waits for the connection.
    waker: PartWaker,
    pub(super) generation: u64,
    pub(super) fences: Fences,
}

type Driver = http1::Connection<TokioIo<FencedIo>, Body>;

impl Http1 {
    pub(super) async fn new(dialled: Dialled) -> Result<Self, ConnectProblem> {
        let (io, fences) = FencedIo::new(dialled.io);
        let (sender, driver) = http1::handshake(TokioIo::new(io))
            .await
            .map_err(ConnectProblem::Protocol)?;
        Ok(Self {
            sender,
            driver: Some(Box::new(driver)),
            waker: PartWaker::new(),
            generation: dialled.generation,
            fences,
        })
    }

    /// The sender and the driver, for another task to drive.
    pub(super) fn into_parts(self) -> (http1::SendRequest<Body>, Option<Box<Driver>>) {
        (self.sender, self.driver)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Waits until the connection accepts a request.
    ///
    /// # Errors
    /// The other side has closed the connection.
    pub(super) async fn ready(&mut self) -> hyper::Result<()> {
        // No wake-up is needed, because the send drives the connection again.
        self.drive(&mut noop_context());
        if self.sender.is_ready() {
            return Ok(());
        }
        poll_fn(|cx| {
            self.drive(cx);
            self.sender.poll_ready(cx)
        })
        .await
    }

    /// Sends the request that it takes out of `request`, whose URI has only path and query. Waits for the head of the answer.
    pub(super) async fn send(
        &mut self,
        request: &mut Request<Body>,
    ) -> Result<Response<Incoming>, SendFailure> {
        let interim = Arc::new(AtomicU32::new(0));
        let counted = interim.clone();
        hyper::ext::on_informational(request, move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        // The driver produces the answer inside `drive`. A wake-up for that would only lead here once more.
        let mut answer = pin!(unconstrained(self.sender.try_send_request(take(request))));
        let Self { driver, waker, .. } = self;
        poll_fn(|cx| {
            waker.poll(cx, |cx| {
                drive(driver, cx);
                let mut answer = answer
                    .as_mut()
                    .poll(&mut noop_context())
                    .map_err(|error| SendFailure::of(error, request));
                if answer.is_pending() && interim.load(Ordering::Relaxed) > MAX_INTERIM {
                    *driver = None;
                    answer = Poll::Ready(Err(SendFailure::interim(MAX_INTERIM)));
                }
                answer.map(|answer| (answer, true))
            })
        })
        .await
    }

    /// Polls the next frame of an answer's body.
    pub(super) fn poll_body(
        &mut self,
        body: &mut Incoming,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Self { driver, waker, .. } = self;
        // Taking a frame makes room for the driver, and the driver would wake its own task for that.
        waker.poll(cx, |cx| {
            // Driving the connection produces the frames, so only the driver needs a wake-up.
            let mut polled = Pin::new(&mut *body).poll_frame(&mut noop_context());
            if polled.is_pending() {
                drive(driver, cx);
                polled = Pin::new(body).poll_frame(&mut noop_context());
            }
            polled.map(|frame| (frame, true))
        })
    }

    fn drive(&mut self, cx: &mut Context<'_>) {
        drive(&mut self.driver, cx);
    }
}

/// Drives the connection as far as possible without waiting. Wakes the task of `cx` when there is more to do.
fn drive(it: &mut Option<Box<Driver>>, cx: &mut Context<'_>) {
    let Some(driver) = it else {
        return;
    };
    if let Poll::Ready(outcome) = Pin::new(driver).poll(cx) {
        // The drop answers or returns the requests that the driver holds.
        *it = None;
        if let Err(error) = outcome {
            tracing::debug!(%error, "an HTTP/1.1 connection to the API server ended");
        }
    }
}

/// A context for polls that need no wake-up.
pub(super) fn noop_context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pool sends it on another connection. An empty request in its place would be another one.
    #[tokio::test]
    async fn a_request_that_a_closed_connection_did_not_take_is_back_in_its_place() {
        let (near, far) = tokio::io::duplex(1024);
        let dialled = Dialled {
            io: Box::new(near),
            http2: false,
            generation: 0,
        };
        let mut connection = Http1::new(dialled).await.ok().unwrap();
        connection.ready().await.unwrap();
        drop(far);
        let request = Request::post("/api").header("accept", "text/plain");
        let mut request = request
            .extension(7_u8)
            .body(Body::from(b"{}".to_vec()))
            .unwrap();
        let failed = connection.send(&mut request).await.err().unwrap();
        assert!(failed.is_unsent);
        assert_eq!(
            (request.method().as_str(), request.uri().path()),
            ("POST", "/api")
        );
        assert_eq!(request.headers()["accept"], "text/plain");
        assert_eq!(request.extensions().get(), Some(&7_u8));
        assert_eq!(&request.body().whole().unwrap()[..], b"{}");
    }
}
