use std::{
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response};
use tokio::time::Instant;
use tower::{Layer, Service};

use super::{
    TotalDeadline,
    after::{After, Outcome, Then},
    answer::AnswerFuture,
};
use crate::client::{Body, BoxError};

/// Longer than any process runs: what no clock can hold is taken for this.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// Bounds a request as a whole, all attempts and the answer's body included. Whoever reads the body
/// finds the deadline among the answer's extensions, unless all of the body is there; the events of a watch are read
/// without it.
#[derive(Clone, Debug)]
pub struct TotalLayer {
    limit: Duration,
}

impl TotalLayer {
    /// Gives a request as long as `limit`.
    pub fn new(limit: Duration) -> Self {
        Self { limit }
    }
}

impl<S> Layer<S> for TotalLayer {
    type Service = Total<S>;

    fn layer(&self, inner: S) -> Total<S> {
        Total {
            inner,
            limit: self.limit,
        }
    }
}

/// The service of [`TotalLayer`].
#[derive(Clone, Debug)]
pub struct Total<S> {
    inner: S,
    limit: Duration,
}

impl<S> Service<Request<Body>> for Total<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = After<AnswerFuture<S::Future>, Tell>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let deadline = TotalDeadline {
            at: Instant::now() + self.limit.min(FAR),
            after: self.limit,
        };
        request.extensions_mut().insert(deadline);
        let future = AnswerFuture::new(deadline.passed(), self.inner.call(request));
        After::new(future, Tell(deadline))
    }
}

pub struct Tell(TotalDeadline);

impl Then for Tell {
    fn then(self, outcome: Outcome) -> Outcome {
        let mut response = outcome?;
        if response.body().whole().is_none() {
            response.extensions_mut().insert(self.0);
        }
        Ok(response)
    }
}
