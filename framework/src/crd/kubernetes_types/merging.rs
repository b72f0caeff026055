//! How server-side apply merges the lists and maps of Kubernetes' types, so that several appliers can share them: `containers`, `env`, `ports`.
//!
//! The rules are those of the OpenAPI document of Kubernetes, which k8s-openapi does not have. A list without a rule is replaced as a whole, and
//! so is one whose keys an item may leave out without a default: no definition can say the type of that list. A test compares this table with
//! the document of the sandbox.

use serde_json::{Map, Value, json};

/// Lists of type `map` with the keys of their items, and lists of type `set`, which have no keys.
const LISTS: &[(&str, &str, &[&str])] = &[
    (
        "api.admissionregistration.v1.MutatingAdmissionPolicySpec",
        "matchConditions",
        &["name"],
    ),
    (
        "api.admissionregistration.v1.MutatingWebhook",
        "matchConditions",
        &["name"],
    ),
    (
        "api.admissionregistration.v1.MutatingWebhookConfiguration",
        "webhooks",
        &["name"],
    ),
    (
        "api.admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec",
        "validationActions",
        &[],
    ),
    (
        "api.admissionregistration.v1.ValidatingAdmissionPolicySpec",
        "matchConditions",
        &["name"],
    ),
    (
        "api.admissionregistration.v1.ValidatingAdmissionPolicySpec",
        "variables",
        &["name"],
    ),
    (
        "api.admissionregistration.v1.ValidatingAdmissionPolicyStatus",
        "conditions",
        &["type"],
    ),
    (
        "api.admissionregistration.v1.ValidatingWebhook",
        "matchConditions",
        &["name"],
    ),
    (
        "api.admissionregistration.v1.ValidatingWebhookConfiguration",
        "webhooks",
        &["name"],
    ),
    ("api.apps.v1.DaemonSetStatus", "conditions", &["type"]),
    ("api.apps.v1.DeploymentStatus", "conditions", &["type"]),
    ("api.apps.v1.ReplicaSetStatus", "conditions", &["type"]),
    ("api.apps.v1.StatefulSetStatus", "conditions", &["type"]),
    (
        "api.autoscaling.v2.HorizontalPodAutoscalerStatus",
        "conditions",
        &["type"],
    ),
    (
        "api.batch.v1.PodFailurePolicyOnExitCodesRequirement",
        "values",
        &[],
    ),
    ("api.batch.v1.UncountedTerminatedPods", "failed", &[]),
    ("api.batch.v1.UncountedTerminatedPods", "succeeded", &[]),
    (
        "api.batch.v1.JobSchedulingConfiguration",
        "resourceClaims",
        &["name"],
    ),
    (
        "api.certificates.v1.CertificateSigningRequestStatus",
        "conditions",
        &["type"],
    ),
    (
        "api.certificates.v1.PodCertificateRequestStatus",
        "conditions",
        &["type"],
    ),
    ("api.core.v1.ComponentStatus", "conditions", &["type"]),
    ("api.core.v1.Container", "env", &["name"]),
    (
        "api.core.v1.Container",
        "ports",
        &["containerPort", "protocol"],
    ),
    ("api.core.v1.Container", "volumeDevices", &["devicePath"]),
    ("api.core.v1.Container", "volumeMounts", &["mountPath"]),
    ("api.core.v1.ContainerRestartRuleOnExitCodes", "values", &[]),
    (
        "api.core.v1.ContainerStatus",
        "allocatedResourcesStatus",
        &["name"],
    ),
    (
        "api.core.v1.ContainerStatus",
        "volumeMounts",
        &["mountPath"],
    ),
    ("api.core.v1.EphemeralContainer", "env", &["name"]),
    (
        "api.core.v1.EphemeralContainer",
        "ports",
        &["containerPort", "protocol"],
    ),
    (
        "api.core.v1.EphemeralContainer",
        "volumeDevices",
        &["devicePath"],
    ),
    (
        "api.core.v1.EphemeralContainer",
        "volumeMounts",
        &["mountPath"],
    ),
    ("api.core.v1.NamespaceStatus", "conditions", &["type"]),
    (
        "api.core.v1.NodeAllocatableResourceClaimStatus",
        "containers",
        &[],
    ),
    (
        "api.core.v1.NodeAllocatableResourceClaimStatus",
        "mapping",
        &["name"],
    ),
    (
        "api.core.v1.NodeAllocatableResourceClaimStatus",
        "overhead",
        &["name"],
    ),
    (
        "api.core.v1.NodePodPreemptionPolicy",
        "disableResizePreemption",
        &[],
    ),
    ("api.core.v1.NodeSpec", "podCIDRs", &[]),
    ("api.core.v1.NodeStatus", "addresses", &["type"]),
    ("api.core.v1.NodeStatus", "conditions", &["type"]),
    (
        "api.core.v1.PersistentVolumeClaimStatus",
        "conditions",
        &["type"],
    ),
    ("api.core.v1.PodSpec", "containers", &["name"]),
    ("api.core.v1.PodSpec", "ephemeralContainers", &["name"]),
    ("api.core.v1.PodSpec", "evictionResponders", &["name"]),
    ("api.core.v1.PodSpec", "hostAliases", &["ip"]),
    ("api.core.v1.PodSpec", "imagePullSecrets", &["name"]),
    ("api.core.v1.PodSpec", "initContainers", &["name"]),
    ("api.core.v1.PodSpec", "resourceClaims", &["name"]),
    ("api.core.v1.PodSpec", "schedulingGates", &["name"]),
    (
        "api.core.v1.PodSpec",
        "topologySpreadConstraints",
        &["topologyKey", "whenUnsatisfiable"],
    ),
    ("api.core.v1.PodSpec", "volumes", &["name"]),
    ("api.core.v1.PodStatus", "conditions", &["type"]),
    (
        "api.core.v1.PodStatus",
        "nodeAllocatableResourceClaimStatuses",
        &["resourceClaimName"],
    ),
    ("api.core.v1.PodStatus", "podIPs", &["ip"]),
    ("api.core.v1.PodStatus", "resourceClaimStatuses", &["name"]),
    ("api.core.v1.PodStatus", "volumeHealth", &["name"]),
    (
        "api.core.v1.PodVolumeHealth",
        "healthConditions",
        &["status", "reason"],
    ),
    (
        "api.core.v1.ReplicationControllerStatus",
        "conditions",
        &["type"],
    ),
    ("api.core.v1.ResourceRequirements", "claims", &["name"]),
    ("api.core.v1.ResourceStatus", "resources", &["resourceID"]),
    ("api.core.v1.ServiceSpec", "ports", &["port", "protocol"]),
    ("api.core.v1.ServiceStatus", "conditions", &["type"]),
    (
        "api.core.v1.VolumeHealthStatus",
        "healthConditions",
        &["status", "reason"],
    ),
    ("api.core.v1.VolumeMount", "bindMountOptions", &[]),
    ("api.discovery.v1.Endpoint", "addresses", &[]),
    (
        "api.flowcontrol.v1.NonResourcePolicyRule",
        "nonResourceURLs",
        &[],
    ),
    ("api.flowcontrol.v1.NonResourcePolicyRule", "verbs", &[]),
    ("api.flowcontrol.v1.ResourcePolicyRule", "apiGroups", &[]),
    ("api.flowcontrol.v1.ResourcePolicyRule", "namespaces", &[]),
    ("api.flowcontrol.v1.ResourcePolicyRule", "resources", &[]),
    ("api.flowcontrol.v1.ResourcePolicyRule", "verbs", &[]),
    (
        "api.networking.v1.ServiceCIDRStatus",
        "conditions",
        &["type"],
    ),
    (
        "api.policy.v1.PodDisruptionBudgetStatus",
        "conditions",
        &["type"],
    ),
    (
        "api.resource.v1.AllocatedDeviceStatus",
        "conditions",
        &["type"],
    ),
    (
        "api.resource.v1.DeviceRequestAllocationResult",
        "skipNodeOperations",
        &[],
    ),
    (
        "api.resource.v1.DeviceTaintRuleStatus",
        "conditions",
        &["type"],
    ),
    (
        "api.resource.v1.ResourceClaimStatus",
        "reservedFor",
        &["uid"],
    ),
    (
        "api.resource.v1.ResourceSliceSpec",
        "skipNodeOperations",
        &[],
    ),
    ("api.storage.v1.CSIDriverSpec", "volumeLifecycleModes", &[]),
    ("api.storage.v1.CSINodeSpec", "drivers", &["name"]),
    ("api.storage.v1.CSINodeStatus", "storageHealth", &["name"]),
    (
        "api.storagemigration.v1.StorageVersionMigrationStatus",
        "conditions",
        &["type"],
    ),
    (
        "apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionStatus",
        "conditions",
        &["type"],
    ),
    (
        "apimachinery.pkg.apis.meta.v1.ObjectMeta",
        "finalizers",
        &[],
    ),
    (
        "apimachinery.pkg.apis.meta.v1.ObjectMeta",
        "ownerReferences",
        &["uid"],
    ),
    (
        "kube-aggregator.pkg.apis.apiregistration.v1.APIServiceStatus",
        "conditions",
        &["type"],
    ),
];

/// Maps, and fields with an object, whose rule differs from that of their type.
const MAPS: &[(&str, &str, &str)] = &[
    ("api.core.v1.PersistentVolumeSpec", "claimRef", "granular"),
    ("api.core.v1.PodSpec", "nodeSelector", "atomic"),
    (
        "api.core.v1.ReplicationControllerSpec",
        "selector",
        "atomic",
    ),
    ("api.core.v1.ServiceSpec", "selector", "atomic"),
    ("api.node.v1.Scheduling", "nodeSelector", "atomic"),
];

/// Types whose objects are replaced as a whole.
const ATOMIC: &[&str] = &[
    "api.admissionregistration.v1.MatchResources",
    "api.admissionregistration.v1.NamedRuleWithOperations",
    "api.admissionregistration.v1.ParamKind",
    "api.admissionregistration.v1.ParamRef",
    "api.admissionregistration.v1.Variable",
    "api.autoscaling.v1.CrossVersionObjectReference",
    "api.core.v1.ConfigMapKeySelector",
    "api.core.v1.EndpointAddress",
    "api.core.v1.EndpointPort",
    "api.core.v1.EvictionResponder",
    "api.core.v1.FileKeySelector",
    "api.core.v1.LocalObjectReference",
    "api.core.v1.NodeSelector",
    "api.core.v1.NodeSelectorTerm",
    "api.core.v1.ObjectFieldSelector",
    "api.core.v1.ObjectReference",
    "api.core.v1.ResourceFieldSelector",
    "api.core.v1.ScopeSelector",
    "api.core.v1.SecretKeySelector",
    "api.core.v1.SecretReference",
    "api.core.v1.TopologySelectorTerm",
    "api.core.v1.TypedLocalObjectReference",
    "api.discovery.v1.EndpointPort",
    "api.networking.v1.ServiceBackendPort",
    "api.rbac.v1.RoleRef",
    "api.rbac.v1.Subject",
    "apimachinery.pkg.apis.meta.v1.LabelSelector",
    "apimachinery.pkg.apis.meta.v1.OwnerReference",
];

/// Defaults of the keys that an item may leave out.
const DEFAULTS: &[(&str, &str, &str)] = &[
    ("api.core.v1.ContainerPort", "protocol", "TCP"),
    ("api.core.v1.LocalObjectReference", "name", ""),
    ("api.core.v1.ServicePort", "protocol", "TCP"),
];

/// Adds the rules of the type `name`, such as `io.k8s.api.core.v1.PodSpec`, to its schema.
pub(super) fn add(name: &str, schema: &mut Map<String, Value>) {
    let name = name.strip_prefix("io.k8s.").unwrap_or(name);
    if ATOMIC.contains(&name) {
        schema.insert("x-kubernetes-map-type".into(), "atomic".into());
    }
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    for (_, field, keys) in LISTS.iter().filter(|(of, ..)| *of == name) {
        let Some(list) = properties.get_mut(*field) else {
            continue;
        };
        if keys.is_empty() {
            list["x-kubernetes-list-type"] = "set".into();
        } else if keys.iter().all(|key| is_always_set(&list["items"], key)) {
            list["x-kubernetes-list-type"] = "map".into();
            list["x-kubernetes-list-map-keys"] = json!(keys);
        }
    }
    let mut set = |field: &str, keyword: &str, value: &str| {
        if let Some(property) = properties.get_mut(field) {
            property[keyword] = value.into();
        }
    };
    for (_, field, map_type) in MAPS.iter().filter(|(of, ..)| *of == name) {
        set(field, "x-kubernetes-map-type", map_type);
    }
    for (_, field, default) in DEFAULTS.iter().filter(|(of, ..)| *of == name) {
        set(field, "default", default);
    }
}

/// Whether each item has this field: an API server refuses a list of type `map` otherwise.
fn is_always_set(item: &Value, field: &str) -> bool {
    let required = item["required"].as_array();
    let is_required = required.is_some_and(|all| all.iter().any(|name| name == field));
    is_required || !item["properties"][field]["default"].is_null()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(name: &str, mut schema: Value) -> Value {
        add(name, schema.as_object_mut().unwrap());
        schema
    }

    fn list(item: &Value) -> Value {
        json!({"type": "array", "items": item})
    }

    #[test]
    fn the_items_of_a_list_are_merged_by_keys_that_each_has() {
        let port = json!({"type": "object", "required": ["containerPort"], "properties": {
            "containerPort": {"type": "integer"}, "protocol": {"type": "string"},
        }});
        let with_default = added("io.k8s.api.core.v1.ContainerPort", port.clone());
        assert_eq!(with_default["properties"]["protocol"]["default"], "TCP");
        let container = |port| json!({"type": "object", "properties": {"ports": list(port), "args": list(&json!({}))}});
        let name = "io.k8s.api.core.v1.Container";
        let merged = added(name, container(&with_default));
        let ports = &merged["properties"]["ports"];
        assert_eq!(ports["x-kubernetes-list-type"], "map");
        assert_eq!(
            ports["x-kubernetes-list-map-keys"],
            json!(["containerPort", "protocol"])
        );
        assert_eq!(merged["properties"]["args"], list(&json!({})));
        // An API server would refuse a definition with these keys.
        assert_eq!(added(name, container(&port)), container(&port));
    }

    #[test]
    fn sets_and_what_is_replaced_as_a_whole_are_marked() {
        let properties = json!({"addresses": list(&json!({"type": "string"}))});
        let endpoint = added(
            "io.k8s.api.discovery.v1.Endpoint",
            json!({"properties": properties}),
        );
        assert_eq!(
            endpoint["properties"]["addresses"]["x-kubernetes-list-type"],
            "set"
        );
        let selector = added("io.k8s.api.core.v1.NodeSelector", json!({"type": "object"}));
        assert_eq!(selector["x-kubernetes-map-type"], "atomic");
        let spec = json!({"properties": {"nodeSelector": {"type": "object"}}});
        let spec = added("io.k8s.api.core.v1.PodSpec", spec);
        assert_eq!(
            spec["properties"]["nodeSelector"]["x-kubernetes-map-type"],
            "atomic"
        );
    }
}
