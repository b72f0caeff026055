use std::{pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{FutureExt, future::BoxFuture};
use http::{HeaderMap, Request, Response, StatusCode, header::CONTENT_LENGTH};
use http_body_util::Limited;
use tower::{Service, ServiceExt};

use super::{refusals::Refusals, reply::text_reply, routes::whole};
use crate::{
    client::{Body, BoxError},
    health::catch_panic_of,
};

/// The time limit for a service to return a response. It is less than that of the connection, so that the peer gets an
/// answer, and other requests of an HTTP/2 connection go on.
const SERVICE_TIMEOUT: Duration = Duration::from_secs(25);
/// The largest body of a request to a service of a program's own, in bytes.
pub(super) const MAX_REQUEST_BODY: usize = 1024 * 1024;

/// Responds to requests of each method.
pub(super) type ServiceHandler = Arc<
    dyn Fn(Request<Body>) -> Pin<Box<dyn Future<Output = Response<Body>> + Send>> + Send + Sync,
>;

type Served = BoxFuture<'static, Result<Response<Body>, BoxError>>;

/// The handler of a service at `path`. It responds whatever the service does. The body of a request has at most `max_body` bytes.
pub(super) fn of<S, B>(path: &str, service: S, max_body: usize) -> ServiceHandler
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let call = move |request: Request<Body>| -> Served {
        let served = service.clone().oneshot(request);
        let served = async move {
            let response = served.await.map_err(Into::into)?;
            Ok(response.map(Body::new))
        };
        served.boxed()
    };
    bounded(path, Arc::new(call), max_body)
}

fn bounded(
    path: &str,
    call: Arc<dyn Fn(Request<Body>) -> Served + Send + Sync>,
    max_body: usize,
) -> ServiceHandler {
    let context: Arc<(String, Refusals)> = Arc::new((path.to_owned(), Refusals::default()));
    Arc::new(move |request| {
        let (context, call) = (context.clone(), call.clone());
        Box::pin(async move {
            if is_too_large(request.headers(), max_body) {
                return whole(text_reply(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    format!(
                        "the body of the request is larger than {} MiB\n",
                        max_body >> 20
                    ),
                ));
            }
            let request = request.map(|body| Body::new(Limited::new(body, max_body)));
            // The call itself may panic, too.
            let served = catch_panic_of(async move { call(request).await });
            let problem = match tokio::time::timeout(SERVICE_TIMEOUT, served).await {
                Ok(Ok(Ok(response))) => return response,
                Ok(Ok(Err(error))) => format!("failed: {error}"),
                Ok(Err(panic)) => format!("panicked: {panic}"),
                Err(_) => {
                    let text = format!("did not respond within {} s", SERVICE_TIMEOUT.as_secs());
                    log_failure(&context, &text);
                    return whole(text_reply(
                        StatusCode::SERVICE_UNAVAILABLE,
                        format!("the route {text}\n"),
                    ));
                }
            };
            log_failure(&context, &problem);
            // The peer does not see the error, because it may name what only operators may see.
            whole(text_reply(
                StatusCode::INTERNAL_SERVER_ERROR,
                "500 internal server error\n",
            ))
        })
    })
}

/// Any peer can cause a failure again and again, so it is at most one line per minute.
fn log_failure((path, failures): &(String, Refusals), problem: &str) {
    match failures.count() {
        None => tracing::debug!("the route {path} {problem}"),
        Some(1) => tracing::error!("the route {path} {problem}"),
        Some(count) => tracing::error!(
            "the route {path} {problem}; {count} requests failed since the last such line"
        ),
    }
}

/// Whether the request announces a body beyond the limit. Other bodies are cut while the service reads them.
fn is_too_large(headers: &HeaderMap, max_body: usize) -> bool {
    let length = headers.get(CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    length.is_some_and(|length| length > max_body)
}
