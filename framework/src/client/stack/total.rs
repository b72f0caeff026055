use std::{
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response};
use tokio::time::Instant;
use tower::Service;

use super::{
    TotalDeadline,
    after::{After, Outcome, Then},
    answer::AnswerFuture,
};
use crate::client::{Body, BoxError, class::Class};

/// Bounds a request as a whole, all attempts and the answer's body included; of a watch only its
/// beginning. Whoever reads the body finds the deadline among the answer's extensions.
#[derive(Clone)]
pub(crate) struct Total<S> {
    pub(crate) inner: S,
    pub(crate) limit: Duration,
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
            at: Instant::now() + self.limit,
            after: self.limit,
        };
        let is_watch = request.extensions().get() == Some(&Class::Watch);
        request.extensions_mut().insert(deadline);
        let future = AnswerFuture::new(self.limit, self.inner.call(request));
        After::new(future, Tell((!is_watch).then_some(deadline)))
    }
}

pub(crate) struct Tell(Option<TotalDeadline>);

impl Then for Tell {
    fn then(self, outcome: Outcome) -> Outcome {
        let mut response = outcome?;
        if let Some(deadline) = self.0 {
            response.extensions_mut().insert(deadline);
        }
        Ok(response)
    }
}
