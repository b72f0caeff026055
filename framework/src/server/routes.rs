use std::{fmt, sync::Arc};

use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode, Uri, header};
use http_body_util::Full;

use crate::{
    health::{Checks, Query, Report},
    metrics::Metrics,
};

/// A whole answer.
pub type Reply = Response<Full<Bytes>>;

type Handler = Arc<dyn Fn(&Uri) -> Reply + Send + Sync>;

/// Which path is answered by which function. Only GET and HEAD are served.
#[derive(Clone, Default)]
pub struct Routes {
    routes: Vec<Route>,
}

#[derive(Clone)]
struct Route {
    path: String,
    /// Paths below it are served too.
    below: bool,
    handler: Handler,
}

impl Routes {
    /// No route: every path is answered by 404.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers `path` by calling `handler`, which must not block.
    #[must_use]
    pub fn get(
        self,
        path: impl Into<String>,
        handler: impl Fn(&Uri) -> Reply + Send + Sync + 'static,
    ) -> Self {
        self.route(path.into(), false, Arc::new(handler))
    }

    /// Answers `path` with the report of all checks, and `path/name` with that of one.
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
        self.route(path.into(), true, Arc::new(handler))
    }

    /// Answers `path` with all metrics in Prometheus' text format.
    #[must_use]
    pub fn metrics(self, path: &str, metrics: Metrics) -> Self {
        self.get(path, move |_| {
            const TEXT: HeaderValue =
                HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
            reply(StatusCode::OK, TEXT, metrics.encode())
        })
    }

    fn route(mut self, path: String, below: bool, handler: Handler) -> Self {
        self.routes.push(Route {
            path,
            below,
            handler,
        });
        self
    }

    /// The answer to a request.
    pub(super) fn answer(&self, method: &Method, uri: &Uri) -> Reply {
        let Some(route) = self.routes.iter().find(|route| route.matches(uri.path())) else {
            return not_found();
        };
        if method == Method::GET || method == Method::HEAD {
            return (route.handler)(uri);
        }
        let mut refused = text_reply(StatusCode::METHOD_NOT_ALLOWED, "only GET is served here\n");
        refused
            .headers_mut()
            .insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        refused
    }
}

impl Route {
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

fn not_found() -> Reply {
    text_reply(StatusCode::NOT_FOUND, "404 page not found\n")
}

fn text_reply(status: StatusCode, body: impl Into<Bytes>) -> Reply {
    const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
    reply(status, TEXT, body)
}

fn reply(status: StatusCode, content_type: HeaderValue, body: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(body.into()));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(header::CONTENT_TYPE, content_type);
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(routes: &Routes, method: Method, path: &str) -> u16 {
        routes
            .answer(&method, &path.parse().unwrap())
            .status()
            .as_u16()
    }

    #[test]
    fn health_serves_the_whole_each_check_and_nothing_else() {
        let ready = Checks::new("readyz");
        ready.add("ping", || Ok(()));
        ready.add("informers", || Err("not synced".into()));
        let routes = Routes::new().health("/readyz", ready);
        let answers = [
            "/readyz",
            "/readyz/",
            "/readyz/ping",
            "/readyz?exclude=informers",
        ]
        .map(|path| status(&routes, Method::GET, path));
        assert_eq!(answers, [500, 500, 200, 200]);
        for path in ["/", "/readyzz", "/readyz/etcd"] {
            assert_eq!(status(&routes, Method::GET, path), 404, "{path}");
        }
        assert_eq!(status(&routes, Method::POST, "/readyz"), 405);
    }
}
