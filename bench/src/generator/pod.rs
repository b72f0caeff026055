//! Pods as a Deployment's ReplicaSet creates them and a kubelet runs them.

use serde_json::{Map, Value, json};

use super::{
    FIRST_VERSION, Random,
    app::{App, Container},
    managed_fields,
    random::suffix,
};

const NODES: usize = 900;

pub(super) fn pod(app: &App, number: u64, random: &mut Random) -> Value {
    let (hash, owner) = &app.revisions[random.below(app.revisions.len())];
    let mut labels = map(&app.labels);
    labels.insert("pod-template-hash".into(), hash.clone().into());
    let mut annotations = map(&app.annotations);
    if random.once_in(40) {
        // Stands for large data that people paste into annotations.
        annotations.insert("notes.example.com/dump".into(), random.hex(2048).into());
    }
    let spec = spec(app, random);
    let status = status(app, random);
    let mut metadata = json!({
        "name": format!("{}-{hash}-{}", app.name, suffix(number)),
        "generateName": format!("{}-{hash}-", app.name),
        "namespace": app.namespace,
        "uid": random.uid(),
        "resourceVersion": (FIRST_VERSION + number).to_string(),
        "creationTimestamp": random.time(),
        "labels": labels,
        "ownerReferences": [{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("{}-{hash}", app.name),
            "uid": owner, "controller": true, "blockOwnerDeletion": true,
        }],
    });
    if !annotations.is_empty() {
        metadata["annotations"] = Value::Object(annotations);
    }
    // The creator of the Pod manages the fields of the template. Deeper fields with default values are not listed.
    let mut made = managed_fields::fields_of(&json!({
        "metadata": {
            "generateName": "", "labels": metadata["labels"], "annotations": metadata["annotations"],
            "ownerReferences": metadata["ownerReferences"],
        },
        "spec": shallow(&spec),
    }));
    if let Some(owners) = made.pointer_mut("/f:metadata/f:ownerReferences") {
        *owners = json!({".": {}, format!("k:{{\"uid\":\"{owner}\"}}"): {}});
    }
    // `PodScheduled`, the last, is the scheduler's.
    let conditions = status["conditions"]
        .as_array()
        .map_or(&[][..], |all| &all[..all.len().saturating_sub(1)]);
    let seen = managed_fields::fields_of(&json!({"status": {
        "conditions": conditions, "containerStatuses": "", "hostIP": "", "phase": "",
        "podIP": "", "podIPs": status["podIPs"], "startTime": "",
    }}));
    metadata["managedFields"] = json!([
        managed_fields::entry("kube-controller-manager", None, made, random),
        managed_fields::entry("kubelet", Some("status"), seen, random),
    ]);
    json!({"metadata": metadata, "spec": spec, "status": status})
}

fn map(pairs: &[(String, String)]) -> Map<String, Value> {
    pairs
        .iter()
        .map(|(key, value)| (key.clone(), value.clone().into()))
        .collect()
}

/// Returns the part of a spec whose managed fields are listed: the direct fields of each container, and its variables.
fn shallow(spec: &Value) -> Value {
    let mut spec = spec.clone();
    let containers = spec["containers"].as_array_mut().into_iter().flatten();
    for field in containers.flat_map(Value::as_object_mut).flatten() {
        match (field.0.as_str(), &field.1) {
            ("env", _) | ("ports", _) => {
                for item in field
                    .1
                    .as_array_mut()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_object_mut)
                {
                    item.retain(|name, _| name == "name" || name == "containerPort");
                }
            }
            (_, Value::Object(_) | Value::Array(_)) => *field.1 = json!({}),
            _ => {}
        }
    }
    for list in ["tolerations", "volumes"] {
        spec[list] = json!({});
    }
    for name in [
        "nodeName",
        "serviceAccount",
        "preemptionPolicy",
        "priority",
        "enableServiceLinks",
    ] {
        if let Some(spec) = spec.as_object_mut() {
            spec.remove(name);
        }
    }
    spec
}

fn spec(app: &App, random: &mut Random) -> Value {
    let access = format!("kube-api-access-{}", suffix(random.number()));
    let mut volumes = vec![
        json!({"name": access, "projected": {"defaultMode": 420, "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        ]}}),
    ];
    for name in &app.volumes {
        volumes.push(if name.starts_with("config") {
            json!({"name": name, "configMap": {"name": format!("{}-{name}", app.name), "defaultMode": 420}})
        } else {
            json!({"name": name, "emptyDir": {}})
        });
    }
    let mut tolerations = vec![
        json!({"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}),
        json!({"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}),
    ];
    for place in 0..app.tolerates {
        tolerations.push(json!({"key": format!("pool.example.com/kind-{place}"), "operator": "Equal", "value": app.namespace, "effect": "NoSchedule"}));
    }
    json!({
        "containers": app.containers.iter().map(|container| self::container(app, container, &access)).collect::<Vec<_>>(),
        "volumes": volumes,
        "tolerations": tolerations,
        "nodeName": format!("node-{:04}.cluster.example.com", random.below(NODES)),
        "serviceAccount": app.name,
        "serviceAccountName": app.name,
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": true,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    })
}

fn container(app: &App, container: &Container, access: &str) -> Value {
    let mut env: Vec<Value> = container
        .env
        .iter()
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    for name in &container.secrets {
        env.push(json!({"name": name, "valueFrom": {"secretKeyRef": {"name": app.name, "key": name.to_lowercase()}}}));
    }
    let mut mounts = vec![
        json!({"name": access, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true}),
    ];
    mounts.extend(
        app.volumes
            .iter()
            .map(|name| json!({"name": name, "mountPath": format!("/mnt/{name}")})),
    );
    let mut value = json!({
        "name": container.name,
        "image": container.image,
        "imagePullPolicy": "IfNotPresent",
        "ports": [{"containerPort": container.port, "name": "main", "protocol": "TCP"}],
        "env": env,
        "resources": {
            "requests": {"cpu": container.cpu, "memory": container.memory},
            "limits": {"memory": container.memory},
        },
        "volumeMounts": mounts,
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    });
    if !container.arguments.is_empty() {
        value["args"] = json!(container.arguments);
    }
    if container.probed {
        value["readinessProbe"] = json!({
            "httpGet": {"path": "/healthz", "port": container.port, "scheme": "HTTP"},
            "periodSeconds": 10, "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 3,
        });
    }
    value
}

fn status(app: &App, random: &mut Random) -> Value {
    let (started, ready) = (random.time(), random.time());
    let address = format!(
        "10.{}.{}.{}",
        random.below(256),
        random.below(256),
        1 + random.below(254)
    );
    let conditions: Vec<Value> = [ "Initialized", "Ready", "ContainersReady", "PodScheduled"]
        .into_iter()
        .map(|name| json!({"type": name, "status": "True", "lastProbeTime": null, "lastTransitionTime": if name.contains("Ready") { &ready } else { &started }}))
        .collect();
    let containers: Vec<Value> = app.containers.iter().map(|container| json!({
        "name": container.name,
        "image": container.image,
        "imageID": format!("{}@sha256:{}", container.image.split(':').next().unwrap_or_default(), container.digest),
        "containerID": format!("containerd://{}", random.hex(64)),
        "ready": true, "started": true, "restartCount": random.long_tailed(1, 90) - 1, "lastState": {},
        "state": {"running": {"startedAt": ready}},
    })).collect();
    json!({
        "phase": "Running",
        "conditions": conditions,
        "containerStatuses": containers,
        "hostIP": format!("172.16.{}.{}", random.below(4), random.below(256)),
        "podIP": address,
        "podIPs": [{"ip": address}],
        "qosClass": "Burstable",
        "startTime": started,
    })
}
