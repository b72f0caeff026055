use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Limited};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};

use super::{
    Denied, ReadCaches, Webhook,
    refused::{JSON, Refused},
    review::{Decision, ReviewRequest},
};
use crate::{client::Body, health::catch_panic_of, metrics::WebhookMetrics, resource::duration};

/// The largest body of a review: an object before and after a request, each as large as an API server accepts, and the rest.
pub(super) const MAX_BODY: usize = 7 * 1024 * 1024;
/// A body up to this length needs no reservation: the server runs at most 320 requests at once.
const SMALL_BODY: usize = 64 * 1024;
/// The time for a body to arrive once its memory is reserved. An API server sends it at once, and who does not must not hold the memory.
const BODY_TIME: Duration = Duration::from_secs(2);
/// The bytes of all larger bodies that are read or decided about at once. Further requests wait.
const MAX_BODIES: usize = 64 * 1024 * 1024;
/// The unit in which bodies are counted.
const BODY_UNIT: usize = 1024;
/// The longest time for an answer, whatever the API server would wait. The server of the module `server` gives up after 25 s.
const LONGEST: Duration = Duration::from_secs(24);

/// The memory that all webhooks of an operator share for the bodies of requests.
#[derive(Clone, Debug)]
pub(super) struct BodyMemory(Arc<Semaphore>);

impl BodyMemory {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(MAX_BODIES / BODY_UNIT)))
    }

    /// Waits until there is memory for a body of this length.
    async fn reserve(&self, length: usize) -> Option<OwnedSemaphorePermit> {
        let units = u32::try_from(length.div_ceil(BODY_UNIT)).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        self.0.clone().acquire_many_owned(units).await.ok()
    }
}

/// Answers the requests for one webhook.
pub(super) struct WebhookService {
    pub(super) webhook: Webhook,
    pub(super) memory: BodyMemory,
    pub(super) metrics: WebhookMetrics,
    pub(super) caches: ReadCaches,
}

impl WebhookService {
    pub(super) async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let began = Instant::now();
        measured(&self.metrics, began, self.review(request, began)).await
    }

    async fn review(
        &self,
        request: Request<Body>,
        began: Instant,
    ) -> Result<Response<Body>, Refused> {
        let (head, body) = request.into_parts();
        check_head(&head.method, &head.headers)?;
        let limit = given_timeout(&head.uri).unwrap_or(self.webhook.rules.timeout);
        let deadline = began + time_to_answer(limit);
        let late = || {
            self.metrics.timeouts.inc();
            format!("did not decide within {}", duration::format(limit))
        };
        let length = announced_length(&head.headers).unwrap_or(MAX_BODY);
        let read = async {
            // Small reviews wait for nobody.
            let memory = match length <= SMALL_BODY {
                true => None,
                false => self.memory.reserve(length).await,
            };
            let body = tokio::time::timeout(BODY_TIME, read_body(body)).await;
            let body =
                body.map_err(|_| Refused::bad_request("the body of the review is too slow"))?;
            Ok::<_, Refused>((body?, memory))
        };
        let (body, _memory) = match timeout_at(deadline, read).await {
            Ok(read) => read?,
            Err(_) => {
                let problem = format!(
                    "{}: the request did not arrive in time, or too many others run",
                    late()
                );
                return Err(self.failed(StatusCode::GATEWAY_TIMEOUT, "Timeout", &problem));
            }
        };
        let request = ReviewRequest::read(&body)?;
        drop(body);
        self.webhook.check_kind(&request)?;
        let uid = request.uid.clone();
        // The call itself may panic, too.
        let caches = self.caches.clone();
        let decided =
            catch_panic_of(async { self.webhook.decide(request, deadline, caches).await });
        let failed = match timeout_at(deadline, decided).await {
            Ok(Ok(decision)) => return self.write(&decision, &uid),
            Ok(Err(panic)) => {
                self.metrics.panics.inc();
                // The message of a panic may hold a part of an object, so only the log of the operator has it.
                tracing::error!(
                    webhook = self.webhook.path(),
                    "the webhook panicked: {panic}"
                );
                let problem = "panicked: the operator's log has the message";
                self.failed(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", problem)
            }
            Err(_) => self.failed(StatusCode::GATEWAY_TIMEOUT, "Timeout", &late()),
        };
        match self.webhook.rules.ignores_failures {
            // The API server lets the request pass if the call fails, but not if it is denied.
            true => Err(failed),
            false => {
                let denied = Denied::with(failed.code.as_u16(), failed.reason, failed.message);
                let decision = Decision {
                    outcome: Err(denied),
                    audit: std::collections::BTreeMap::new(),
                };
                self.write(&decision, &uid)
            }
        }
    }

    fn failed(&self, code: StatusCode, reason: &'static str, problem: &str) -> Refused {
        let message = format!("the webhook {} {problem}", self.webhook.name());
        Refused::new(code, reason, message)
    }

    fn write(&self, decision: &Decision, uid: &str) -> Result<Response<Body>, Refused> {
        if decision.outcome.is_err() {
            self.metrics.denials.inc();
        }
        let Ok(body) = decision.write(uid) else {
            let problem = "made an answer that cannot be written as JSON";
            return Err(self.failed(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", problem));
        };
        let mut response = Response::new(Body::from(body));
        response.headers_mut().insert(header::CONTENT_TYPE, JSON);
        Ok(response)
    }
}

/// The answer to a request that began at `began`, with its metrics.
pub(super) async fn measured(
    metrics: &WebhookMetrics,
    began: Instant,
    review: impl Future<Output = Result<Response<Body>, Refused>>,
) -> Response<Body> {
    metrics.in_flight.inc();
    // Dropped with the request, if the API server gives up.
    let _in_flight = InFlight(metrics);
    let response = review.await.unwrap_or_else(Refused::response);
    metrics.answered(response.status().as_u16());
    metrics.seconds.observe(began.elapsed().as_secs_f64());
    response
}

/// A request that is answered now.
struct InFlight<'a>(&'a WebhookMetrics);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.dec();
    }
}

fn check_head(method: &Method, headers: &HeaderMap) -> Result<(), Refused> {
    check_request(method, headers)?;
    if announced_length(headers).is_some_and(|length| length > MAX_BODY) {
        return Err(too_large());
    }
    Ok(())
}

/// Checks the method and the content type.
pub(super) fn check_request(method: &Method, headers: &HeaderMap) -> Result<(), Refused> {
    if method != Method::POST {
        return Err(Refused::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "MethodNotAllowed",
            "a webhook answers only POST",
        ));
    }
    let given = headers.get(header::CONTENT_TYPE);
    let given = given
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let media_type = given.split(';').next().unwrap_or_default().trim();
    if !media_type.eq_ignore_ascii_case("application/json") {
        return Err(Refused::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UnsupportedMediaType",
            "a review has the content type application/json",
        ));
    }
    Ok(())
}

fn too_large() -> Refused {
    Refused::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "RequestEntityTooLarge",
        format!(
            "the body of a review has at most {} MiB",
            MAX_BODY / 1024 / 1024
        ),
    )
}

pub(super) fn announced_length(headers: &HeaderMap) -> Option<usize> {
    headers
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

async fn read_body(body: Body) -> Result<Bytes, Refused> {
    let read = Limited::new(body, MAX_BODY).collect().await;
    match read {
        Ok(read) => Ok(read.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => Err(too_large()),
        Err(_) => Err(Refused::bad_request("the body of the review breaks off")),
    }
}

/// The time that the API server waits: it writes `timeout=10s` into the URL.
pub(super) fn given_timeout(uri: &Uri) -> Option<Duration> {
    let pairs = uri.query()?.split('&');
    let text = pairs
        .filter_map(|pair| pair.strip_prefix("timeout="))
        .next()?;
    duration::parse(text).ok().filter(|limit| !limit.is_zero())
}

/// The time after which the webhook answers by itself, so that the API server still gets the answer.
pub(super) fn time_to_answer(limit: Duration) -> Duration {
    const LEAST: Duration = Duration::from_millis(20);
    const MOST: Duration = Duration::from_millis(500);
    let margin = (limit / 10).clamp(LEAST, MOST);
    limit.saturating_sub(margin).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_due_before_the_api_server_gives_up() {
        let due = |query: &str| {
            let uri: Uri = format!("/validate?{query}").parse().unwrap();
            given_timeout(&uri).map(time_to_answer)
        };
        let millis = Duration::from_millis;
        assert_eq!(due("timeout=10s"), Some(millis(9500)));
        assert_eq!(due("x=1&timeout=1s"), Some(millis(900)));
        assert_eq!(due("timeout=30s"), Some(LONGEST));
        for query in ["", "timeout=", "timeout=soon", "timeout=0s", "timeout=-1s"] {
            assert_eq!(due(query), None, "{query}");
        }
    }
}
