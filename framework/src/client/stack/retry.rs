use std::{
    task::{Context, Poll},
    time::Duration,
};

use futures_core::future::BoxFuture;
use http::{Method, Request, Response, StatusCode};
use tokio::time::Instant;
use tower::{Layer, Service, ServiceExt};

use super::{TotalDeadline, and_then::Outcome, retry_after};
use crate::{
    backoff::Growth,
    client::{
        Body, BoxError, ConnectError, ConnectProblem,
        request::RequestClass,
        transport::{connection_broke, was_not_processed},
    },
    resource::LONGEST_RETRY_AFTER,
};

/// A request is repeated at most this often.
const MAX_RETRIES: u32 = 10;
/// If no connection can be made, a request is repeated at most this often. The caller learns of a server that is away
/// within a second.
const MAX_DIALS: u32 = 3;
/// The pauses if the server names none.
const PAUSES: Growth = Growth::doubling(Duration::from_millis(100), Duration::MAX);

/// Repeats a request where that is safe and useful: at most ten times, and not if the pause would pass the total
/// deadline. If `Retry-After` is a minute or more, the caller gets the answer at once and must wait itself.
///
/// | what happened | which requests are repeated | pause |
/// | --- | --- | --- |
/// | 429 with `Retry-After`: the server did not process it | all | the server's |
/// | 500, 502, 503, 504 with `Retry-After` | those that change nothing | the server's |
/// | the server said that it did not process it: a refused stream, or one after its GOAWAY | all | none, then 100 ms and longer |
/// | the connection was refused, or broke before it was open | all, three times | 100 ms and longer |
/// | the connection broke during the request | those that change nothing, once | none |
/// | a deadline expired, or any other answer | none | |
///
/// So the layer never repeats a write that may have been applied. An upgrade counts as a write. A request whose body
/// comes in pieces is never repeated.
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

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        // The service that was polled ready must take the call, not its clone.
        let next = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, next);
        let mut so_far = RetryState::default();
        // A block, because the parameters of an `async fn` are stored twice.
        Box::pin(async move {
            loop {
                let Some(again) = clone(&request) else {
                    return inner.ready().await?.call(request).await;
                };
                let deadline = request.extensions().get::<TotalDeadline>().copied();
                let outcome = inner.ready().await?.call(request).await;
                // A pause past the deadline would only turn a clear answer into a late one.
                let fits = |pause: &Duration| {
                    deadline
                        .is_none_or(|by| *pause < by.at.saturating_duration_since(Instant::now()))
                };
                let pause = so_far.pause_after(&again, &outcome);
                let Some(pause) = pause.filter(fits) else {
                    return outcome;
                };
                drop(outcome);
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
                request = again;
            }
        })
    }
}

/// The earlier attempts of a request.
#[derive(Default)]
struct RetryState {
    retries: u32,
    not_connected: u32,
    not_processed: u32,
    connection_has_broken: bool,
}

impl RetryState {
    /// The pause before the next attempt. `None` if there must be none.
    fn pause_after(&mut self, request: &Request<Body>, outcome: &Outcome) -> Option<Duration> {
        if self.retries == MAX_RETRIES {
            return None;
        }
        self.retries += 1;
        match outcome {
            Ok(response) => asked_to_wait(request, response),
            Err(error) if was_not_processed(error) => {
                self.not_processed += 1;
                let earlier = self.not_processed.checked_sub(2);
                Some(earlier.map_or(Duration::ZERO, |earlier| PAUSES.least(earlier)))
            }
            Err(error) if was_not_connected(error) && self.not_connected < MAX_DIALS => {
                self.not_connected += 1;
                Some(PAUSES.least(self.not_connected - 1))
            }
            Err(error) if connection_broke(error) && !self.connection_has_broken => {
                self.connection_has_broken = true;
                changes_nothing(request).then_some(Duration::ZERO)
            }
            Err(_) => None,
        }
    }
}

/// Whether nothing was sent, because there was no connection.
fn was_not_connected(error: &BoxError) -> bool {
    let error = error.downcast_ref::<ConnectError>();
    error.is_some_and(|error| {
        matches!(
            error.problem(),
            ConnectProblem::Refused | ConnectProblem::Io(_)
        )
    })
}

/// An upgrade is a GET, but it may have started a process.
fn changes_nothing(request: &Request<Body>) -> bool {
    let upgrades = request.extensions().get() == Some(&RequestClass::Upgrade);
    !upgrades
        && matches!(
            *request.method(),
            Method::GET | Method::HEAD | Method::OPTIONS
        )
}

fn asked_to_wait(request: &Request<Body>, response: &Response<Body>) -> Option<Duration> {
    let safe = match response.status() {
        StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::INTERNAL_SERVER_ERROR
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => changes_nothing(request),
        _ => false,
    };
    retry_after(response.headers()).filter(|pause| safe && *pause < LONGEST_RETRY_AFTER)
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
    use crate::client::{Deadline, error::DeadlineExpired};
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };
    use tower::service_fn;

    const LIMIT: Duration = Duration::from_secs(180);

    /// Sends a request of `method` to a server that answers `first` the first `times` times. Returns the number of
    /// attempts and the last code, or 0 if there was no answer.
    async fn sent<F>(method: Method, times: usize, first: F) -> (usize, u16)
    where
        F: Fn() -> Outcome + Clone + Send + Sync + 'static,
    {
        let sent = Arc::new(AtomicUsize::new(0));
        let count = sent.clone();
        let server = service_fn(move |_| {
            let outcome = match count.fetch_add(1, Ordering::SeqCst) < times {
                true => first(),
                false => Ok(Response::new(Body::empty())),
            };
            async move { outcome }
        });
        let request = Request::builder()
            .method(method)
            .extension(TotalDeadline {
                at: Instant::now() + LIMIT,
                after: LIMIT,
            })
            .body(Body::empty())
            .unwrap();
        let outcome = RetryLayer::default().layer(server).oneshot(request).await;
        let code = outcome.map_or(0, |response| response.status().as_u16());
        (sent.load(Ordering::SeqCst), code)
    }

    fn answer(code: u16, after: Option<&'static str>) -> impl Fn() -> Outcome + Clone {
        move || {
            let response = Response::builder().status(code);
            let response = match after {
                Some(after) => response.header("retry-after", after),
                None => response,
            };
            Ok(response.body(Body::empty())?)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_is_repeated_only_if_it_was_not_applied() {
        for (method, code, after, expected) in [
            (Method::GET, 429, Some("1"), (2, 200)),
            (Method::POST, 429, Some("1"), (2, 200)),
            (Method::POST, 429, None, (1, 429)),
            (Method::GET, 500, Some("1"), (2, 200)),
            (Method::GET, 502, Some("1"), (2, 200)),
            (Method::GET, 503, Some("7"), (2, 200)),
            (Method::GET, 504, Some("7"), (2, 200)),
            (Method::POST, 503, Some("7"), (1, 503)),
            (Method::POST, 504, Some("1"), (1, 504)),
            (Method::PUT, 504, Some("1"), (1, 504)),
            (Method::DELETE, 504, Some("1"), (1, 504)),
            (Method::PATCH, 500, Some("1"), (1, 500)),
            (Method::GET, 500, None, (1, 500)),
            (Method::GET, 404, Some("1"), (1, 404)),
            (Method::GET, 503, Some("59"), (2, 200)),
            (Method::GET, 503, Some("60"), (1, 503)),
            (Method::GET, 429, Some("86400"), (1, 429)),
            (Method::GET, 429, Some("18446744073709551615"), (1, 429)),
            (
                Method::GET,
                429,
                Some("Fri, 31 Dec 1999 23:59:59 GMT"),
                (1, 429),
            ),
        ] {
            let found = sent(method.clone(), 1, answer(code, after)).await;
            assert_eq!(found, expected, "{method} {code} {after:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_connection_is_tried_again_and_a_timeout_is_not() {
        let refused = || Err(ConnectError::new("there", ConnectProblem::Refused).into());
        let unknown = || {
            let problem = ConnectProblem::UnknownHost(std::io::ErrorKind::NotFound.into());
            Err(ConnectError::new("there", problem).into())
        };
        let late = || {
            Err(DeadlineExpired {
                deadline: Deadline::Response,
                after: LIMIT,
            }
            .into())
        };
        let start = Instant::now();
        assert_eq!(sent(Method::POST, 2, refused).await, (3, 200));
        assert_eq!(sent(Method::GET, 99, refused).await, (4, 0));
        assert_eq!(start.elapsed().as_millis(), 300 + 700);
        for method in [Method::GET, Method::POST] {
            assert_eq!(sent(method.clone(), 1, unknown).await, (1, 0));
            assert_eq!(sent(method, 1, late).await, (1, 0));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn retries_end_after_ten_and_use_the_servers_pauses() {
        let start = Instant::now();
        assert_eq!(
            sent(Method::POST, 99, answer(429, Some("7"))).await,
            (11, 429)
        );
        assert_eq!(start.elapsed().as_secs(), 70);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_with_a_streamed_body_is_not_repeated() {
        let server = service_fn(|_| async { answer(429, Some("1"))() });
        let body = Body::new(http_body_util::Full::new(bytes::Bytes::from("piece")));
        let retry = RetryLayer::default().layer(server);
        let response = retry.oneshot(Request::new(body)).await.unwrap();
        assert_eq!(response.status(), 429);
    }
}
