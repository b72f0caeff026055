use serde_json::Value;

use super::certificates::pod_certificate_request_status;
use super::claims::claim_status;
use super::conditions::conditions;
use super::fields::{address, not_negative};
use super::job_status::job_status;
use super::migration::migration_status;
use super::network::ingress_status;
use super::node::node_status;
use super::part::Part;
use crate::registry::ServedKind;
use crate::schema::FieldError;

/// The counters of a status, in the order in which the server checks them.
struct Counts {
    kind: &'static str,
    all: &'static [&'static str],
    /// Counters that must not exceed `replicas`.
    parts: &'static [&'static str],
    /// The name of the counter that `availableReplicas` must not exceed.
    ready: &'static str,
}

const COUNTS: [Counts; 7] = [
    Counts {
        kind: "ReplicationController",
        all: &[
            "replicas",
            "fullyLabeledReplicas",
            "readyReplicas",
            "availableReplicas",
            "observedGeneration",
        ],
        parts: &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
        ready: "readyReplicas",
    },
    Counts {
        kind: "PodDisruptionBudget",
        all: &[
            "disruptionsAllowed",
            "currentHealthy",
            "desiredHealthy",
            "expectedPods",
        ],
        parts: &[],
        ready: "",
    },
    Counts {
        kind: "Deployment",
        all: &[
            "observedGeneration",
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            "terminatingReplicas",
            "collisionCount",
        ],
        parts: &["updatedReplicas", "readyReplicas", "availableReplicas"],
        ready: "readyReplicas",
    },
    Counts {
        kind: "ReplicaSet",
        all: &[
            "replicas",
            "fullyLabeledReplicas",
            "readyReplicas",
            "availableReplicas",
            "observedGeneration",
            "terminatingReplicas",
        ],
        parts: &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
        ready: "readyReplicas",
    },
    Counts {
        kind: "StatefulSet",
        all: &[
            "replicas",
            "readyReplicas",
            "currentReplicas",
            "updatedReplicas",
            "availableReplicas",
            "observedGeneration",
            "collisionCount",
        ],
        parts: &[
            "readyReplicas",
            "currentReplicas",
            "updatedReplicas",
            "availableReplicas",
        ],
        ready: "status.readyReplicas",
    },
    Counts {
        kind: "DaemonSet",
        all: &[
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
            "collisionCount",
        ],
        parts: &[],
        ready: "",
    },
    Counts {
        kind: "HorizontalPodAutoscaler",
        all: &["currentReplicas", "desiredReplicas"],
        parts: &[],
        ready: "",
    },
];

/// Validates a status, as a real server does in code: the counters of workloads and autoscalers, and the addresses of
/// Ingresses.
pub(crate) fn validate_status(
    kind: &ServedKind,
    object: &Value,
    old: Option<&Value>,
) -> Vec<FieldError> {
    let mut found = Vec::new();
    if kind.group == "networking.k8s.io" && kind.kind == "Ingress" {
        ingress_status(object, &mut found);
    }
    let status = Part::new(object, "").get("status");
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Node") => node_status(object, &mut found),
        ("", "PersistentVolumeClaim") => claim_status(object, &mut found),
        ("", "Pod") => pod_addresses(&status, &mut found),
        ("", "Service") => {
            let ingress = status.get("loadBalancer").get("ingress");
            let kind = object.pointer("/spec/type").and_then(Value::as_str);
            if ingress.is_set() && kind != Some("LoadBalancer") {
                let detail = "may only be used when `spec.type` is 'LoadBalancer'";
                ingress.forbidden(detail, &mut found);
            }
        }
        ("batch", "Job") => {
            let old = old.unwrap_or(&Value::Null);
            job_status(&Part::new(object, ""), &Part::new(old, ""), &mut found);
        }
        ("certificates.k8s.io", "PodCertificateRequest") => {
            let old = Part::new(old.unwrap_or(&Value::Null), "").get("status");
            pod_certificate_request_status(&status, &old, &mut found);
        }
        ("storagemigration.k8s.io", _) => {
            let old = Part::new(old.unwrap_or(&Value::Null), "").get("status");
            migration_status(&status, &old, &mut found);
        }
        ("resource.k8s.io", "DeviceTaintRule") => {
            const MOST: usize = 8;
            conditions(&status, &mut found);
            let all = status.get("conditions");
            let number = status.list("conditions").len();
            if number > MOST {
                found.push(FieldError::too_many(&all.path, number, MOST as u64));
            }
        }
        _ => {}
    }
    let counts = COUNTS.iter().find(|counts| counts.kind == kind.kind);
    let groups = ["", "apps", "autoscaling", "policy"];
    let counted = groups.contains(&kind.group.as_str());
    let Some(counts) = counts.filter(|_| counted) else {
        return found;
    };
    for field in counts.all {
        not_negative(object, &format!("/status/{field}"), &mut found);
    }
    let number = |field: &str| {
        let number = object.pointer(&format!("/status/{field}"));
        number.and_then(Value::as_i64).unwrap_or(0)
    };
    let mut at_most = |field: &str, limit: i64, detail: &str| {
        if number(field) > limit {
            let path = format!("status.{field}");
            found.push(FieldError::invalid(path, number(field), detail));
        }
    };
    for field in counts.parts {
        let detail = "cannot be greater than status.replicas";
        at_most(field, number("replicas"), detail);
    }
    if !counts.parts.is_empty() {
        let detail = format!("cannot be greater than {}", counts.ready);
        at_most("availableReplicas", number("readyReplicas"), &detail);
    }
    found
}

/// The addresses of a Pod and of its node.
fn pod_addresses(status: &Part, found: &mut Vec<FieldError>) {
    // The first address of a Pod has two names.
    if status.list("podIPs").is_empty() && !status.text_of("podIP").is_empty() {
        address(
            status.text_of("podIP"),
            &format!("{}.podIPs[0]", status.path),
            found,
        );
    }
    for list in ["podIPs", "hostIPs"] {
        let mut known = std::collections::BTreeSet::new();
        for entry in status.items(list) {
            let ip = entry.text_of("ip");
            address(ip, &entry.path, found);
            if !known.insert(ip) {
                found.push(FieldError::duplicate(&entry.path, ip.into()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counters_of_a_status_must_be_consistent() {
        let kinds = crate::builtin::kinds();
        let errors = |kind: &str, status: Value| -> Vec<String> {
            let kind = kinds.iter().find(|known| known.kind == kind).unwrap();
            let errors = validate_status(kind, &json!({"status": status}), None);
            errors.iter().map(ToString::to_string).collect()
        };
        assert!(errors("Deployment", json!({"replicas": 3, "readyReplicas": 3})).is_empty());
        assert_eq!(
            errors("Deployment", json!({"replicas": 1, "readyReplicas": 5})),
            ["status.readyReplicas: Invalid value: 5: cannot be greater than status.replicas"]
        );
        assert_eq!(
            errors(
                "StatefulSet",
                json!({"replicas": 2, "availableReplicas": 1})
            ),
            [
                "status.availableReplicas: Invalid value: 1: cannot be greater than status.readyReplicas"
            ]
        );
        assert_eq!(
            errors("DaemonSet", json!({"numberReady": -1})),
            ["status.numberReady: Invalid value: -1: must be greater than or equal to 0"]
        );
        assert!(errors("ConfigMap", json!({"replicas": -1})).is_empty());
    }
}
