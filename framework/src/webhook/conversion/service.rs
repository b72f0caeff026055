use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::available_parallelism,
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout_at},
};

use super::{
    PATH,
    review::{Answer, ConversionRequest},
};
use crate::{
    client::Body,
    metrics::WebhookMetrics,
    resource::Versions,
    webhook::{
        refused::{JSON, Refused},
        service::{announced_length, check_request, given_timeout, measured, time_to_answer},
    },
};

/// The largest body of a review. An API server sends all objects of a page in one review, and fills its own cache with pages of
/// 10 000 objects.
const MAX_BODY: usize = 256 * 1024 * 1024;
/// The bytes of all bodies that are read or converted at once. Further requests wait.
const MAX_BODIES: usize = MAX_BODY;
/// The unit in which bodies are counted.
const BODY_UNIT: usize = 1024;
/// The time for a body to arrive once its memory is reserved.
const BODY_TIME: Duration = Duration::from_secs(10);
/// How long an API server waits that does not say it (k8s.io/apiextensions-apiserver, webhook converter).
const TIMEOUT: Duration = Duration::from_secs(30);

/// Answers the conversions of all kinds of an operator.
#[derive(Debug)]
pub(in crate::webhook) struct ConversionService {
    kinds: Arc<[Versions]>,
    metrics: WebhookMetrics,
    memory: Semaphore,
    /// Conversions that run at once: they need a processor each.
    running: Semaphore,
}

impl ConversionService {
    pub(in crate::webhook) fn new(kinds: &[Versions], metrics: WebhookMetrics) -> Self {
        let processors = available_parallelism().map_or(1, usize::from);
        Self {
            kinds: kinds.into(),
            metrics,
            memory: Semaphore::new(MAX_BODIES / BODY_UNIT),
            running: Semaphore::new(processors),
        }
    }

    pub(in crate::webhook) async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let began = Instant::now();
        measured(&self.metrics, began, self.review(request, began)).await
    }

    async fn review(
        &self,
        request: Request<Body>,
        began: Instant,
    ) -> Result<Response<Body>, Refused> {
        let (head, body) = request.into_parts();
        check_request(&head.method, &head.headers)?;
        let length = announced_length(&head.headers).unwrap_or(MAX_BODY);
        if length > MAX_BODY {
            return Err(too_large());
        }
        let deadline = began + time_to_answer(given_timeout(&head.uri).unwrap_or(TIMEOUT));
        let late = |what: &str| {
            self.metrics.timeouts.inc();
            let message = format!("the conversion at {PATH} did not end in time: {what}");
            Refused::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message)
        };
        let units = u32::try_from(length.div_ceil(BODY_UNIT)).unwrap_or(u32::MAX);
        let read = async {
            // The semaphores are never closed.
            let memory = self.memory.acquire_many(units).await.ok();
            let body = tokio::time::timeout(BODY_TIME, read_body(body)).await;
            let body =
                body.map_err(|_| Refused::bad_request("the body of the review is too slow"))?;
            let running = self.running.acquire().await.ok();
            Ok::<_, Refused>((body?, memory, running))
        };
        let (body, _memory, _running) = match timeout_at(deadline, read).await {
            Ok(read) => read?,
            Err(_) => return Err(late("the request did not arrive in time, or others run")),
        };
        match timeout_at(deadline, self.convert(body)).await {
            Ok(answered) => answered,
            Err(_) => Err(late("the objects are too many or too large")),
        }
    }

    async fn convert(&self, body: Bytes) -> Result<Response<Body>, Refused> {
        let review = ConversionRequest::read(&body)?;
        drop(body);
        let (uid, kinds) = (review.uid().to_owned(), self.kinds.clone());
        // Set when this future ends, also because nobody waits for it any more.
        let ended = Ended::default();
        let has_ended = ended.0.clone();
        let convert = move || review.convert(&kinds, || has_ended.load(Ordering::Relaxed));
        let answer = match tokio::task::spawn_blocking(convert).await {
            Ok(Some(answer)) => answer,
            // It ends early only after this future.
            Ok(None) => return Err(Refused::bad_request("the request has ended")),
            Err(error) => {
                if error.is_panic() {
                    self.metrics.panics.inc();
                    // The message of a panic may hold a part of an object, so only the log of the operator has it.
                    tracing::error!(webhook = PATH, "a conversion panicked: {error}");
                }
                let problem = "a conversion of the operator panicked: its log has the message";
                Answer::failed(uid, problem.into())
            }
        };
        if answer.is_failure() {
            self.metrics.denials.inc();
        }
        let Ok(body) = answer.write() else {
            let problem = "the converted objects cannot be written as JSON";
            let code = StatusCode::INTERNAL_SERVER_ERROR;
            return Err(Refused::new(code, "InternalError", problem));
        };
        let mut response = Response::new(Body::from(body));
        response.headers_mut().insert(header::CONTENT_TYPE, JSON);
        Ok(response)
    }
}

/// Ends a conversion on its thread.
#[derive(Debug, Default)]
struct Ended(Arc<AtomicBool>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

async fn read_body(body: Body) -> Result<Bytes, Refused> {
    let read = Limited::new(body, MAX_BODY).collect().await;
    match read {
        Ok(read) => Ok(read.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => Err(too_large()),
        Err(_) => Err(Refused::bad_request("the body of the review breaks off")),
    }
}

fn too_large() -> Refused {
    Refused::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "RequestEntityTooLarge",
        format!(
            "the body of a conversion has at most {} MiB",
            MAX_BODY / 1024 / 1024
        ),
    )
}
