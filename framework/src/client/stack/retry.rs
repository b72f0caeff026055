use std::{
    task::{Context, Poll},
    time::Duration,
};

use futures_core::future::BoxFuture;
use http::{Method, Request, Response, StatusCode};
use tokio::time::Instant;
use tower::{Layer, Service, ServiceExt};

use super::{TotalDeadline, after::Outcome, retry_after};
use crate::client::{
    Body, BoxError,
    transport::{connection_broke, was_not_processed},
};

/// How often a request is sent at most.
const MOST_ATTEMPTS: usize = 10;

/// Sends a request again where that is safe and of use.
///
/// * The server asks for it with `Retry-After`: any request after 429, which says that it was not
///   done; only one that changes nothing after 500, 502, 503 or 504.
/// * The connection broke: once, a request that changes nothing; and any that the server said it
///   had not looked at.
///
/// A write that may have been done is never sent again.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RetryLayer {}

impl<S> Layer<S> for RetryLayer {
    type Service = Retry<S>;

    fn layer(&self, inner: S) -> Retry<S> {
        Retry { inner }
    }
}

/// The service of [`RetryLayer`].
#[derive(Clone, Debug)]
pub struct Retry<S> {
    inner: S,
}

impl<S> Service<Request<Body>> for Retry<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Outcome>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        // The clone was not asked whether it is ready, so the ready one goes.
        let next = self.inner.clone();
        let inner = std::mem::replace(&mut self.inner, next);
        Box::pin(run(inner, request))
    }
}

async fn run<S>(mut inner: S, mut request: Request<Body>) -> Outcome
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError>,
{
    let mut attempt = 1;
    let mut connection_has_broken = false;
    loop {
        let Some(again) = clone(&request) else {
            return inner.ready().await?.call(request).await;
        };
        let deadline = request.extensions().get::<TotalDeadline>().copied();
        let outcome = inner.ready().await?.call(request).await;
        if attempt == MOST_ATTEMPTS {
            return outcome;
        }
        let pause = match &outcome {
            Ok(response) => asked_to_wait(again.method(), response),
            Err(error) if was_not_processed(error) => Some(Duration::ZERO),
            Err(error) if connection_broke(error) && !connection_has_broken => {
                connection_has_broken = true;
                changes_nothing(again.method()).then_some(Duration::ZERO)
            }
            Err(_) => None,
        };
        // A pause past the deadline would only turn a clear answer into a late one.
        let fits = |pause: &Duration| {
            deadline.is_none_or(|by| *pause < by.at.saturating_duration_since(Instant::now()))
        };
        let Some(pause) = pause.filter(fits) else {
            return outcome;
        };
        drop(outcome);
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        attempt += 1;
        request = again;
    }
}

fn changes_nothing(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

fn asked_to_wait(method: &Method, response: &Response<Body>) -> Option<Duration> {
    let safe = match response.status() {
        StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::INTERNAL_SERVER_ERROR
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => changes_nothing(method),
        _ => false,
    };
    retry_after(response.headers()).filter(|_| safe)
}

pub(super) fn clone(request: &Request<Body>) -> Option<Request<Body>> {
    let mut copy = Request::new(request.body().try_clone()?);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    *copy.extensions_mut() = request.extensions().clone();
    Some(copy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };
    use tower::service_fn;

    /// How often a request of `method` is sent to a server that first answers `code`, then 200, and
    /// the last code.
    async fn sent(method: Method, code: u16, after: Option<&'static str>) -> (usize, u16) {
        let sent = Arc::new(AtomicUsize::new(0));
        let count = sent.clone();
        let server = service_fn(move |_| {
            let first = count.fetch_add(1, Ordering::SeqCst) == 0;
            let mut response = Response::builder().status(if first { code } else { 200 });
            if let Some(after) = after.filter(|_| first) {
                response = response.header("retry-after", after);
            }
            let response = response.body(Body::empty());
            async move { response.map_err(BoxError::from) }
        });
        let limit = Duration::from_secs(60);
        let request = Request::builder()
            .method(method)
            .extension(TotalDeadline {
                at: Instant::now() + limit,
                after: limit,
            })
            .body(Body::empty())
            .unwrap();
        let response = RetryLayer::default()
            .layer(server)
            .oneshot(request)
            .await
            .unwrap();
        (sent.load(Ordering::SeqCst), response.status().as_u16())
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_cannot_have_been_done_is_sent_again() {
        for (method, code, after, expected) in [
            (Method::GET, 429, Some("1"), (2, 200)),
            (Method::POST, 429, Some("1"), (2, 200)),
            (Method::POST, 429, None, (1, 429)),
            (Method::GET, 503, Some("7"), (2, 200)),
            (Method::POST, 503, Some("7"), (1, 503)),
            (Method::POST, 504, Some("1"), (1, 504)),
            (Method::PATCH, 500, Some("1"), (1, 500)),
            (Method::GET, 500, None, (1, 500)),
            (Method::GET, 404, Some("1"), (1, 404)),
            (Method::GET, 429, Some("61"), (1, 429)),
            (Method::GET, 429, Some("18446744073709551615"), (1, 429)),
        ] {
            assert_eq!(
                sent(method.clone(), code, after).await,
                expected,
                "{method} {code}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_pause_is_the_servers() {
        let start = Instant::now();
        sent(Method::GET, 429, Some("7")).await;
        assert_eq!(start.elapsed().as_secs(), 7);
    }
}
