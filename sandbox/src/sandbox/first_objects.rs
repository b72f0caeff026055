//! The objects that every new cluster has.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::{DeleteOptions, Handle};
use crate::builtin;
use crate::core::Core;
use crate::error::ApiError;
use crate::registry::GroupResource;

const NAMESPACES: &[&str] = &["default", "kube-system", "kube-public", "kube-node-lease"];

/// Creates an object, unless it exists: the data folder may have it.
fn create(handle: &Handle, resource: &GroupResource, object: Value) -> Result<(), ApiError> {
    match handle.create(resource, object) {
        Err(error) if error.reason == "AlreadyExists" => Ok(()),
        created => created.map(drop),
    }
}

/// Creates the namespaces that always exist.
///
/// # Errors
/// None.
pub(super) fn create_namespaces(core: &Arc<Core>) -> Result<(), ApiError> {
    let handle = Handle::new(core, "kube-apiserver");
    for name in NAMESPACES {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        create(&handle, &GroupResource::new("", "namespaces"), namespace)?;
    }
    Ok(())
}

/// Creates the Service `kubernetes` for a listener, as a server does that begins to serve. The Service of an earlier
/// listener stays. Its endpoints are the address of the last listener, but not a loopback address, which endpoints may not have.
///
/// # Errors
/// If the namespace `default` is gone.
pub(super) fn publish_service(core: &Arc<Core>, listener: SocketAddr) -> Result<(), ApiError> {
    let port = listener.port();
    let service = json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"namespace": "default", "name": "kubernetes",
            "labels": {"component": "apiserver", "provider": "kubernetes"}},
        "spec": {"type": "ClusterIP", "clusterIP": "10.96.0.1", "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": port}]}});
    let handle = Handle::new(core, "kube-apiserver");
    let services = GroupResource::new("", "services");
    // It has the address already.
    if handle
        .get(&services, Some("default"), "kubernetes")
        .is_none()
    {
        create(&handle, &services, service)?;
    }
    let address = match listener.ip() {
        address if address.is_unspecified() => address_of_machine(address),
        address => Some(address),
    };
    let Some(address) = address.filter(|address| !address.is_loopback()) else {
        return Ok(());
    };
    let ports = json!([{"name": "https", "port": port, "protocol": "TCP"}]);
    let metadata = |label: &str, value: &str| json!({"namespace": "default", "name": "kubernetes", "labels": {label: value}});
    let endpoints = json!({"apiVersion": "v1", "kind": "Endpoints",
        "metadata": metadata("endpointslice.kubernetes.io/skip-mirror", "true"),
        "subsets": [{"addresses": [{"ip": address}], "ports": ports}]});
    replace(&handle, &GroupResource::new("", "endpoints"), endpoints)?;
    let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
    let slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": metadata("kubernetes.io/service-name", "kubernetes"),
        "addressType": family, "ports": ports,
        "endpoints": [{"addresses": [address], "conditions": {"ready": true}}]});
    let slices = GroupResource::new("discovery.k8s.io", "endpointslices");
    replace(&handle, &slices, slice)
}

/// Creates the Service `kubernetes` again whenever somebody deletes it, as long as there is a listener.
pub(super) async fn keep_service(core: Arc<Core>) {
    let handle = Handle::new(&core, "kube-apiserver");
    let services = GroupResource::new("", "services");
    let Some(mut changes) = handle.subscribe(&services, 0) else {
        return;
    };
    let mut listener = core.listener.subscribe();
    loop {
        // Taken before the look, so that a later change is a reason for another look.
        let _ = changes.take();
        let address = *listener.borrow_and_update();
        let present = || handle.get(&services, Some("default"), "kubernetes");
        if let Some(address) = address
            && present().is_none()
            && let Err(error) = publish_service(&core, address)
        {
            tracing::debug!(%error, "the sandbox cannot create the Service default/kubernetes again");
        }
        // Both branches only wait.
        tokio::select! {
            more = changes.changed() => if !more { return },
            _ = listener.changed() => {}
        }
    }
}

/// Creates an object in the namespace `default`, in place of one of its name.
fn replace(handle: &Handle, resource: &GroupResource, object: Value) -> Result<(), ApiError> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    handle
        .delete(resource, Some("default"), name, &DeleteOptions::default())
        .map(drop)
        .or_else(|error| match error.code {
            404 => Ok(()),
            _ => Err(error),
        })?;
    create(handle, resource, object)
}

/// The address from which this machine reaches others; `None` if it reaches none.
fn address_of_machine(listener: IpAddr) -> Option<IpAddr> {
    // An address of documentation. No packet is sent.
    let far: SocketAddr = match listener {
        IpAddr::V4(_) => ([192, 0, 2, 1], 9).into(),
        IpAddr::V6(_) => ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], 9).into(),
    };
    let socket = UdpSocket::bind((listener, 0)).ok()?;
    socket.connect(far).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// Creates the range of the addresses of Services.
///
/// # Errors
/// None.
pub(super) fn create_service_range(core: &Arc<Core>) -> Result<(), ApiError> {
    const NAME: &str = "kubernetes";
    let ranges = crate::api::service_ranges();
    let handle = Handle::new(core, "kube-apiserver");
    // That of the data folder stays. It may have no status, if the process ended before.
    let present = handle.get(&ranges, None, NAME);
    if present
        .as_ref()
        .is_some_and(|range| range["status"]["conditions"].is_array())
    {
        return Ok(());
    }
    if present.is_none() {
        let range = json!({"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR",
            "metadata": {"name": NAME}, "spec": {"cidrs": [crate::api::SERVICE_RANGE]}});
        create(&handle, &ranges, range)?;
    }
    let handle = Handle::new(core, "kubernetes-service-cidr-controller");
    let now = core.clock.timestamp();
    let ready = json!({"type": "Ready", "status": "True", "reason": "",
        "message": "Kubernetes default Service CIDR is ready", "lastTransitionTime": now});
    let shown = handle.update(&ranges, None, NAME, "status", |range| {
        range["status"] = json!({"conditions": [ready.clone()]});
    });
    shown.map(drop)
}

/// Creates the priority classes that always exist.
///
/// # Errors
/// None.
pub(super) fn create_priority_classes(core: &Arc<Core>) -> Result<(), ApiError> {
    const API: &str = "scheduling.k8s.io";
    let handle = Handle::new(core, "kube-apiserver");
    for (name, value, description) in [
        (
            "system-cluster-critical",
            2_000_000_000,
            "For Pods that the cluster needs, on any node",
        ),
        (
            "system-node-critical",
            2_000_001_000,
            "For Pods that their node needs",
        ),
    ] {
        let class = json!({"apiVersion": format!("{API}/v1"), "kind": "PriorityClass",
            "metadata": {"name": name}, "value": value, "description": description});
        create(&handle, &GroupResource::new(API, "priorityclasses"), class)?;
    }
    Ok(())
}

/// Creates the roles and bindings that a new cluster has, such as `view`, `edit`, `admin` and `cluster-admin`.
///
/// # Errors
/// None.
pub(super) fn create_roles(core: &Arc<Core>) -> Result<(), ApiError> {
    let handle = Handle::new(core, "kube-apiserver");
    for object in builtin::roles() {
        let plural = match object["kind"].as_str() {
            Some("ClusterRole") => "clusterroles",
            Some("ClusterRoleBinding") => "clusterrolebindings",
            Some("Role") => "roles",
            _ => "rolebindings",
        };
        let resource = GroupResource::new("rbac.authorization.k8s.io", plural);
        create(&handle, &resource, object)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sandbox;

    #[tokio::test]
    async fn the_service_of_the_server_has_the_address_of_its_last_listener() {
        let sandbox = Sandbox::builder().seed(1).build().unwrap();
        let handle = Handle::new(sandbox.core(), "test");
        let find = |group: &str, plural: &str| {
            handle.get(
                &GroupResource::new(group, plural),
                Some("default"),
                "kubernetes",
            )
        };
        let listen = |address: [u8; 4]| publish_service(sandbox.core(), (address, 6443).into());
        listen([127, 0, 0, 1]).unwrap();
        assert!(find("", "services").is_some() && find("", "endpoints").is_none());
        for address in ["192.168.7.1", "192.168.7.2"] {
            let parts: Vec<u8> = address
                .split('.')
                .map(|part| part.parse().unwrap())
                .collect();
            listen(parts.try_into().unwrap()).unwrap();
            let endpoints = find("", "endpoints").unwrap();
            let subset = &endpoints["subsets"][0];
            assert_eq!(subset["addresses"], json!([{"ip": address}]));
            assert_eq!(
                subset["ports"],
                json!([{"name": "https", "port": 6443, "protocol": "TCP"}])
            );
            let slice = find("discovery.k8s.io", "endpointslices").unwrap();
            assert_eq!(slice["endpoints"][0]["addresses"], json!([address]));
            assert_eq!(
                slice["metadata"]["labels"]["kubernetes.io/service-name"],
                "kubernetes"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_service_of_the_server_comes_back() {
        let sandbox = Sandbox::builder().seed(1).build().unwrap();
        let handle = Handle::new(sandbox.core(), "test");
        let services = GroupResource::new("", "services");
        let uid = || {
            let service = handle.get(&services, Some("default"), "kubernetes")?;
            Some(crate::meta::uid(&service).to_owned())
        };
        let pass = || tokio::time::sleep(std::time::Duration::from_secs(1));
        pass().await;
        assert_eq!(uid(), None, "nobody listens");
        let listener = Some(([127, 0, 0, 1], 6443).into());
        sandbox.core().listener.send_replace(listener);
        pass().await;
        let first = uid().unwrap();
        let options = DeleteOptions::default();
        let deleted = handle.delete(&services, Some("default"), "kubernetes", &options);
        deleted.unwrap();
        pass().await;
        assert!(uid().is_some_and(|uid| uid != first));
    }

    #[tokio::test(start_paused = true)]
    async fn with_rbac_a_cluster_has_the_usual_roles() {
        let sandbox = Sandbox::builder().seed(1).rbac(true).build().unwrap();
        let handle = Handle::new(sandbox.core(), "test");
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        let roles = GroupResource::new("rbac.authorization.k8s.io", "clusterroles");
        let covers = |role: &str, verb: &str, resource: &str| {
            let role = handle.get(&roles, None, role).unwrap();
            let rules = role["rules"].as_array().unwrap().clone();
            rules.iter().any(|rule| {
                let has = |field: &str, value: &str| {
                    let all = rule[field].as_array().into_iter().flatten();
                    all.into_iter().any(|one| one == value)
                };
                has("verbs", verb) && has("resources", resource)
            })
        };
        // These are aggregated.
        assert!(covers("view", "list", "configmaps") && !covers("view", "list", "secrets"));
        assert!(!covers("view", "create", "configmaps") && covers("edit", "create", "configmaps"));
        assert!(covers("admin", "create", "rolebindings"));
        assert!(!covers("edit", "create", "rolebindings"));
        assert!(handle.get(&roles, None, "cluster-admin").is_some());
    }
}
