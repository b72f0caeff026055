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

/// Creates the namespaces that always exist.
///
/// # Errors
/// None in a new sandbox.
pub(super) fn create_namespaces(core: &Arc<Core>) -> Result<(), ApiError> {
    let handle = Handle::new(core, "kube-apiserver");
    for name in NAMESPACES {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        handle.create(&GroupResource::new("", "namespaces"), namespace)?;
    }
    Ok(())
}

/// Creates the priority classes that always exist.
///
/// # Errors
/// None in a new sandbox.
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
        handle.create(&GroupResource::new(API, "priorityclasses"), class)?;
    }
    Ok(())
}

/// Creates the roles that discovery needs, and the administrator's role. The many other roles of a real server belong
/// to its own components.
///
/// # Errors
/// None in a new sandbox.
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
        handle.create(&GroupResource::new(API, "clusterroles"), role)?;
        let subjects: Vec<Value> = groups
            .iter()
            .map(|group| json!({"apiGroup": API, "kind": "Group", "name": group}))
            .collect();
        let binding = json!({"apiVersion": format!("{API}/v1"), "kind": "ClusterRoleBinding",
            "metadata": metadata, "subjects": subjects,
            "roleRef": {"apiGroup": API, "kind": "ClusterRole", "name": name}});
        handle.create(&GroupResource::new(API, "clusterrolebindings"), binding)?;
    }
    Ok(())
}
