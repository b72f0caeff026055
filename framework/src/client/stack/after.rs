use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::Response;
use pin_project_lite::pin_project;

use crate::client::{Body, BoxError};

/// An answer's head, or why there is none.
pub(super) type Outcome = Result<Response<Body>, BoxError>;

/// What a layer does with the outcome of its inner service.
pub(super) trait Then {
    fn then(self, outcome: Outcome) -> Outcome;
}

pin_project! {
    /// The inner service's future, with the layer's own work at its end. No allocation.
    pub struct After<F, T> {
        #[pin]
        future: F,
        then: Option<T>,
    }
}

impl<F, T> After<F, T> {
    pub(super) fn new(future: F, then: T) -> Self {
        Self {
            future,
            then: Some(then),
        }
    }
}

impl<F: Future<Output = Outcome>, T: Then> Future for After<F, T> {
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
