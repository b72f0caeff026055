//! The states of the components of a control plane, which a server asks for when a client wants to know.

use std::sync::Arc;

use http::Response;
use serde_json::{Value, json};

use super::options;
use super::render;
use super::request::Request;
use super::respond::{self, Body};
use crate::core::Core;
use crate::error::ApiError;
use crate::registry::{GroupResource, ServedKind};
use crate::store::Encoded;

/// Whether a kind is that of the states of components.
pub(super) fn is_kind(kind: &ServedKind) -> bool {
    kind.group.is_empty() && kind.plural == "componentstatuses"
}

/// Answers a request for the states of components.
///
/// # Errors
/// 404 if there is no such component, 405 for a watch, 400 for an invalid selector.
pub(super) fn handle(core: &Core, request: &Request) -> Result<Response<Body>, ApiError> {
    let target = &request.target;
    let pretty = request.query.flag("pretty");
    match request.verb {
        "get" => {
            let mut all = statuses(core).into_iter();
            let found = all.find(|one| one["metadata"]["name"] == *request.name);
            let found = found.ok_or_else(|| {
                // A real server names the kind so, and not by its plural.
                ApiError::not_found(&GroupResource::new("", "componentstatus"), &request.name)
            })?;
            let shown = render::object(core, request, found)?;
            Ok(respond::json(200, &shown, pretty))
        }
        "list" => {
            options::check_list(&request.query)?;
            let selection = options::selection(request)?;
            let all = statuses(core).into_iter();
            let all = all.map(|one| Arc::new(Encoded::new(0, &Arc::new(one))));
            let selected: Vec<Arc<Encoded>> = all.filter(|one| selection.selects(one)).collect();
            let text = render::items(core, request, json!({}), &selected)?;
            Ok(respond::bytes(200, "application/json", text))
        }
        verb => Err(ApiError::method_not_supported(&target.resource(), verb)),
    }
}

/// The state of each component. The simulator stands for the scheduler and the controller manager; without it nobody listens at
/// their ports.
fn statuses(core: &Core) -> Vec<Value> {
    let at = |port: u16| {
        let address = format!("127.0.0.1:{port}");
        let refused = format!(
            "Get \"https://{address}/healthz\": dial tcp {address}: connect: connection refused"
        );
        core.has_simulator.then_some("ok").ok_or(refused)
    };
    vec![
        status("controller-manager", at(10257)),
        status("etcd-0", Ok("ok")),
        status("scheduler", at(10259)),
    ]
}

fn status(name: &str, health: Result<&str, String>) -> Value {
    let (status, message) = match health {
        Ok(text) => ("True", text.to_owned()),
        Err(why) => ("False", why),
    };
    json!({
        "apiVersion": "v1", "kind": "ComponentStatus", "metadata": {"name": name},
        "conditions": [{"type": "Healthy", "status": status, "message": message}],
    })
}
