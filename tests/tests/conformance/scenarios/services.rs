//! The addresses and ports that a server gives to Services.

use serde_json::{Value, json};

use crate::run::{Ask, Run};

pub(crate) async fn of_allocation(run: &mut Run) {
    let path = run.path("v1/services");
    let one = json!([{"port": 80}]);
    let given = |port: u16| json!([{"port": 80, "nodePort": port}]);
    for (name, spec) in [
        ("plain", json!({"ports": one})),
        (
            "external",
            json!({"type": "ExternalName", "externalName": "example.com"}),
        ),
        ("address", json!({"clusterIP": "10.96.7.7", "ports": one})),
        (
            "same-address",
            json!({"clusterIP": "10.96.7.7", "ports": one}),
        ),
        (
            "far-address",
            json!({"clusterIP": "192.0.2.7", "ports": one}),
        ),
        ("port", json!({"type": "NodePort", "ports": given(30_007)})),
        (
            "same-port",
            json!({"type": "NodePort", "ports": given(30_007)}),
        ),
        ("far-port", json!({"type": "NodePort", "ports": given(80)})),
        ("unused-port", json!({"ports": given(30_008)})),
        (
            "ports",
            json!({"type": "NodePort", "ports": [
                {"name": "a", "port": 80}, {"name": "b", "port": 80, "protocol": "UDP"}, {"name": "c", "port": 81}]}),
        ),
        (
            "twice",
            json!({"type": "NodePort", "ports": [
                {"name": "a", "port": 80, "nodePort": 30_009}, {"name": "b", "port": 81, "nodePort": 30_009}]}),
        ),
        ("balanced", json!({"type": "LoadBalancer", "ports": one})),
        (
            "without-ports",
            json!({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": one}),
        ),
        (
            "local",
            json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": one}),
        ),
    ] {
        let service = json!({"metadata": {"name": name}, "spec": spec});
        step_of(run, name, Ask::post(&path, service)).await;
    }
}

/// Sends a request, and records the specification of the Service in its answer, or why it was refused.
async fn step_of(run: &mut Run, step: &str, ask: Ask) {
    let answer = run.send_unrecorded(ask).await;
    let (mut spec, managers) = (
        answer.body["spec"].clone(),
        &answer.body["metadata"]["managedFields"],
    );
    mask(&mut spec);
    let owned: Vec<&Value> = managers
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| &one["fieldsV1"])
        .collect();
    let seen = json!([
        answer.code,
        answer.body["message"],
        answer.body["details"],
        spec,
        owned
    ]);
    run.record(step, seen);
}

/// The ports that a server gives only to who asks for them, while others are left (KEP-3668).
const ASKED: std::ops::Range<i64> = 30_000..30_086;

/// Masks what the server chooses.
fn mask(spec: &mut Value) {
    let chosen = |value: &Value| match value.as_str() {
        Some(address) => address.starts_with("10.") && address != "10.96.7.7",
        None => value.as_i64().is_some_and(|port| !ASKED.contains(&port)),
    };
    let mut values: Vec<&mut Value> = Vec::new();
    let Some(fields) = spec.as_object_mut() else {
        return;
    };
    for (name, value) in fields {
        match (name.as_str(), value) {
            ("clusterIP" | "healthCheckNodePort", value) => values.push(value),
            ("clusterIPs", Value::Array(addresses)) => values.extend(addresses),
            ("ports", Value::Array(ports)) => {
                values.extend(ports.iter_mut().filter_map(|port| port.get_mut("nodePort")));
            }
            _ => {}
        }
    }
    for value in values.into_iter().filter(|value| chosen(value)) {
        *value = "chosen".into();
    }
}
