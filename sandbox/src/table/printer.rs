use jiff::Timestamp;
use serde_json::Value;

use super::{
    admission, autoscaler, batch, cluster, network, platform, pod, rbac, service, storage, workload,
};
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
    let is_old = kind.version == "v1";
    Some(match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "pods") => pod::PODS,
        ("", "services") => service::SERVICES,
        ("", "configmaps") => cluster::CONFIG_MAPS,
        ("", "secrets") => cluster::SECRETS,
        ("", "serviceaccounts") => cluster::SERVICE_ACCOUNTS,
        ("", "namespaces") => cluster::NAMESPACES,
        ("", "nodes") => cluster::NODES,
        ("", "persistentvolumeclaims") => cluster::CLAIMS,
        ("", "componentstatuses") => cluster::COMPONENTS,
        ("", "events") => cluster::EVENTS,
        ("", "endpoints") => network::ENDPOINTS,
        ("", "persistentvolumes") => storage::VOLUMES,
        ("", "podtemplates") => workload::POD_TEMPLATES,
        ("", "replicationcontrollers") => workload::REPLICATION_CONTROLLERS,
        ("", "resourcequotas") => platform::QUOTAS,
        ("events.k8s.io", "events") => cluster::NEW_EVENTS,
        ("coordination.k8s.io", "leases") => cluster::LEASES,
        ("apps", "deployments") => workload::DEPLOYMENTS,
        ("apps", "replicasets") => workload::REPLICA_SETS,
        ("apps", "statefulsets") => workload::STATEFUL_SETS,
        ("apps", "daemonsets") => workload::DAEMON_SETS,
        ("apps", "controllerrevisions") => workload::REVISIONS,
        ("batch", "jobs") => batch::JOBS,
        ("batch", "cronjobs") => batch::CRON_JOBS,
        ("policy", "poddisruptionbudgets") => workload::DISRUPTION_BUDGETS,
        ("rbac.authorization.k8s.io", "roles" | "clusterroles") => rbac::ROLES,
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => rbac::BINDINGS,
        ("admissionregistration.k8s.io", plural) => match plural {
            "validatingadmissionpolicies" => admission::VALIDATING_POLICIES,
            "mutatingadmissionpolicies" => admission::MUTATING_POLICIES,
            "validatingadmissionpolicybindings" | "mutatingadmissionpolicybindings" => {
                admission::BINDINGS
            }
            _ => admission::WEBHOOKS,
        },
        ("apiregistration.k8s.io", "apiservices") => platform::API_SERVICES,
        ("autoscaling", _) if is_old => autoscaler::OLD_AUTOSCALERS,
        ("autoscaling", _) => autoscaler::AUTOSCALERS,
        ("certificates.k8s.io", "clustertrustbundles") => platform::TRUST_BUNDLES,
        ("certificates.k8s.io", "podcertificaterequests") => platform::POD_CERTIFICATES,
        ("certificates.k8s.io", _) => platform::CERTIFICATE_REQUESTS,
        ("discovery.k8s.io", _) => network::ENDPOINT_SLICES,
        ("flowcontrol.apiserver.k8s.io", "flowschemas") => platform::FLOW_SCHEMAS,
        ("flowcontrol.apiserver.k8s.io", _) => platform::PRIORITY_LEVELS,
        ("networking.k8s.io", plural) => match plural {
            "ingresses" => network::INGRESSES,
            "ingressclasses" => network::INGRESS_CLASSES,
            "networkpolicies" => network::NETWORK_POLICIES,
            "ipaddresses" => network::ADDRESSES,
            _ => network::RANGES,
        },
        ("node.k8s.io", _) => platform::RUNTIME_CLASSES,
        ("resource.k8s.io", "resourceclaims") => storage::CLAIMS,
        ("resource.k8s.io", "resourceslices") => storage::SLICES,
        ("resource.k8s.io", "devicetaintrules") => storage::TAINT_RULES,
        ("resource.k8s.io", _) => cluster::SERVICE_ACCOUNTS,
        ("scheduling.k8s.io", _) => platform::PRIORITY_CLASSES,
        ("storage.k8s.io", "storageclasses") => storage::CLASSES,
        ("storage.k8s.io", "volumeattributesclasses") => storage::ATTRIBUTES_CLASSES,
        ("storage.k8s.io", "volumeattachments") => storage::ATTACHMENTS,
        ("storage.k8s.io", "csidrivers") => storage::DRIVERS,
        ("storage.k8s.io", "csinodes") => storage::DRIVERS_OF_NODES,
        ("storage.k8s.io", "csistoragecapacities") | ("", "limitranges") => rbac::ROLES,
        ("storagemigration.k8s.io", _) => platform::MIGRATIONS,
        ("apiextensions.k8s.io", "customresourcedefinitions") => platform::DEFINITIONS,
        _ => return None,
    })
}
