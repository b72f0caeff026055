use std::{convert::Infallible, sync::Arc};

use futures_util::FutureExt;
use http::{Request, StatusCode};
use tower::service_fn;

use super::{
    Webhook,
    refused::Refused,
    service::{BodyMemory, WebhookService},
};
use crate::{client::Body, metrics::Metrics, server::Routes};

/// Serves each webhook at its path. Another path gets an error that names the paths.
pub(crate) fn routes(webhooks: &[Webhook], metrics: &Metrics) -> Routes {
    let memory = BodyMemory::new();
    let mut routes = Routes::new();
    for webhook in webhooks {
        let path = webhook.path();
        let service = Arc::new(WebhookService {
            metrics: metrics.webhook(&path),
            memory: memory.clone(),
            webhook: webhook.clone(),
        });
        let answer = move |request: Request<Body>| {
            let service = service.clone();
            let answered = async move { Ok::<_, Infallible>(service.answer(request).await) };
            answered.boxed()
        };
        // The service limits the body itself, because its error is a `Status`.
        routes = routes.service_up_to(&path, service_fn(answer), usize::MAX);
    }
    let paths: Vec<_> = webhooks.iter().map(Webhook::path).collect();
    let paths: Arc<str> = paths.join(", ").into();
    let other = move |request: Request<Body>| {
        let path = request.uri().path();
        let message = format!("there is no webhook at {path}, only at {paths}");
        let refused = Refused::new(StatusCode::NOT_FOUND, "NotFound", message);
        std::future::ready(Ok::<_, Infallible>(refused.response()))
    };
    routes.service_up_to("/", service_fn(other), usize::MAX)
}
