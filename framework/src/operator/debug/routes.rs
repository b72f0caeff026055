use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, Uri, header};
use http_body_util::Full;
use serde::Serialize;
use tokio::time::Instant;

use super::{
    DebugReport,
    objects::{self, FoundObjects},
};
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
        let (search, object) = (self.clone(), self.clone());
        let state = move |_: &_| match self.report() {
            Some(report) => json(&report),
            None => not_built(),
        };
        let search = move |uri: &Uri| match search.readiness.get() {
            Some(built) => json(&FoundObjects::of(&built.controllers, uri.query())),
            None => not_built(),
        };
        let object = move |uri: &Uri| match object.readiness.get() {
            Some(built) => match objects::object(&built.controllers, uri.query()) {
                Ok(report) => json(&report),
                Err(why) => text(StatusCode::NOT_FOUND, why),
            },
            None => not_built(),
        };
        let own = Routes::new()
            .get("/debug", page)
            .get("/debug/state.json", state)
            .get("/debug/search.json", search)
            .get("/debug/object.json", object);
        routes.for_hosts(&hosts, own)
    }
}

fn json(report: &impl Serialize) -> Reply {
    match serde_json::to_vec(report) {
        Ok(json) => reply("application/json", json.into()),
        Err(error) => text(StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
    }
}

fn not_built() -> Reply {
    let why = "the reconcilers are being built";
    text(StatusCode::SERVICE_UNAVAILABLE, why.into())
}

fn text(status: StatusCode, text: String) -> Reply {
    let mut reply = reply("text/plain; charset=utf-8", text.into());
    *reply.status_mut() = status;
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
