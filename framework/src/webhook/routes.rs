use std::{convert::Infallible, sync::Arc};

use futures_util::{FutureExt, future::BoxFuture};
use http::{Request, Response, StatusCode, Version, header};
use tokio_util::sync::CancellationToken;
use tower::service_fn;

use super::{
    ReadCaches, Webhook,
    conversion::{self, ConversionService},
    refused::Refused,
    service::{BodyMemory, WebhookService},
};
use crate::{client::Body, metrics::Metrics, resource::Versions, server::Routes};

/// Serves each webhook at its path. Another path gets an error that names the paths.
///
/// After `stopping`, each answer over HTTP/1 closes its connection. So when the server ends, an API server has only connections
/// left that it has not used since then: a request that it sends on one at that very moment would be lost.
pub(crate) fn routes(
    webhooks: &[Webhook],
    conversions: &[Versions],
    metrics: &Metrics,
    caches: &ReadCaches,
    stopping: CancellationToken,
) -> Routes {
    let memory = BodyMemory::new();
    let mut routes = Routes::new();
    for webhook in webhooks {
        let path = webhook.path();
        let service = Arc::new(WebhookService {
            metrics: metrics.webhook(&path),
            memory: memory.clone(),
            caches: caches.clone(),
            webhook: webhook.clone(),
        });
        let answer = move |request| {
            let service = service.clone();
            async move { service.answer(request).await }.boxed()
        };
        routes = with_path(routes, &path, &stopping, answer);
    }
    let mut paths: Vec<_> = webhooks.iter().map(Webhook::path).collect();
    if !conversions.is_empty() {
        let path = conversion::PATH;
        paths.push(path.to_owned());
        let service = Arc::new(ConversionService::new(conversions, metrics.webhook(path)));
        let answer = move |request| {
            let service = service.clone();
            async move { service.answer(request).await }.boxed()
        };
        routes = with_path(routes, path, &stopping, answer);
    }
    let paths: Arc<str> = paths.join(", ").into();
    let other = move |request: Request<Body>| {
        let path = request.uri().path();
        let message = format!("there is no webhook at {path}, only at {paths}");
        let refused = Refused::new(StatusCode::NOT_FOUND, "NotFound", message);
        std::future::ready(Ok::<_, Infallible>(refused.response()))
    };
    routes.service_up_to("/", service_fn(other), usize::MAX)
}

/// The routes with another path. After `stopping`, its answers over HTTP/1 close their connections.
fn with_path(
    routes: Routes,
    path: &str,
    stopping: &CancellationToken,
    answer: impl Fn(Request<Body>) -> BoxFuture<'static, Response<Body>> + Clone + Send + Sync + 'static,
) -> Routes {
    let stopping = stopping.clone();
    let service = move |request: Request<Body>| {
        let stopping = stopping.clone();
        let is_http_1 = request.version() < Version::HTTP_2;
        answer(request).map(move |mut response| {
            if is_http_1 && stopping.is_cancelled() {
                let close = header::HeaderValue::from_static("close");
                response.headers_mut().insert(header::CONNECTION, close);
            }
            Ok::<_, Infallible>(response)
        })
    };
    // The answer limits the body itself, because its error is a `Status`.
    routes.service_up_to(path, service_fn(service), usize::MAX)
}
