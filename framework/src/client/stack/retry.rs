use std::{
    task::{Context, Poll},
    time::Duration,
};

use futures_core::future::BoxFuture;
use http::{Method, Request, Response, StatusCode};
use tokio::time::Instant;
use tower::{Layer, Service, ServiceExt};

use super::{TotalDeadline, after::Outcome, retry_after};
use crate::{
    client::{
        Body, BoxError, ConnectError, ConnectProblem,
        class::Class,
        transport::{connection_broke, was_not_processed},
    },
    resource::LONGEST_RETRY_AFTER,
};

/// How often a request is sent again at most.
const MOST_RETRIES: u32 = 10;
/// How often where no connection could be made: a server that is away is told of within a second.
const MOST_DIALS: u32 = 3;
/// The first pause where the server names none; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Sends a request again where that is safe and of use: at most ten times, and not when the pause
/// would pass the total deadline. A `Retry-After` of a minute or more is the caller's to wait for: the
/// caller gets the answer at once.
///
/// | what happened | what is sent again | pause |
/// | --- | --- | --- |
/// | 429 with `Retry-After`: it was not done | everything | the server's |
/// | 500, 502, 503, 504 with `Retry-After` | what changes nothing | the server's |
/// | the server said that it did not look at it: a refused stream, or one after its goodbye | everything | none, then 100 ms and longer |
/// | nothing listens, or the connection broke before it was made | everything, three times | 100 ms and longer |
/// | the connection broke under the request | what changes nothing, once | none |
/// | a deadline passed, or any other answer | nothing | |
///
/// So a write that may have been done is never sent again; an upgrade counts as one. Neither is a
/// request whose body comes piece by piece.
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
    let mut so_far = SoFar::default();
    loop {
        let Some(again) = clone(&request) else {
            return inner.ready().await?.call(request).await;
        };
        let deadline = request.extensions().get::<TotalDeadline>().copied();
        let outcome = inner.ready().await?.call(request).await;
        // A pause past the deadline would only turn a clear answer into a late one.
        let fits = |pause: &Duration| {
            deadline.is_none_or(|by| *pause < by.at.saturating_duration_since(Instant::now()))
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
}

/// What became of the earlier attempts of a request.
#[derive(Default)]
struct SoFar {
    retries: u32,
    not_connected: u32,
    not_processed: u32,
    connection_has_broken: bool,
}

impl SoFar {
    /// After which pause to send the request again, if at all.
    fn pause_after(&mut self, request: &Request<Body>, outcome: &Outcome) -> Option<Duration> {
        if self.retries == MOST_RETRIES {
            return None;
        }
        self.retries += 1;
        match outcome {
            Ok(response) => asked_to_wait(request, response),
            Err(error) if was_not_processed(error) => {
                self.not_processed += 1;
                let earlier = self.not_processed.checked_sub(2);
                Some(earlier.map_or(Duration::ZERO, |earlier| FIRST_PAUSE * 2_u32.pow(earlier)))
            }
            Err(error) if was_not_connected(error) && self.not_connected < MOST_DIALS => {
                self.not_connected += 1;
                Some(FIRST_PAUSE * 2_u32.pow(self.not_connected - 1))
            }
            Err(error) if connection_broke(error) && !self.connection_has_broken => {
                self.connection_has_broken = true;
                changes_nothing(request).then_some(Duration::ZERO)
            }
            Err(_) => None,
        }
    }
}

/// Whether nothing was sent, because there was nobody to send it to.
fn was_not_connected(error: &BoxError) -> bool {
    let error = error.downcast_ref::<ConnectError>();
    error.is_some_and(|error| {
        matches!(
            error.problem(),
            ConnectProblem::Refused | ConnectProblem::Io(_)
        )
    })
}

/// An upgrade is a GET that may have started a process.
fn changes_nothing(request: &Request<Body>) -> bool {
    let upgrades = request.extensions().get() == Some(&Class::Upgrade);
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
    use crate::client::{Deadline, stack::TimedOut};
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };
    use tower::service_fn;

    const LIMIT: Duration = Duration::from_secs(180);

    /// How often a request of `method` is sent to a server whose first `times` answers are `first`,
    /// and the last code; 0 where there is none.
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
    async fn only_what_cannot_have_been_done_is_sent_again() {
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
    async fn what_was_not_connected_is_sent_again_and_what_timed_out_is_not() {
        let refused = || Err(ConnectError::new("there", ConnectProblem::Refused).into());
        let unknown = || {
            let problem = ConnectProblem::UnknownHost(std::io::ErrorKind::NotFound.into());
            Err(ConnectError::new("there", problem).into())
        };
        let late = || {
            Err(TimedOut {
                deadline: Deadline::Answer,
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
    async fn it_ends_after_ten_times_and_the_pauses_are_the_servers() {
        let start = Instant::now();
        assert_eq!(
            sent(Method::POST, 99, answer(429, Some("7"))).await,
            (11, 429)
        );
        assert_eq!(start.elapsed().as_secs(), 70);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_comes_piece_by_piece_is_sent_once() {
        let server = service_fn(|_| async { answer(429, Some("1"))() });
        let body = Body::new(http_body_util::Full::new(bytes::Bytes::from("piece")));
        let retry = RetryLayer::default().layer(server);
        let response = retry.oneshot(Request::new(body)).await.unwrap();
        assert_eq!(response.status(), 429);
    }
}
