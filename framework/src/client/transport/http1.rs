use std::{
    future::{Future, poll_fn},
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
    ConnectProblem,
    dialer::Dialled,
    fenced_io::{FencedIo, Fences},
    lease::Failed,
};
use crate::client::{Body, PartWaker};

/// A request fails after so many interim answers (1xx, RFC 9110 section 15.2) before the final one: a server that sends
/// nothing else would keep the processor busy until the answer's deadline.
const MOST_INTERIM: u32 = 100;

/// An HTTP/1.1 connection, for one request after the other.
///
/// It has no task of its own: whoever waits for something on it drives it. So a request wakes nobody on its way to the
/// socket, and the socket wakes the one who waits for the answer. Nobody drives it between two requests; whether the
/// other side has closed it meanwhile comes out before the next one.
pub(super) struct Http1 {
    sender: http1::SendRequest<Body>,
    /// `None` when it has ended.
    driver: Option<Box<Driver>>,
    /// Whom what comes wakes.
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

    /// Its two ends, for somebody else to drive.
    pub(super) fn into_parts(self) -> (http1::SendRequest<Body>, Option<Box<Driver>>) {
        (self.sender, self.driver)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Waits until it takes a request.
    ///
    /// # Errors
    /// When the other side has closed it.
    pub(super) async fn ready(&mut self) -> hyper::Result<()> {
        // Nobody has to be woken: it is driven again when the request is sent.
        self.drive(&mut nobody());
        if self.sender.is_ready() {
            return Ok(());
        }
        poll_fn(|cx| {
            self.drive(cx);
            self.sender.poll_ready(cx)
        })
        .await
    }

    /// Sends `request`, whose URI is only path and query, and waits for the head of the answer.
    pub(super) async fn send(
        &mut self,
        mut request: Request<Body>,
    ) -> Result<Response<Incoming>, Box<Failed>> {
        let interim = Arc::new(AtomicU32::new(0));
        let counted = interim.clone();
        hyper::ext::on_informational(&mut request, move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        // It is the driver that answers, within `drive`: to be woken by that would only lead here once more.
        let mut answer = pin!(unconstrained(self.sender.try_send_request(request)));
        let Self { driver, waker, .. } = self;
        poll_fn(|cx| {
            waker.poll(cx, |cx| {
                drive(driver, cx);
                let mut answer = answer.as_mut().poll(&mut nobody()).map_err(Failed::of);
                if answer.is_pending() && interim.load(Ordering::Relaxed) > MOST_INTERIM {
                    *driver = None;
                    answer = Poll::Ready(Err(Failed::interim(MOST_INTERIM)));
                }
                answer.map(|answer| (answer, true))
            })
        })
        .await
    }

    /// The next of the body of an answer.
    pub(super) fn poll_body(
        &mut self,
        body: &mut Incoming,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Self { driver, waker, .. } = self;
        // To take something out makes room for the driver, which would wake its task for that.
        waker.poll(cx, |cx| {
            // What comes is put there by driving the connection, so that is what to be woken for.
            let mut polled = Pin::new(&mut *body).poll_frame(&mut nobody());
            if polled.is_pending() {
                drive(driver, cx);
                polled = Pin::new(body).poll_frame(&mut nobody());
            }
            polled.map(|frame| (frame, true))
        })
    }

    fn drive(&mut self, cx: &mut Context<'_>) {
        drive(&mut self.driver, cx);
    }
}

/// Does what can be done without waiting. The task of `cx` is woken when there is more to do.
fn drive(it: &mut Option<Box<Driver>>, cx: &mut Context<'_>) {
    let Some(driver) = it else {
        return;
    };
    if let Poll::Ready(outcome) = Pin::new(driver).poll(cx) {
        // What it holds of a request is answered or given back when it is dropped.
        *it = None;
        if let Err(error) = outcome {
            tracing::debug!(%error, "an HTTP/1.1 connection to the API server ended");
        }
    }
}

/// Where it is known that there is nothing to be woken for.
pub(super) fn nobody() -> Context<'static> {
    Context::from_waker(Waker::noop())
}
