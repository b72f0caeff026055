use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::Response;
use pin_project_lite::pin_project;

use crate::client::{Body, BoxError};

/// The head of an answer, or the error in its place.
pub(super) type Outcome = Result<Response<Body>, BoxError>;

/// The work of a layer after the inner service has returned.
pub(super) trait OnOutcome {
    fn then(self, outcome: Outcome) -> Outcome;
}

pin_project! {
    /// The future of the inner service, followed by the layer's own work. Allocates nothing.
    pub struct AndThen<F, T> {
        #[pin]
        future: F,
        then: Option<T>,
    }
}

impl<F, T> AndThen<F, T> {
    pub(super) fn new(future: F, then: T) -> Self {
        Self {
            future,
            then: Some(then),
        }
    }
}

impl<F: Future<Output = Outcome>, T: OnOutcome> Future for AndThen<F, T> {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let this = self.project();
        let outcome = ready!(this.future.poll(cx));
        Poll::Ready(match this.then.take() {
            Some(then) => then.then(outcome),
            None => outcome,
        })
    }
}
