use serde_json::Value;

use super::destination::Service;
use crate::registry::GroupResource;
use crate::store::{Key, Store};

/// The label of an EndpointSlice that names its Service.
const OF_SERVICE: &str = "kubernetes.io/service-name";

/// The address of a Service: host and port.
///
/// # Errors
/// The text of a real server: there is no such Service or port, or no endpoint is ready.
pub(super) fn resolve(
    store: &Store,
    service: &Service,
    port: u16,
) -> Result<(String, u16), String> {
    let Service { namespace, name } = service;
    let key = Key::new(Some(namespace), name);
    let found = store.get(&GroupResource::new("", "services"), &key);
    let found = found.ok_or_else(|| format!("service {name:?} not found"))?;
    let spec = &found.object["spec"];
    if spec["type"] == "ExternalName" {
        let host = spec["externalName"].as_str().unwrap_or_default();
        return Ok((host.to_owned(), port));
    }
    let ports = spec["ports"].as_array().into_iter().flatten();
    let named = ports.into_iter().find(|one| one["port"] == port);
    let named =
        named.ok_or_else(|| format!("no service port {port} found for service {name:?}"))?;
    let port_name = named["name"].as_str().unwrap_or_default();
    let slices = GroupResource::new("discovery.k8s.io", "endpointslices");
    let listed = store.list(&slices, Some(namespace), None, None);
    let slices = match listed {
        Some(Ok(listed)) => listed.entries,
        _ => Vec::new(),
    };
    let of_service = slices
        .iter()
        .map(|entry| &entry.object)
        .filter(|slice| slice["metadata"]["labels"][OF_SERVICE] == name.as_str());
    of_service
        .filter_map(|slice| ready_address(slice, port_name))
        .next()
        .ok_or_else(|| format!("no endpoints available for service {name:?}"))
}

fn ready_address(slice: &Value, port_name: &str) -> Option<(String, u16)> {
    let list = |field: &str| slice[field].as_array().into_iter().flatten();
    let port = list("ports").find(|port| port["name"].as_str().unwrap_or_default() == port_name)?;
    let port = u16::try_from(port["port"].as_u64()?).ok()?;
    let ready = list("endpoints").find(|endpoint| endpoint["conditions"]["ready"] != false)?;
    let address = ready["addresses"][0].as_str()?;
    Some((address.to_owned(), port))
}
