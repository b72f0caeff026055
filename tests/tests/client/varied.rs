//! Objects of built-in kinds whose fields have all the types that differ between encodings: zero values, times, quantities, numbers that may be
//! strings, bytes, fractions, and JSON within an object.

use serde_json::{Value, json};

/// The objects. Those of namespaced kinds have no namespace: it is `prefix`, which is also the name of each.
pub(crate) fn objects(prefix: &str) -> Vec<Value> {
    let labels = json!({"app": prefix, "empty": ""});
    let selector = json!({"matchLabels": {"app": prefix}, "matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]});
    let template = json!({
        "metadata": {"labels": labels},
        "spec": {
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 0,
            "securityContext": {"runAsUser": 0, "fsGroup": i32::MAX, "sysctls": [{"name": "net.a", "value": ""}]},
            "tolerations": [{"operator": "Exists", "tolerationSeconds": -1, "effect": "NoExecute"}],
            "volumes": [
                {"name": "a", "configMap": {"name": "c", "defaultMode": 0, "items": [{"key": "k", "path": "p", "mode": 511}]}},
                {"name": "b", "emptyDir": {"sizeLimit": "1.5Gi"}},
                {"name": "c", "downwardAPI": {"items": [{"path": "p", "resourceFieldRef": {"containerName": "c", "resource": "limits.cpu", "divisor": "1m"}}]}},
            ],
            "containers": [{
                "name": "c", "image": "i", "command": ["", "é\u{0}\"\\"],
                "env": [{"name": "A", "value": ""}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "resources": {"limits": {"cpu": "0.5", "memory": "1536Mi", "ephemeral-storage": "1e3"}, "requests": {"cpu": "100m"}},
                "livenessProbe": {"httpGet": {"path": "/", "port": "http"}, "initialDelaySeconds": 0},
                "readinessProbe": {"tcpSocket": {"port": 80}, "periodSeconds": 7},
                "startupProbe": {"grpc": {"port": 81, "service": ""}},
                "stdin": false, "tty": true,
            }],
        },
    });
    let named = |api_version: &str, kind: &str, rest: Value| {
        let mut object = rest;
        object["apiVersion"] = api_version.into();
        object["kind"] = kind.into();
        object["metadata"] = json!({
            "name": prefix, "labels": labels,
            "annotations": {"text": "a\nb\u{2028}"},
            "finalizers": [],
        });
        object
    };
    let schema = json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "whole": {"type": "number", "minimum": 1.0, "maximum": 1e20, "multipleOf": 0.1, "exclusiveMinimum": true},
            "negative": {"type": "number", "minimum": -2.5e-9, "maximum": 0, "default": -1e-9},
            "either": {"x-kubernetes-int-or-string": true, "default": "5"},
            "choice": {"type": "string", "enum": ["a", "", "1"], "nullable": true},
            "deep": {"type": "object", "default": {"a": [1, 2.5, {"b": null}], "c": ""}, "x-kubernetes-preserve-unknown-fields": true},
            "map": {"type": "object", "additionalProperties": {"type": "array", "minItems": 0, "maxItems": 3, "items": {"type": "integer", "format": "int64"}}},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string", "maxLength": 9_007_199_254_740_993i64}},
        },
        "x-kubernetes-validations": [{"rule": "has(self.whole)", "message": "m"}],
    });
    let kind = format!("Kind{}", prefix.replace('-', ""));
    let plural = format!("{}s", kind.to_lowercase());
    let mut definition = named(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        json!({
            "spec": {
                "group": "varied.example.org", "scope": "Cluster",
                "names": {"kind": kind, "plural": plural, "categories": ["all"]},
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}},
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [{"name": "A", "type": "integer", "jsonPath": ".spec.a", "priority": 0}],
                }],
            },
        }),
    );
    definition["metadata"]["name"] = format!("{plural}.varied.example.org").into();
    let mut job_template = template.clone();
    job_template["spec"]["restartPolicy"] = "Never".into();
    let job = json!({
        "parallelism": 0, "completions": 0, "backoffLimit": 0, "ttlSecondsAfterFinished": 0, "template": job_template,
        "podFailurePolicy": {"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1, 42, 300]}}]},
    });
    vec![
        definition,
        named(
            "v1",
            "ConfigMap",
            json!({"data": {"empty": "", "text": "é"}, "binaryData": {"b": "AP+A", "none": ""}, "immutable": false}),
        ),
        named(
            "v1",
            "Secret",
            json!({"type": "Opaque", "data": {"all": "AP+A", "none": ""}}),
        ),
        named(
            "v1",
            "Service",
            json!({
                "spec": {
                    "type": "ClusterIP", "selector": {"app": prefix}, "publishNotReadyAddresses": false, "sessionAffinity": "ClientIP",
                    "ports": [{"name": "a", "port": 80, "targetPort": "http"}, {"name": "b", "port": 81, "targetPort": 8081, "protocol": "UDP"}],
                },
            }),
        ),
        named(
            "v1",
            "PersistentVolumeClaim",
            json!({
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1.5Gi"}}, "storageClassName": ""},
            }),
        ),
        named(
            "v1",
            "PersistentVolume",
            json!({
                "spec": {
                    "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "100M"}, "storageClassName": "none",
                    "hostPath": {"path": "/x", "type": ""},
                },
            }),
        ),
        named(
            "v1",
            "Event",
            json!({
                "involvedObject": {"kind": "Pod", "name": "p", "namespace": prefix}, "reason": "R", "message": "", "type": "Normal", "count": 0,
                "eventTime": "2026-01-01T00:00:00.000001Z", "action": "A", "reportingComponent": "example.org/r", "reportingInstance": "i",
                "firstTimestamp": null, "lastTimestamp": "2026-01-01T00:00:00Z",
            }),
        ),
        named(
            "v1",
            "ResourceQuota",
            json!({"spec": {"hard": {"pods": "100", "requests.cpu": "1500m", "limits.memory": "0.5Gi"}}}),
        ),
        named(
            "v1",
            "LimitRange",
            json!({"spec": {"limits": [{"type": "Container", "max": {"cpu": "100"}, "min": {"cpu": "1m"}}]}}),
        ),
        named(
            "apps/v1",
            "Deployment",
            json!({"spec": {
                "replicas": 0, "selector": {"matchLabels": {"app": prefix}}, "template": template, "paused": true, "revisionHistoryLimit": 0,
                "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}},
            }}),
        ),
        named(
            "apps/v1",
            "DaemonSet",
            json!({"spec": {
                "selector": {"matchLabels": {"app": prefix}}, "template": template, "updateStrategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "1%"}},
            }}),
        ),
        named(
            "apps/v1",
            "ControllerRevision",
            json!({"data": {"a": [1, 2.5, null, {"b": ""}], "é": 1.0}, "revision": 0}),
        ),
        named("batch/v1", "Job", json!({"spec": job})),
        named(
            "batch/v1",
            "CronJob",
            json!({"spec": {"schedule": "0 0 31 2 *", "suspend": true, "jobTemplate": {"spec": job}}}),
        ),
        named(
            "policy/v1",
            "PodDisruptionBudget",
            json!({"spec": {"maxUnavailable": "50%", "selector": selector}}),
        ),
        named(
            "networking.k8s.io/v1",
            "NetworkPolicy",
            json!({"spec": {
                "podSelector": {}, "policyTypes": ["Ingress"],
                "ingress": [{}, {"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}], "ports": [{"port": "http"}, {"port": 80, "endPort": 90}]}],
            }}),
        ),
        named(
            "networking.k8s.io/v1",
            "Ingress",
            json!({"spec": {"rules": [
                {"host": "a.example.org", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}},
            ]}}),
        ),
        named(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            json!({"spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"}, "maxReplicas": 3,
                "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "1500m"}}}],
                "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0, "policies": [{"type": "Pods", "value": 1, "periodSeconds": 1}]}},
            }}),
        ),
        named(
            "coordination.k8s.io/v1",
            "Lease",
            json!({"spec": {
                "holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 0,
                "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2026-01-01T00:00:00.123456Z",
            }}),
        ),
        named(
            "discovery.k8s.io/v1",
            "EndpointSlice",
            json!({
                "addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": false, "serving": true}}],
                "ports": [{"name": "", "port": 80, "protocol": "TCP"}],
            }),
        ),
        named(
            "rbac.authorization.k8s.io/v1",
            "ClusterRole",
            json!({
                "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}, {"nonResourceURLs": ["/x"], "verbs": ["get"]}],
                "aggregationRule": {"clusterRoleSelectors": [selector]},
            }),
        ),
        named(
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            json!({
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "none"}, "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "b"}],
            }),
        ),
        named(
            "storage.k8s.io/v1",
            "StorageClass",
            json!({"provisioner": "example.org/p", "allowVolumeExpansion": false, "parameters": {"a": ""}}),
        ),
        named(
            "storage.k8s.io/v1",
            "CSIDriver",
            json!({"spec": {"attachRequired": false, "tokenRequests": [{"audience": "", "expirationSeconds": 600}]}}),
        ),
        named(
            "scheduling.k8s.io/v1",
            "PriorityClass",
            json!({"value": -5, "globalDefault": false, "description": ""}),
        ),
        named(
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration",
            json!({"webhooks": [{
                "name": "a.example.org", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore",
                "clientConfig": {"url": "https://127.0.0.1:1/x", "caBundle": null}, "objectSelector": selector,
                "rules": [{"apiGroups": ["none.example.org"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nones"], "scope": "*"}],
            }]}),
        ),
        named(
            "admissionregistration.k8s.io/v1",
            "ValidatingAdmissionPolicy",
            json!({"spec": {
                "failurePolicy": "Ignore", "validations": [{"expression": "true", "message": ""}],
                "matchConstraints": {"resourceRules": [{"apiGroups": ["none.example.org"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nones"]}]},
            }}),
        ),
        named(
            "flowcontrol.apiserver.k8s.io/v1",
            "PriorityLevelConfiguration",
            json!({"spec": {
                "type": "Limited", "limited": {"nominalConcurrencyShares": 0, "limitResponse": {"type": "Reject"}},
            }}),
        ),
    ]
}
