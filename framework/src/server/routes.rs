use std::{fmt, future::ready, pin::Pin, sync::Arc};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use tower::Service;

use super::{
    Hosts, Reply, Reviewer, gzip,
    reply::{not_found, reply, text_reply},
    service_handler::{self, MAX_REQUEST_BODY, ServiceHandler},
};
use crate::{
    client::{Body, BoxError},
    health::{Checks, Query, Report},
    metrics::{Metrics, TEXT_FORMAT},
};

type Answer = Pin<Box<dyn Future<Output = Reply> + Send>>;
type ReadHandler = Arc<dyn Fn(Uri) -> Answer + Send + Sync>;

#[derive(Clone)]
enum Handler {
    /// Responds to GET and HEAD, and does not see the body of the request.
    Read(ReadHandler),
    /// Responds to every method.
    Service(ServiceHandler),
}

/// Maps paths to functions and services. Functions serve only GET and HEAD.
#[derive(Clone, Default)]
pub struct Routes {
    routes: Vec<Route>,
}

#[derive(Clone)]
struct Route {
    path: String,
    /// Paths below it match too.
    below: bool,
    /// Checks each request. `None` lets every request pass.
    reviewer: Option<Reviewer>,
    /// Responses of this route do not count for the limit of responses.
    is_health: bool,
    /// The response is compressed with gzip if the request accepts it.
    is_compressed: bool,
    /// The hosts for which the route may be requested. `None` allows every host.
    hosts: Option<Hosts>,
    handler: Handler,
}

impl Routes {
    /// Creates an empty set: every path gets status 404.
    pub fn new() -> Self {
        Self::default()
    }

    /// Serves `path` with `handler`, which must not block.
    #[must_use]
    pub fn get(
        self,
        path: impl Into<String>,
        handler: impl Fn(&Uri) -> Reply + Send + Sync + 'static,
    ) -> Self {
        self.with(Route::new(path, at_once(handler)))
    }

    /// As [`get`](Self::get), with an asynchronous handler. After 30 s the handler and its connection are
    /// dropped.
    #[must_use]
    pub fn get_async<F>(
        self,
        path: impl Into<String>,
        handler: impl Fn(Uri) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Reply> + Send + 'static,
    {
        let handler = move |uri| -> Answer { Box::pin(handler(uri)) };
        self.with(Route::new(path, Handler::Read(Arc::new(handler))))
    }

    /// Serves `path` with a tower service, such as a router of another crate. If `path` ends with `/`, the service also gets the
    /// requests for all paths below. It sees the whole path, and each method.
    ///
    /// A request body is at most 1 MiB. The service has 25 s to return a response; then the peer gets status 503. If it
    /// fails or panics, the peer gets status 500, and the log has at most one line per minute. HTTP upgrades such as
    /// WebSocket are not supported.
    #[must_use]
    pub fn service<S, B>(self, path: &str, service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.service_up_to(path, service, MAX_REQUEST_BODY)
    }

    /// As [`service`](Self::service), with another limit for the bytes of a request's body.
    #[must_use]
    pub(crate) fn service_up_to<S, B>(self, path: &str, service: S, max_body: usize) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let handler = Handler::Service(service_handler::of(path, service, max_body));
        let (path, below) = match path.strip_suffix('/') {
            Some(parent) => (parent, true),
            None => (path, false),
        };
        self.with(Route {
            below,
            ..Route::new(path, handler)
        })
    }

    /// Serves `path` with the report of all checks, and `path/name` with the report of one check. It always
    /// responds, even if too many other responses run, see the [module's page](super).
    #[must_use]
    pub fn health(self, path: &str, checks: Checks) -> Self {
        let prefix = format!("{path}/");
        let handler = move |uri: &Uri| {
            let query = Query::parse(uri.query());
            match uri.path().strip_prefix(&prefix) {
                None | Some("") => health_reply(&checks.report(&query)),
                Some(name) => checks
                    .report_one(name, &query)
                    .map_or_else(not_found, |report| health_reply(&report)),
            }
        };
        self.with(Route {
            below: true,
            is_health: true,
            ..Route::new(path, at_once(handler))
        })
    }

    /// Serves `path` with all metrics in Prometheus' text format, compressed with gzip if the request accepts it.
    #[must_use]
    pub fn metrics(self, path: &str, metrics: Metrics) -> Self {
        let handler = move |_: &Uri| {
            const TEXT: HeaderValue = HeaderValue::from_static(TEXT_FORMAT);
            reply(StatusCode::OK, TEXT, metrics.encode())
        };
        self.with(Route {
            is_compressed: true,
            ..Route::new(path, at_once(handler))
        })
    }

    fn with(mut self, route: Route) -> Self {
        self.routes.push(route);
        self
    }

    /// Adds the routes of `routes`.
    #[must_use]
    pub fn and(mut self, routes: Self) -> Self {
        self.routes.extend(routes.routes);
        self
    }

    /// Adds routes that only requests which `reviewer` accepts can reach.
    #[must_use]
    pub fn protected(mut self, reviewer: &Reviewer, routes: Self) -> Self {
        let routes = routes.routes.into_iter().map(|route| Route {
            reviewer: Some(reviewer.clone()),
            ..route
        });
        self.routes.extend(routes);
        self
    }

    /// Adds routes that respond only to requests for one of these hosts. Other requests get status 421.
    #[must_use]
    pub fn for_hosts(mut self, hosts: &Hosts, routes: Self) -> Self {
        let routes = routes.routes.into_iter().map(|route| Route {
            hosts: Some(hosts.clone()),
            ..route
        });
        self.routes.extend(routes);
        self
    }

    /// The response to a request. `admit` returns whether the limit allows another response; it is not called
    /// for health.
    pub(super) async fn answer(
        &self,
        request: Request<Body>,
        admit: impl FnOnce() -> bool,
    ) -> Response<Body> {
        let path = request.uri().path();
        let Some(route) = self.routes.iter().find(|route| route.matches(path)) else {
            return whole(not_found());
        };
        let (head, body) = request.into_parts();
        if let Some(hosts) = &route.hosts
            && let Some(refused) = hosts.refusal(&head)
        {
            return whole(refused);
        }
        if let Some(reviewer) = &route.reviewer
            && let Err(refused) = reviewer.admit(&head).await
        {
            return whole(refused);
        }
        let reads = head.method == Method::GET || head.method == Method::HEAD;
        if matches!(route.handler, Handler::Read(_)) && !reads {
            return whole(not_allowed());
        }
        // Requests that are refused above do not count for the limit.
        if !route.is_health && !admit() {
            return whole(too_busy());
        }
        let reply = match &route.handler {
            Handler::Service(handler) => return handler(Request::from_parts(head, body)).await,
            Handler::Read(handler) => handler(head.uri).await,
        };
        whole(match route.is_compressed {
            true => gzip::compressed(reply, head.headers).await,
            false => reply,
        })
    }
}

/// A complete response as one that may come in pieces.
pub(super) fn whole(reply: Reply) -> Response<Body> {
    reply.map(|body| match body.into_inner() {
        Some(bytes) => bytes.into(),
        None => Body::empty(),
    })
}

fn not_allowed() -> Reply {
    let mut refused = text_reply(
        StatusCode::METHOD_NOT_ALLOWED,
        "only GET and HEAD are served here\n",
    );
    refused
        .headers_mut()
        .insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    refused
}

fn too_busy() -> Reply {
    let text = "too many responses are running: retry in a second\n";
    let mut refused = text_reply(StatusCode::SERVICE_UNAVAILABLE, text);
    refused
        .headers_mut()
        .insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    refused
}

fn at_once(handler: impl Fn(&Uri) -> Reply + Send + Sync + 'static) -> Handler {
    Handler::Read(Arc::new(move |uri| Box::pin(ready(handler(&uri)))))
}

impl Route {
    fn new(path: impl Into<String>, handler: Handler) -> Self {
        Self {
            path: path.into(),
            below: false,
            reviewer: None,
            is_health: false,
            is_compressed: false,
            hosts: None,
            handler,
        }
    }

    fn matches(&self, path: &str) -> bool {
        match path.strip_prefix(self.path.as_str()) {
            Some("") => true,
            Some(rest) => self.below && rest.starts_with('/'),
            None => false,
        }
    }
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.routes.iter().map(|route| &route.path))
            .finish()
    }
}

fn health_reply(report: &Report) -> Reply {
    let status = if report.healthy() {
        StatusCode::OK
    } else {
        StatusCode::INTERNAL_SERVER_ERROR
    };
    text_reply(status, report.to_string())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;
    use http_body_util::BodyExt;

    use super::*;

    async fn status(routes: &Routes, method: Method, path: &str) -> u16 {
        let request = Request::builder().method(method).uri(path);
        let request = request.body(Body::empty()).unwrap();
        routes.answer(request, || true).await.status().as_u16()
    }

    #[tokio::test]
    async fn a_health_route_serves_all_checks_and_each_check_and_nothing_else() {
        let ready = Checks::new("readyz");
        ready.add("ping", || Ok(()));
        ready.add("informers", || Err("not synced".into()));
        let routes = Routes::new().health("/readyz", ready);
        for (path, expected) in [
            ("/readyz", 500),
            ("/readyz/", 500),
            ("/readyz/ping", 200),
            ("/readyz?exclude=informers", 200),
            ("/", 404),
            ("/readyzz", 404),
            ("/readyz/etcd", 404),
        ] {
            assert_eq!(status(&routes, Method::GET, path).await, expected, "{path}");
        }
        assert_eq!(status(&routes, Method::POST, "/readyz").await, 405);
    }

    #[tokio::test]
    async fn metrics_are_compressed_if_the_request_accepts_gzip() {
        let metrics = Metrics::new();
        metrics.controller("site");
        let plain = metrics.encode();
        let routes = Routes::new().metrics("/metrics", metrics);
        let get = async |accepted: &str| {
            let request = http::Request::get("/metrics");
            let request = request.header(header::ACCEPT_ENCODING, accepted);
            let request = request.body(Body::empty()).unwrap();
            let (head, body) = routes.answer(request, || true).await.into_parts();
            assert_eq!(head.headers[header::VARY], "accept-encoding");
            let encoding = head.headers.get(header::CONTENT_ENCODING).cloned();
            (encoding, body.collect().await.unwrap().to_bytes())
        };
        let (encoding, body) = get("gzip").await;
        assert_eq!(encoding.unwrap(), "gzip");
        assert!(
            body.len() < plain.len() / 3,
            "{} of {}",
            body.len(),
            plain.len()
        );
        let mut text = String::new();
        GzDecoder::new(&*body).read_to_string(&mut text).unwrap();
        // The metrics of the process change between two scrapes.
        let steady = |text: &str| {
            let lines = text.lines().filter(|line| !line.starts_with("process_"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(steady(&text), steady(&plain));
        let (encoding, body) = get("identity").await;
        assert_eq!(encoding, None);
        assert_eq!(steady(std::str::from_utf8(&body).unwrap()), steady(&plain));
    }
}
