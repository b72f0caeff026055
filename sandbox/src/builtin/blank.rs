use serde_json::{Map, Value, json};

/// A kind's object before anything was set: where a real server's types hold a structure by value, it is there and empty.
///
/// What a create sets is compared with it; so nobody is told to own such a structure itself, only what is in it.
pub(crate) fn blank_object(kind: &str) -> Value {
    let template = || json!({"metadata": {}, "spec": {"containers": null}});
    match kind {
        "Pod" => json!({"spec": {"containers": null}, "status": {}}),
        "PodTemplate" => json!({"template": template()}),
        "Deployment" => {
            json!({"spec": {"selector": null, "template": template(), "strategy": {}}, "status": {}})
        }
        "ReplicationController" => json!({"spec": {}, "status": {"replicas": null}}),
        "PodDisruptionBudget" => json!({
            "spec": {},
            "status": {
                "currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0,
            },
        }),
        "ReplicaSet" => {
            json!({"spec": {"selector": null, "template": template()}, "status": {}})
        }
        "StatefulSet" | "DaemonSet" => {
            json!({"spec": {"selector": null, "template": template(), "updateStrategy": {}}, "status": {}})
        }
        "Job" => json!({"spec": {"template": template()}, "status": {}}),
        "CronJob" => json!({
            "spec": {"jobTemplate": {"metadata": {}, "spec": {"template": template()}}},
            "status": {},
        }),
        "Service" => json!({"spec": {}, "status": {"loadBalancer": {}}}),
        "PersistentVolumeClaim" => json!({"spec": {"resources": {}}, "status": {}}),
        "Node" => {
            json!({"spec": {}, "status": {"daemonEndpoints": {"kubeletEndpoint": {}}, "nodeInfo": {}}})
        }
        "Namespace" => json!({"spec": {}, "status": {}}),
        "Lease" => json!({"spec": {}}),
        "Event" => {
            json!({"involvedObject": {}, "source": {}, "regarding": {}, "deprecatedSource": {}})
        }
        "RoleBinding" | "ClusterRoleBinding" => json!({"roleRef": {}}),
        "CustomResourceDefinition" => json!({
            "spec": {"names": {}, "versions": null},
            "status": {"acceptedNames": {}, "conditions": null, "storedVersions": null},
        }),
        _ => Value::Object(Map::new()),
    }
}
