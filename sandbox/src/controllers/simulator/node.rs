use serde_json::json;

use crate::api::Handle;
use crate::registry::GroupResource;

/// The name of the node that every Pod runs on.
pub(super) const NODE: &str = "sandbox";
pub(super) const HOST_ADDRESS: &str = "10.0.0.1";

/// Creates the node.
pub(super) fn create(handle: &Handle) {
    let now = handle.core().clock.timestamp();
    let resources = json!({"cpu": "8", "memory": "32Gi", "pods": "1000"});
    let node = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": NODE,
            "labels": {"kubernetes.io/hostname": NODE, "kubernetes.io/os": "linux"},
        },
        "status": {
            "addresses": [{"type": "InternalIP", "address": HOST_ADDRESS}, {"type": "Hostname", "address": NODE}],
            "capacity": resources,
            "allocatable": resources,
            "conditions": [{
                "type": "Ready",
                "status": "True",
                "reason": "KubeletReady",
                "message": "simulated",
                "lastHeartbeatTime": now,
                "lastTransitionTime": now,
            }],
            "nodeInfo": {
                "architecture": "", "bootID": "", "containerRuntimeVersion": "", "kernelVersion": "", "kubeProxyVersion": "",
                "kubeletVersion": crate::builtin::source().rsplit(' ').next(),
                "machineID": "", "operatingSystem": "linux", "osImage": "", "systemUUID": "",
            },
        },
    });
    if let Err(error) = handle.create(&GroupResource::new("", "nodes"), node) {
        tracing::warn!(%error, "the simulator cannot create its node");
    }
}
