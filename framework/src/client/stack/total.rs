use std::{
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response};
use tokio::time::Instant;
use tower::{Layer, Service};

use super::{
    and_then::{AndThen, OnOutcome, Outcome},
    response_deadline::ResponseFuture,
};
use crate::client::{Body, BoxError, Deadline, error::DeadlineExpired};

/// Longer than any process runs. Replaces durations that no clock can hold.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// Limits the duration of a request as a whole, with all attempts and the body of the answer. The answer has the
/// deadline as an extension for the code that reads the body, unless the whole body is there already. The events of a
/// watch have no deadline.
#[derive(Clone, Debug)]
pub struct TotalLayer {
    limit: Duration,
}

impl TotalLayer {
    /// Allows each request to take `limit`.
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
    type Future = AndThen<ResponseFuture<S::Future>, Tell>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let deadline = TotalDeadline {
            at: Instant::now() + self.limit.min(FAR),
            after: self.limit,
        };
        request.extensions_mut().insert(deadline);
        let future = ResponseFuture::new(deadline.passed(), self.inner.call(request));
        AndThen::new(future, Tell(deadline))
    }
}

pub struct Tell(TotalDeadline);

impl OnOutcome for Tell {
    fn then(self, outcome: Outcome) -> Outcome {
        let mut response = outcome?;
        if response.body().whole().is_none() {
            response.extensions_mut().insert(self.0);
        }
        Ok(response)
    }
}

/// The total deadline of a request, with the body of its answer. An extension of the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TotalDeadline {
    pub(crate) at: Instant,
    pub(crate) after: Duration,
}

impl TotalDeadline {
    /// The error after the deadline expired.
    pub(crate) fn passed(self) -> DeadlineExpired {
        DeadlineExpired {
            deadline: Deadline::Total,
            after: self.after,
        }
    }
}
