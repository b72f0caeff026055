use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use pilothouse_sandbox::Sandbox;

use super::{
    Target, Webhook, WebhookOptions,
    installer::Installer,
    refused::Refused,
    server::{Failures, WebhookHealth},
    service::{BodyMemory, WebhookService},
};
use crate::{
    client::{Body, Client},
    metrics::Metrics,
};

/// The webhooks of an operator by their paths.
type Services = HashMap<String, WebhookService>;

/// Webhooks that a sandbox in the same process calls. It needs no port and no certificates, so it also works on a paused clock.
pub(crate) struct InProcess {
    services: Arc<Services>,
    installer: Installer,
    failures: Failures,
}

impl InProcess {
    /// Lets the sandbox call the webhooks. If two operators of one name run, it calls the one that came last.
    pub(crate) fn new(
        sandbox: &Sandbox,
        options: WebhookOptions,
        client: &Client,
        metrics: &Metrics,
    ) -> Self {
        let memory = BodyMemory::new();
        let service = |webhook: &Webhook| {
            let path = webhook.path();
            let service = WebhookService {
                metrics: metrics.webhook(&path),
                memory: memory.clone(),
                caches: options.caches.clone(),
                webhook: webhook.clone(),
            };
            (path, service)
        };
        let services = Arc::new(options.webhooks.iter().map(service).collect::<Services>());
        let url = format!("https://{}.webhooks.invalid", options.operator);
        // The sandbox must not keep the caches, and with them the operator's client, which leads back to the sandbox.
        let called = Arc::downgrade(&services);
        sandbox.webhook(&url, move |request| answer(called.clone(), request));
        let waiting = "the webhooks are not configured yet".to_owned();
        Self {
            services,
            installer: Installer {
                client: client.clone(),
                operator: options.operator,
                namespace: options.namespace,
                namespaces: options.namespaces,
                webhooks: options.webhooks,
                conversions: Vec::new(),
                target: Target::Url(url),
            },
            failures: Failures::new(WebhookHealth::waiting(waiting)),
        }
    }

    pub(crate) fn health(&self) -> WebhookHealth {
        self.failures.health()
    }

    /// Writes the configurations, again and again until it succeeds. The sandbox calls the webhooks as long as the result exists.
    pub(crate) async fn prepare(mut self) -> impl Send + Sync + 'static {
        while let Err(error) = self.installer.install(None, true).await {
            self.failures.pause(&error).await;
        }
        self.failures.ended();
        self.services
    }
}

async fn answer(services: Weak<Services>, request: Request<Bytes>) -> Response<Bytes> {
    let path = request.uri().path();
    let refused = |code, reason, problem: &str| {
        Refused::new(code, reason, format!("the webhook at {path} {problem}")).response()
    };
    let services = services.upgrade();
    let service = services.as_ref().map(|services| services.get(path));
    let response = match service {
        Some(Some(service)) => {
            let length = HeaderValue::from(request.body().len());
            let mut request = request.map(Body::from);
            request.headers_mut().insert(header::CONTENT_LENGTH, length);
            service.answer(request).await
        }
        Some(None) => refused(StatusCode::NOT_FOUND, "NotFound", "does not exist"),
        None => refused(
            StatusCode::SERVICE_UNAVAILABLE,
            "ServiceUnavailable",
            "cannot be called: its operator has stopped",
        ),
    };
    let (head, body) = response.into_parts();
    // An answer is in memory already.
    let body = body.collect().await.map(|body| body.to_bytes());
    Response::from_parts(head, body.unwrap_or_default())
}
