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
    TimedOut,
    after::{After, Outcome, Then},
    idle::IdleBody,
};
use crate::client::{Body, BoxError, Deadline, Deadlines, class::Class};

/// Bounds the wait for the head of one attempt's answer, and for each further piece of the body
/// where it is read whole. What is late is an error that says which of them it was.
#[derive(Clone, Debug)]
pub struct AnswerLayer {
    head: Duration,
    idle: Duration,
}

impl AnswerLayer {
    /// Waits as long as `deadlines` say.
    pub fn new(deadlines: &Deadlines) -> Self {
        Self {
            head: deadlines.answer,
            idle: deadlines.idle,
        }
    }
}

impl<S> Layer<S> for AnswerLayer {
    type Service = Answer<S>;

    fn layer(&self, inner: S) -> Answer<S> {
        Answer {
            inner,
            layer: self.clone(),
        }
    }
}

/// The service of [`AnswerLayer`].
#[derive(Clone, Debug)]
pub struct Answer<S> {
    inner: S,
    layer: AnswerLayer,
}

impl<S> Service<Request<Body>> for Answer<S>
where
    S: Service<Request<Body>, Response = http::Response<Body>, Error = BoxError>,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = After<AnswerFuture<S::Future>, Watch>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let read_whole = request.extensions().get() == Some(&Class::Request);
        let timed_out = TimedOut {
            deadline: Deadline::Answer,
            after: self.layer.head,
        };
        let future = AnswerFuture::new(timed_out, self.inner.call(request));
        After::new(future, Watch(read_whole.then_some(self.layer.idle)))
    }
}

pub struct Watch(Option<Duration>);

impl Then for Watch {
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
    /// The head of an answer, or the end of the wait.
    pub struct AnswerFuture<F> {
        #[pin]
        future: Timeout<F>,
        timed_out: TimedOut,
    }
}

impl<F: Future<Output = Outcome>> AnswerFuture<F> {
    pub(super) fn new(timed_out: TimedOut, future: F) -> Self {
        Self {
            future: timeout(timed_out.after, future),
            timed_out,
        }
    }
}

impl<F: Future<Output = Outcome>> Future for AnswerFuture<F> {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let this = self.project();
        let outcome = std::task::ready!(this.future.poll(cx));
        Poll::Ready(outcome.unwrap_or_else(|_| Err((*this.timed_out).into())))
    }
}
