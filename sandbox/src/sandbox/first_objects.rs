//! The objects that every new cluster has.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::Handle;
use crate::core::Core;
use crate::error::ApiError;
use crate::registry::GroupResource;

const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";

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

/// Creates the Service `kubernetes` for a listener at `port`, as a server does that begins to serve. The Service of an earlier
/// listener stays. It has no Endpoints: the listener is often a loopback address, and Endpoints may not have one.
///
/// # Errors
/// If the namespace `default` is gone.
pub(super) fn publish_service(core: &Arc<Core>, port: u16) -> Result<(), ApiError> {
    let service = json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"namespace": "default", "name": "kubernetes",
            "labels": {"component": "apiserver", "provider": "kubernetes"}},
        "spec": {"type": "ClusterIP", "clusterIP": "10.96.0.1",
            "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": port}]}});
    let handle = Handle::new(core, "kube-apiserver");
    create(&handle, &GroupResource::new("", "services"), service)
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

/// Creates the roles that discovery needs, and the administrator's role. The many other roles of a real server belong
/// to its own components.
///
/// # Errors
/// None.
pub(super) fn create_roles(core: &Arc<Core>) -> Result<(), ApiError> {
    let paths = |paths: &[&str]| json!([{"verbs": ["get"], "nonResourceURLs": paths}]);
    let own = json!([
        {"verbs": ["create"], "apiGroups": ["authorization.k8s.io"],
         "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]},
        {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]},
    ]);
    let everything = json!([
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
        {"verbs": ["*"], "nonResourceURLs": ["*"]},
    ]);
    let discovery = [
        "/api",
        "/api/*",
        "/apis",
        "/apis/*",
        "/healthz",
        "/livez",
        "/openapi",
        "/openapi/*",
        "/readyz",
        "/version",
        "/version/",
    ];
    let public = ["/healthz", "/livez", "/readyz", "/version", "/version/"];
    let roles: [(&str, Value, &[&str]); 4] = [
        ("cluster-admin", everything, &["system:masters"]),
        ("system:basic-user", own, &[AUTHENTICATED]),
        ("system:discovery", paths(&discovery), &[AUTHENTICATED]),
        (
            "system:public-info-viewer",
            paths(&public),
            &[AUTHENTICATED, UNAUTHENTICATED],
        ),
    ];
    const API: &str = "rbac.authorization.k8s.io";
    let handle = Handle::new(core, "kube-apiserver");
    for (name, rules, groups) in roles {
        let metadata =
            json!({"name": name, "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}});
        let role = json!({"apiVersion": format!("{API}/v1"), "kind": "ClusterRole",
            "metadata": metadata, "rules": rules});
        create(&handle, &GroupResource::new(API, "clusterroles"), role)?;
        let subjects: Vec<Value> = groups
            .iter()
            .map(|group| json!({"apiGroup": API, "kind": "Group", "name": group}))
            .collect();
        let binding = json!({"apiVersion": format!("{API}/v1"), "kind": "ClusterRoleBinding",
            "metadata": metadata, "subjects": subjects,
            "roleRef": {"apiGroup": API, "kind": "ClusterRole", "name": name}});
        let bindings = GroupResource::new(API, "clusterrolebindings");
        create(&handle, &bindings, binding)?;
    }
    Ok(())
}
