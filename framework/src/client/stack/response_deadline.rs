use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http::Request;
use pin_project_lite::pin_project;
use tokio::time::{Timeout, timeout};
use tower::{Layer, Service};

use super::{
    and_then::{AndThen, OnOutcome, Outcome},
    idle::IdleBody,
};
use crate::client::{
    Body, BoxError, Deadline, Deadlines, error::DeadlineExpired, request::RequestClass,
};

/// Limits the wait for the head of one attempt's response, and for each further piece of a body that is read whole. The
/// error of an expired deadline names the deadline.
#[derive(Clone, Debug)]
pub struct ResponseDeadlineLayer {
    head: Duration,
    idle: Duration,
}

impl ResponseDeadlineLayer {
    /// Waits as long as `deadlines` allow.
    pub fn new(deadlines: &Deadlines) -> Self {
        Self {
            head: deadlines.response,
            idle: deadlines.idle,
        }
    }
}

impl<S> Layer<S> for ResponseDeadlineLayer {
    type Service = ResponseDeadline<S>;

    fn layer(&self, inner: S) -> ResponseDeadline<S> {
        ResponseDeadline {
            inner,
            layer: self.clone(),
        }
    }
}

/// The service of [`ResponseDeadlineLayer`].
#[derive(Clone, Debug)]
pub struct ResponseDeadline<S> {
    inner: S,
    layer: ResponseDeadlineLayer,
}

impl<S> Service<Request<Body>> for ResponseDeadline<S>
where
    S: Service<Request<Body>, Response = http::Response<Body>, Error = BoxError>,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = AndThen<ResponseFuture<S::Future>, Watch>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let read_whole = request.extensions().get() == Some(&RequestClass::Request);
        let timed_out = DeadlineExpired {
            deadline: Deadline::Response,
            after: self.layer.head,
        };
        let future = ResponseFuture::new(timed_out, self.inner.call(request));
        AndThen::new(future, Watch(read_whole.then_some(self.layer.idle)))
    }
}

pub struct Watch(Option<Duration>);

impl OnOutcome for Watch {
    fn then(self, outcome: Outcome) -> Outcome {
        let response = outcome?;
        Ok(match self.0 {
            Some(limit) if response.body().whole().is_none() => {
                response.map(|body| Body::new(IdleBody::new(body, limit)))
            }
            _ => response,
        })
    }
}

pin_project! {
    /// The head of a response, or the error of an expired deadline.
    pub struct ResponseFuture<F> {
        #[pin]
        future: Timeout<F>,
        timed_out: DeadlineExpired,
    }
}

impl<F: Future<Output = Outcome>> ResponseFuture<F> {
    pub(super) fn new(timed_out: DeadlineExpired, future: F) -> Self {
        Self {
            future: timeout(timed_out.after, future),
            timed_out,
        }
    }
}

impl<F: Future<Output = Outcome>> Future for ResponseFuture<F> {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let this = self.project();
        let outcome = std::task::ready!(this.future.poll(cx));
        Poll::Ready(outcome.unwrap_or_else(|_| Err((*this.timed_out).into())))
    }
}
