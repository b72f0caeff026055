//! The subresources of Pods that a kubelet answers: log, exec, attach and port-forward, for Pods on the simulated node.
//!
//! Responses and errors are those of kube-apiserver and a kubelet together. Streams use WebSocket in the channel
//! protocols `v5.channel.k8s.io` and `v4.channel.k8s.io`, or SPDY. kubectl forwards ports over SPDY inside WebSocket.
//!
//! | file | what it does |
//! | --- | --- |
//! | `container.rs` | finds the container of a request |
//! | `log.rs` | `log` |
//! | `handshake.rs` | upgrades a connection to WebSocket, and closes it |
//! | `process.rs`, `over_spdy.rs` | `exec` and `attach` |
//! | `port_forward.rs`, `spdy_forward.rs` | `portforward` |
//! | `spdy/` | SPDY: connections and their streams |

mod container;
mod handshake;
mod log;
mod over_spdy;
mod port_forward;
mod process;
mod spdy;
mod spdy_forward;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use serde_json::{Value, json};

pub(super) use handshake::Upgrade;

use super::query::Query;
use super::respond::{self, Body};
use super::route::ResourceRoute;
use super::warnings;
use crate::api::{self, Target};
use crate::authentication::User;
use crate::core::Core;
use crate::error::ApiError;
use crate::record::Audit;
use crate::registry::ServedKind;

/// Whether a request is for one of these subresources.
pub(super) fn serves(kind: &ServedKind, route: &ResourceRoute) -> bool {
    let subresource = route.subresource.as_deref().unwrap_or_default();
    let is_pod = kind.group.is_empty() && kind.plural == "pods" && route.namespace.is_some();
    let is_path = !route.rest && !route.is_verb_in_path;
    is_pod && is_path && matches!(subresource, "log" | "exec" | "attach" | "portforward")
}

/// A request for one of these subresources of an existing Pod.
struct PodRequest<'a> {
    core: &'a Arc<Core>,
    pod: Value,
    name: String,
    namespace: String,
    query: Query,
    upgrade: Option<Upgrade>,
}

pub(super) async fn handle(
    core: &Arc<Core>,
    target: Target,
    route: ResourceRoute,
    (user, audit): (&User, &Audit),
    query: Query,
    upgrade: Option<Upgrade>,
) -> Result<Response<Body>, ApiError> {
    let name = route.name.unwrap_or_default();
    let subresource = route.subresource.unwrap_or_default();
    match (subresource.as_str(), route.verb) {
        ("log", "get") | (_, "get" | "create") => {}
        _ => return Err(ApiError::method_not_allowed()),
    }
    let warnings = match subresource.as_str() {
        "log" => Vec::new(),
        _ => {
            let options = connection_options(&subresource, &query)?;
            api::connect(core, &target, &subresource, &name, (user, audit), options).await?
        }
    };
    let request = PodRequest {
        core,
        pod: target.read(&api::get(core, &target, &name, "", None).await?.value()),
        name,
        namespace: target.namespace.unwrap_or_default(),
        query,
        upgrade,
    };
    let mut response = match subresource.as_str() {
        "log" => log::handle(&request),
        "portforward" => port_forward::handle(request),
        "exec" => process::handle(request, process::ProcessKind::Exec),
        _ => process::handle(request, process::ProcessKind::Attach),
    }?;
    warnings::add(&mut response, &warnings);
    Ok(response)
}

/// The options of a connection as the object that those who admit it see.
///
/// # Errors
/// 400 if a port is no number.
fn connection_options(subresource: &str, query: &Query) -> Result<Value, ApiError> {
    let mut options = json!({"apiVersion": "v1"});
    if subresource == "portforward" {
        options["kind"] = "PodPortForwardOptions".into();
        let ports = port_forward::requested_ports(query)?;
        if !ports.is_empty() {
            options["ports"] = json!(ports);
        }
        return Ok(options);
    }
    let is_exec = subresource == "exec";
    options["kind"] = if is_exec {
        "PodExecOptions"
    } else {
        "PodAttachOptions"
    }
    .into();
    for stream in ["stdin", "stdout", "stderr", "tty"] {
        if query.flag(stream) {
            options[stream] = true.into();
        }
    }
    let container = query.get("container");
    if !container.is_empty() {
        options["container"] = container.into();
    }
    if is_exec {
        let command: Vec<&str> = query.all("command").collect();
        options["command"] = json!(command);
    }
    Ok(options)
}

/// The answer of a kubelet that refuses a request: a text, which kube-apiserver passes on.
fn refused(code: u16, why: impl Into<Bytes>) -> Response<Body> {
    respond::bytes(code, "text/plain; charset=utf-8", why)
}
