use std::{fmt, future::ready, pin::Pin, sync::Arc};

use http::{HeaderValue, Method, StatusCode, Uri, header, request::Parts};

use super::{
    Reply, Reviewer,
    reply::{not_found, reply, text_reply},
};
use crate::{
    health::{Checks, Query, Report},
    metrics::{Metrics, TEXT_FORMAT},
};

type Answer = Pin<Box<dyn Future<Output = Reply> + Send>>;
type Handler = Arc<dyn Fn(Uri) -> Answer + Send + Sync>;

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
    /// Who passes; everybody without.
    reviewer: Option<Reviewer>,
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
        self.route(path.into(), false, at_once(handler))
    }

    /// As [`get`](Self::get), with a handler that may wait; after 30 s it is dropped, with the connection.
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
        self.route(path.into(), true, at_once(handler))
    }

    /// Answers `path` with all metrics in Prometheus' text format.
    #[must_use]
    pub fn metrics(self, path: &str, metrics: Metrics) -> Self {
        self.get(path, move |_| {
            const TEXT: HeaderValue = HeaderValue::from_static(TEXT_FORMAT);
            reply(StatusCode::OK, TEXT, metrics.encode())
        })
    }

    fn route(mut self, path: String, below: bool, handler: Handler) -> Self {
        self.routes.push(Route {
            path,
            below,
            reviewer: None,
            handler,
        });
        self
    }

    /// Adds routes.
    #[must_use]
    pub fn and(mut self, routes: Self) -> Self {
        self.routes.extend(routes.routes);
        self
    }

    /// Adds routes that only those get to whom `reviewer` lets pass.
    #[must_use]
    pub fn protected(mut self, reviewer: &Reviewer, routes: Self) -> Self {
        let routes = routes.routes.into_iter().map(|route| Route {
            reviewer: Some(reviewer.clone()),
            ..route
        });
        self.routes.extend(routes);
        self
    }

    /// The answer to a request.
    pub(super) async fn answer(&self, head: Parts) -> Reply {
        let path = head.uri.path();
        let Some(route) = self.routes.iter().find(|route| route.matches(path)) else {
            return not_found();
        };
        if let Some(reviewer) = &route.reviewer
            && let Err(refused) = reviewer.admit(&head).await
        {
            return refused;
        }
        if head.method == Method::GET || head.method == Method::HEAD {
            return (route.handler)(head.uri).await;
        }
        let mut refused = text_reply(StatusCode::METHOD_NOT_ALLOWED, "only GET is served here\n");
        refused
            .headers_mut()
            .insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        refused
    }
}

fn at_once(handler: impl Fn(&Uri) -> Reply + Send + Sync + 'static) -> Handler {
    Arc::new(move |uri| Box::pin(ready(handler(&uri))))
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

#[cfg(test)]
mod tests {
    use super::*;

    async fn status(routes: &Routes, method: Method, path: &str) -> u16 {
        let request = http::Request::builder().method(method).uri(path);
        let (head, ()) = request.body(()).unwrap().into_parts();
        routes.answer(head).await.status().as_u16()
    }

    #[tokio::test]
    async fn health_serves_the_whole_each_check_and_nothing_else() {
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
}
