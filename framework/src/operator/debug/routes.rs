use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use tokio::time::Instant;

use super::DebugReport;
use crate::{
    health::Checks,
    operator::readiness::Readiness,
    server::{Hosts, Reply, Routes},
};

const PAGE: &str = include_str!("page.html");
/// The page contains everything it needs and sends requests only to its operator.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      connect-src 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'";

/// Collects the state of an operator and serves the page.
#[derive(Clone)]
pub(in crate::operator) struct DebugPage {
    /// Set when all reconcilers are built.
    readiness: Arc<OnceLock<Readiness>>,
    ready: Checks,
    started: Instant,
    /// Additional host names for which the page is served.
    hosts: Arc<[String]>,
}

impl DebugPage {
    pub(in crate::operator) fn new(ready: &Checks, started: Instant, hosts: &[String]) -> Self {
        Self {
            readiness: Arc::default(),
            ready: ready.clone(),
            started,
            hosts: hosts.into(),
        }
    }

    /// Sets the state to show, when all reconcilers are built.
    pub(in crate::operator) fn set_readiness(&self, readiness: Readiness) {
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

    /// Adds the page and its data as JSON to `routes`, for a server that is bound to `bound`.
    pub(in crate::operator) fn serve(self, routes: Routes, bound: SocketAddr) -> Routes {
        let hosts = Hosts::new(bound).names(&*self.hosts);
        let page = |_: &_| reply("text/html; charset=utf-8", PAGE.into());
        let state = move |_: &_| match self.report().map(|report| serde_json::to_vec(&report)) {
            Some(Ok(json)) => reply("application/json", json.into()),
            Some(Err(error)) => unavailable(error.to_string()),
            None => unavailable("the reconcilers are being built".into()),
        };
        let own = Routes::new()
            .get("/debug", page)
            .get("/debug/state.json", state);
        routes.for_hosts(&hosts, own)
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
