use std::borrow::Cow;

use serde_json::{Value, json};

use crate::resource::ApiResource;

/// A place in an object, and how the API server merges a field at this place.
///
/// The rules are those of the OpenAPI document of Kubernetes 1.37: `x-kubernetes-list-type`, `x-kubernetes-list-map-keys` and
/// `x-kubernetes-map-type`. Kubernetes never changes them for an existing field. A test compares them with the document of
/// the sandbox.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    kind: &'a str,
    /// Whether the rules of the kind are known here. For other kinds only the rules of the metadata are known.
    known: bool,
    /// The depth in the object.
    depth: usize,
    /// The last two names of the path. An item of a list has the names of its list.
    parent: &'a str,
    field: &'a str,
    metadata: bool,
    /// An apply replaces the value at this place as a whole, or its rules are not known. Then no other manager has a field in it.
    replaced: bool,
}

/// The groups whose kinds [`Place`] knows, except those in [`UNKNOWN`].
const GROUPS: [&str; 15] = [
    "",
    "admissionregistration.k8s.io",
    "apps",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// A ControllerRevision holds JSON of other kinds. Events are not applied.
const UNKNOWN: [&str; 2] = ["ControllerRevision", "Event"];

impl<'a> Place<'a> {
    /// The object itself.
    pub(super) fn top(resource: &'a ApiResource) -> Self {
        let group: &str = &resource.group;
        let kind: &str = &resource.kind;
        Self {
            kind,
            known: GROUPS.contains(&group) && !UNKNOWN.contains(&kind),
            depth: 0,
            parent: "",
            field: "",
            metadata: false,
            replaced: false,
        }
    }

    /// The place of a field of the object at this place, or of an item of the list at this place.
    pub(super) fn of<'b>(self, field: &'b str) -> Place<'b>
    where
        'a: 'b,
    {
        let metadata = self.metadata || (self.depth == 0 && field == "metadata");
        let mut place = Place {
            depth: self.depth + 1,
            parent: self.field,
            field,
            metadata,
            ..self
        };
        place.replaced |= !metadata && (!self.known || place.is_atomic_map());
        place
    }

    /// Whether this is the place of the object itself.
    pub(super) fn is_top(self) -> bool {
        self.depth == 0
    }

    /// Whether an apply of the body would remove a field at this place that only the child has.
    pub(super) fn is_replaced(self) -> bool {
        self.replaced
    }

    /// The place of an item of the list at this place.
    pub(super) fn item(self, keyed: bool) -> Self {
        // Their items are references, which are replaced as a whole.
        let atomic = matches!(
            self.field,
            "evictionResponders" | "imagePullSecrets" | "ownerReferences" | "secrets" | "variables"
        );
        Self {
            replaced: self.replaced || !keyed || atomic,
            ..self
        }
    }

    /// Whether the list at this place is a set.
    pub(super) fn is_set(self) -> bool {
        self.metadata && self.depth == 2 && self.field == "finalizers"
    }

    /// The fields by which the API server finds the items of the list at this place. Returns `None` if it replaces the list
    /// as a whole or if its rules are not known.
    pub(super) fn keys(self) -> Option<&'static [&'static str]> {
        if self.replaced {
            return None;
        }
        // The metadata of the object, or of a template inside it.
        if self.parent == "metadata" && self.field == "ownerReferences" {
            return Some(&["uid"]);
        }
        if self.metadata {
            return None;
        }
        let in_container = matches!(
            self.parent,
            "containers" | "initContainers" | "ephemeralContainers"
        );
        match self.field {
            "claims"
            | "containers"
            | "drivers"
            | "env"
            | "ephemeralContainers"
            | "evictionResponders"
            | "initContainers"
            | "matchConditions"
            | "resourceClaims"
            | "schedulingGates"
            | "volumes"
            | "webhooks" => Some(&["name"]),
            "imagePullSecrets" if self.kind != "ServiceAccount" => Some(&["name"]),
            "secrets" if self.kind == "ServiceAccount" => Some(&["name"]),
            "variables" if self.kind == "ValidatingAdmissionPolicy" => Some(&["name"]),
            "ports" if in_container => Some(&["containerPort", "protocol"]),
            "ports" if self.kind == "Service" && self.parent == "spec" => {
                Some(&["port", "protocol"])
            }
            "hostAliases" => Some(&["ip"]),
            "topologySpreadConstraints" => Some(&["topologyKey", "whenUnsatisfiable"]),
            "volumeDevices" => Some(&["devicePath"]),
            "volumeMounts" => Some(&["mountPath"]),
            _ => None,
        }
    }

    /// The default of a key that an item of the list does not have.
    pub(super) fn default_key(key: &str) -> Value {
        match key {
            "protocol" => json!("TCP"),
            _ => Value::Null,
        }
    }

    /// Whether the object at this place is replaced as a whole.
    fn is_atomic_map(self) -> bool {
        matches!(
            self.field,
            "configMapKeyRef"
                | "controllerExpandSecretRef"
                | "controllerPublishSecretRef"
                | "dataSource"
                | "fieldRef"
                | "fileKeyRef"
                | "labelSelector"
                | "matchConstraints"
                | "matchResources"
                | "namespaceSelector"
                | "nodeExpandSecretRef"
                | "nodePublishSecretRef"
                | "nodeSelector"
                | "nodeStageSecretRef"
                | "nodeTopology"
                | "objectSelector"
                | "paramKind"
                | "paramRef"
                | "podSelector"
                | "port"
                | "preference"
                | "required"
                | "requiredDuringSchedulingIgnoredDuringExecution"
                | "resource"
                | "resourceFieldRef"
                | "roleRef"
                | "scaleTargetRef"
                | "scopeSelector"
                | "secretKeyRef"
                | "secretRef"
                | "selector"
                | "target"
                | "targetRef"
        )
    }

    /// Whether `value` is the default that the API server sets at this place. Such a value may exist although an apply
    /// replaces the object around it.
    pub(super) fn is_default(self, value: &Value) -> bool {
        if value.is_null() {
            return true;
        }
        if !self.known {
            return false;
        }
        let default = match (self.parent, self.field) {
            ("fieldRef" | "volumeClaimTemplates", "apiVersion") => json!("v1"),
            ("resourceFieldRef", "divisor") => json!("0"),
            ("volumeClaimTemplates", "kind") => json!("PersistentVolumeClaim"),
            ("volumeClaimTemplates", "status") => json!({"phase": "Pending"}),
            ("spec", "volumeMode") => json!("Filesystem"),
            ("subjects", "apiGroup") => json!("rbac.authorization.k8s.io"),
            ("ports", "protocol") => json!("TCP"),
            ("rules", "scope") => json!("*"),
            ("serviceAccountToken", "expirationSeconds") => json!(3600),
            _ => return false,
        };
        *value == default
    }

    /// Whether the API server drops `value`, because it means the same at this place as no field.
    pub(super) fn is_unset(self, value: &Value) -> bool {
        if !self.known && !self.metadata {
            return false;
        }
        match value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty() && self.is_map_of_strings(),
            Value::String(text) => text.is_empty() && self.is_never_zero(),
            Value::Bool(set) => !set && self.is_never_zero(),
            Value::Number(number) => number.as_u64() == Some(0) && self.is_never_zero(),
        }
    }

    fn is_map_of_strings(self) -> bool {
        matches!(
            self.field,
            "annotations"
                | "binaryData"
                | "data"
                | "labels"
                | "limits"
                | "matchLabels"
                | "nodeSelector"
                | "requests"
        )
    }

    /// Whether the Go type of the field is not a pointer, so that the server leaves out the zero value.
    fn is_never_zero(self) -> bool {
        matches!(
            (self.parent, self.field),
            (
                "containers" | "initContainers" | "ephemeralContainers",
                "stdin" | "stdinOnce" | "tty" | "workingDir"
            ) | ("env", "value")
                | ("ports", "hostIP" | "hostPort" | "name" | "nodePort")
                | (
                    "spec",
                    "hostIPC"
                        | "hostNetwork"
                        | "hostPID"
                        | "hostname"
                        | "minReadySeconds"
                        | "nodeName"
                        | "paused"
                        | "priorityClassName"
                        | "publishNotReadyAddresses"
                        | "subdomain"
                )
                | ("volumeMounts", "readOnly" | "subPath" | "subPathExpr")
                | (
                    "livenessProbe" | "readinessProbe" | "startupProbe",
                    "initialDelaySeconds"
                )
        )
    }

    /// Whether the server parses the value at this place as a quantity, and writes it in its canonical form.
    pub(super) fn is_quantity(self) -> bool {
        if !self.known {
            return false;
        }
        match (self.parent, self.field) {
            ("limits" | "requests" | "overhead", _) => true,
            ("emptyDir", "sizeLimit")
            | ("resourceFieldRef", "divisor")
            | ("target", "averageValue" | "value") => true,
            ("default" | "defaultRequest" | "max" | "min" | "maxLimitRequestRatio", _) => {
                self.kind == "LimitRange"
            }
            ("hard", _) => self.kind == "ResourceQuota",
            ("capacity", _) => self.kind == "PersistentVolume",
            ("podFixed", _) => self.kind == "RuntimeClass",
            _ => false,
        }
    }

    /// Whether the entries at this place are texts that the server stores in `data`, in base64.
    pub(super) fn is_string_data(self) -> bool {
        self.known && self.kind == "Secret" && self.depth == 1 && self.field == "stringData"
    }
}

/// The value of `key` in an item.
pub(super) fn key_of<'a>(item: &'a Value, key: &str) -> Cow<'a, Value> {
    match item.get(key) {
        Some(Value::Null) | None => Cow::Owned(Place::default_key(key)),
        Some(value) => Cow::Borrowed(value),
    }
}

#[cfg(test)]
mod tests {
    use pilothouse_sandbox::internals::builtin;

    use super::*;

    /// Compares the rules with those of a schema, in its whole depth. Returns the number of lists with keys.
    fn check(place: Place<'_>, schema: &Value, path: &str) -> usize {
        if schema["x-kubernetes-map-type"] == "atomic" {
            assert!(place.is_replaced(), "{path} is replaced as a whole");
        }
        let mut found = 0;
        if schema["type"] == "array" {
            let expected: Option<Vec<&str>> = match schema["x-kubernetes-list-type"].as_str() {
                Some("map") if !place.is_replaced() => {
                    let keys = schema["x-kubernetes-list-map-keys"].as_array().unwrap();
                    Some(keys.iter().map(|key| key.as_str().unwrap()).collect())
                }
                _ => None,
            };
            let keys = place.keys();
            assert_eq!(keys.map(<[_]>::to_vec), expected, "{path}");
            found += usize::from(keys.is_some());
            let is_set = schema["x-kubernetes-list-type"] == "set";
            assert!(is_set || !place.is_set(), "{path} is no set");
            return found + check(place.item(keys.is_some()), &schema["items"], path);
        }
        for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{field}");
            // An apply has no status and no managed fields.
            if !(place.is_top() && field == "status") && field != "managedFields" {
                found += check(place.of(field), schema, &path);
            }
        }
        found
    }

    #[test]
    fn the_rules_are_those_of_the_api_server() {
        let mut found = 0;
        for kind in builtin::kinds() {
            let resource = ApiResource {
                group: kind.group.clone().into(),
                version: kind.version.clone().into(),
                kind: kind.kind.clone().into(),
                plural: kind.plural.clone().into(),
                namespaced: kind.namespaced,
            };
            let place = Place::top(&resource);
            if !place.known || !kind.verbs.iter().any(|verb| verb == "patch") {
                continue;
            }
            let group = kind
                .group
                .split('.')
                .next()
                .filter(|group| !group.is_empty());
            let group = group.unwrap_or("core");
            let name = format!("io.k8s.api.{group}.{}.{}", kind.version, kind.kind);
            let schema = builtin::schema_json(&name);
            assert!(schema["properties"].is_object(), "{name}");
            found += check(place, &schema, &kind.kind);
        }
        assert!(found > 100, "{found} lists have keys");
    }
}
