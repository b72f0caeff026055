use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use tokio::time::Instant;

use super::DebugReport;
use crate::{
    health::Checks,
    operator::readiness::Readiness,
    server::{Reply, Routes},
};

const PAGE: &str = include_str!("page.html");
/// The page brings all it needs, and talks to nobody but its operator.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      connect-src 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'";

/// Looks at an operator for its page.
#[derive(Clone)]
pub(in crate::operator) struct Debug {
    /// Known once every reconciler is built.
    readiness: Arc<OnceLock<Readiness>>,
    ready: Checks,
    started: Instant,
}

impl Debug {
    pub(in crate::operator) fn new(ready: &Checks, started: Instant) -> Self {
        Self {
            readiness: Arc::default(),
            ready: ready.clone(),
            started,
        }
    }

    /// Every reconciler is built.
    pub(in crate::operator) fn shows(&self, readiness: Readiness) {
        self.readiness.set(readiness).ok();
    }

    fn report(&self) -> Option<DebugReport> {
        let readiness = self.readiness.get()?;
        Some(DebugReport::of(
            readiness,
            &self.ready,
            self.started.elapsed(),
        ))
    }

    /// Adds the page and what it shows, as JSON.
    pub(in crate::operator) fn serve(self, routes: Routes) -> Routes {
        let page = |_: &_| reply("text/html; charset=utf-8", PAGE.into());
        let state = move |_: &_| match self.report().map(|report| serde_json::to_vec(&report)) {
            Some(Ok(json)) => reply("application/json", json.into()),
            Some(Err(error)) => unavailable(error.to_string()),
            None => unavailable("the reconcilers are being built".into()),
        };
        routes.get("/debug", page).get("/debug/state.json", state)
    }
}

fn unavailable(why: String) -> Reply {
    let mut reply = reply("text/plain; charset=utf-8", why.into());
    *reply.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    reply
}

fn reply(content_type: &'static str, body: Bytes) -> Reply {
    let mut reply = Response::new(Full::new(body));
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
    ];
    for (name, value) in headers {
        reply
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    reply
}
