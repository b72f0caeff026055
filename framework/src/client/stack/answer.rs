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

use super::{TimedOut, after::Outcome};
use crate::client::{Body, BoxError};

/// Bounds the wait for the head of one attempt's answer; what is late is an error of its own.
#[derive(Clone, Debug)]
pub struct AnswerLayer {
    limit: Duration,
}

impl AnswerLayer {
    /// Waits as long as `limit`.
    pub fn new(limit: Duration) -> Self {
        Self { limit }
    }
}

impl<S> Layer<S> for AnswerLayer {
    type Service = Answer<S>;

    fn layer(&self, inner: S) -> Answer<S> {
        Answer {
            inner,
            limit: self.limit,
        }
    }
}

/// The service of [`AnswerLayer`].
#[derive(Clone, Debug)]
pub struct Answer<S> {
    inner: S,
    limit: Duration,
}

impl<S> Service<Request<Body>> for Answer<S>
where
    S: Service<Request<Body>, Response = http::Response<Body>, Error = BoxError>,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = AnswerFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        AnswerFuture::new(self.limit, self.inner.call(request))
    }
}

pin_project! {
    /// The head of an answer, or the end of the wait.
    pub struct AnswerFuture<F> {
        #[pin]
        future: Timeout<F>,
        limit: Duration,
    }
}

impl<F: Future<Output = Outcome>> AnswerFuture<F> {
    pub(super) fn new(limit: Duration, future: F) -> Self {
        Self {
            future: timeout(limit, future),
            limit,
        }
    }
}

impl<F: Future<Output = Outcome>> Future for AnswerFuture<F> {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let this = self.project();
        let outcome = std::task::ready!(this.future.poll(cx));
        Poll::Ready(outcome.unwrap_or_else(|_| Err(TimedOut::new(*this.limit).into())))
    }
}
