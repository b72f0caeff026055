use jiff::Timestamp;
use serde_json::Value;

use super::{batch, cluster, pod, rbac, service, workload};
use crate::registry::ServedKind;

/// How the objects of a built-in kind are shown.
#[derive(Clone, Copy)]
pub(super) struct Printer {
    /// Whether the name is the first column.
    pub(super) named: bool,
    /// The columns after the name: heading, type, priority.
    pub(super) columns: &'static [(&'static str, &'static str, i32)],
    /// As many cells as there are columns.
    pub(super) cells: fn(&Value, Timestamp) -> Vec<Value>,
}

/// The printer of a kind. Returns `None` if only name and age are shown.
pub(super) fn printer(kind: &ServedKind) -> Option<Printer> {
    if kind.is_custom() {
        return None;
    }
    Some(match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "pods") => pod::PODS,
        ("", "services") => service::SERVICES,
        ("", "configmaps") => cluster::CONFIG_MAPS,
        ("", "secrets") => cluster::SECRETS,
        ("", "serviceaccounts") => cluster::SERVICE_ACCOUNTS,
        ("", "namespaces") => cluster::NAMESPACES,
        ("", "nodes") => cluster::NODES,
        ("", "persistentvolumeclaims") => cluster::CLAIMS,
        ("", "events") => cluster::EVENTS,
        ("events.k8s.io", "events") => cluster::NEW_EVENTS,
        ("coordination.k8s.io", "leases") => cluster::LEASES,
        ("apps", "deployments") => workload::DEPLOYMENTS,
        ("apps", "replicasets") => workload::REPLICA_SETS,
        ("apps", "statefulsets") => workload::STATEFUL_SETS,
        ("apps", "daemonsets") => workload::DAEMON_SETS,
        ("apps", "controllerrevisions") => workload::REVISIONS,
        ("batch", "jobs") => batch::JOBS,
        ("batch", "cronjobs") => batch::CRON_JOBS,
        ("rbac.authorization.k8s.io", "roles" | "clusterroles") => rbac::ROLES,
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => rbac::BINDINGS,
        // Both show the time of creation, not the age.
        ("apiextensions.k8s.io", "customresourcedefinitions") => rbac::ROLES,
        _ => return None,
    })
}
