//! The addresses and ports that a server gives to Services.

use serde_json::{Value, json};

use crate::run::{Answer, Ask, Run};

pub(crate) async fn of_allocation(run: &mut Run) {
    let path = run.path("v1/services");
    let one = json!([{"port": 80}]);
    let given = |port: u16| json!([{"port": 80, "nodePort": port}]);
    for (name, spec) in [
        ("plain", json!({"ports": one})),
        (
            "external-addresses",
            json!({"externalIPs": ["1.2.3.4"], "ports": one}),
        ),
        ("headless", json!({"clusterIP": "None", "ports": one})),
        (
            "headless-selected",
            json!({"clusterIP": "None", "selector": {"a": "b"}, "ports": one}),
        ),
        (
            "headless-single",
            json!({"clusterIP": "None", "ipFamilyPolicy": "SingleStack", "ports": one}),
        ),
        (
            "headless-port",
            json!({"type": "NodePort", "clusterIP": "None", "ports": one}),
        ),
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
        ("no-address", json!({"clusterIP": "x", "ports": one})),
        (
            "no-address-and-no-port",
            json!({"clusterIP": "10.96.07.1", "ports": [{"port": 0}]}),
        ),
        (
            "other-family",
            json!({"clusterIP": "fd00::7", "ports": one}),
        ),
        (
            "asked-family",
            json!({"ipFamilies": ["IPv6"], "ports": one}),
        ),
        (
            "two-families",
            json!({"ipFamilyPolicy": "PreferDualStack", "ports": one}),
        ),
        (
            "needs-two-families",
            json!({"ipFamilyPolicy": "RequireDualStack", "ports": one}),
        ),
        (
            "unknown-family",
            json!({"ipFamilies": ["IPv5", "IPv5"], "ipFamilyPolicy": "Any", "ports": one}),
        ),
        (
            "addresses-only",
            json!({"clusterIPs": ["10.96.7.9"], "ports": one}),
        ),
        (
            "other-addresses",
            json!({"clusterIP": "10.96.7.8", "clusterIPs": ["10.96.7.9", "10.96.7.10"], "ports": one}),
        ),
        (
            "three-addresses",
            json!({"clusterIP": "10.96.7.8", "clusterIPs": ["10.96.7.8", "None", "10.96.7.9"], "ports": one}),
        ),
        (
            "external-with-address",
            json!({"type": "ExternalName", "externalName": "example.com", "clusterIP": "10.96.7.8", "ipFamilies": ["IPv4"]}),
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
        (
            "health",
            json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 30_010, "ports": one}),
        ),
        (
            "same-health",
            json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 30_010, "ports": one}),
        ),
        (
            "far-health",
            json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 80, "ports": one}),
        ),
        (
            "unused-health",
            json!({"type": "LoadBalancer", "healthCheckNodePort": 30_011, "ports": one}),
        ),
        (
            "unused-policy",
            json!({"externalTrafficPolicy": "Local", "ports": one}),
        ),
        (
            "unused-class",
            json!({"allocateLoadBalancerNodePorts": true, "loadBalancerClass": "example.com/a", "ports": one}),
        ),
    ] {
        let service = json!({"metadata": {"name": name}, "spec": spec});
        step_of(run, name, Ask::post(&path, service)).await;
    }
    of_changes(run, &path).await;
}

/// The objects of the addresses.
pub(crate) async fn of_addresses(run: &mut Run) {
    let own = "/api/v1/namespaces/default/services/kubernetes";
    let deleted = run.send_unrecorded(Ask::delete(own)).await;
    run.record("own service: deleted", deleted.code.into());
    let back = run.until(Ask::get(own), |answer| answer.code == 200).await;
    let shown = json!({"type": back.body["spec"]["type"], "ip": back.body["spec"]["clusterIP"], "labels": back.body["metadata"]["labels"]});
    run.record("own service: back", shown);
    const ADDRESSES: &str = "/apis/networking.k8s.io/v1/ipaddresses";
    let range = Ask::get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes");
    let answer = run.until(range, |answer| {
        !answer.body["status"]["conditions"].is_null()
    });
    let range = answer.await.body;
    let ready = &range["status"]["conditions"][0];
    // The range itself is a setting of a cluster.
    let families = range["spec"]["cidrs"].as_array().map(Vec::len);
    let seen = json!([families, ready["type"], ready["status"], ready["message"]]);
    run.record("range", seen);
    let path = run.path("v1/services");
    let service = |name: &str, address: &str| json!({"metadata": {"name": name}, "spec": {"clusterIP": address, "ports": [{"port": 80}]}});
    let first = Ask::get(format!("{ADDRESSES}/10.96.7.17"));
    let ask = Ask::post(&path, service("one", "10.96.7.17"));
    step_of(run, "a Service", ask).await;
    run.until(first.clone(), |answer| answer.code == 200).await;
    run.step("a Service: its address", first.clone()).await;
    let name = Ask::merge(
        format!("{path}/one"),
        json!({"spec": {"type": "ExternalName", "externalName": "example.com"}}),
    );
    step_of(run, "no address any more", name).await;
    run.until(first.clone(), |answer| answer.code == 404).await;
    let address =
        json!({"spec": {"type": "ClusterIP", "externalName": null, "clusterIP": "10.96.7.17"}});
    let ask = Ask::merge(format!("{path}/one"), address);
    step_of(run, "an address again", ask).await;
    run.until(first.clone(), |answer| answer.code == 200).await;
    run.send_unrecorded(Ask::delete(format!("{path}/one")))
        .await;
    run.until(first, |answer| answer.code == 404).await;
    let taken = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "IPAddress", "metadata": {"name": "10.96.7.18"},
        "spec": {"parentRef": {"group": "example.com", "resource": "routers", "name": "a"}},
    });
    let made = run.send_unrecorded(Ask::post(ADDRESSES, taken)).await;
    assert_eq!(made.code, 201, "{made:?}");
    let ask = Ask::post(&path, service("two", "10.96.7.18"));
    step_of(run, "an address of somebody else", ask).await;
    run.send_unrecorded(Ask::delete(format!("{ADDRESSES}/10.96.7.18")))
        .await;
}

async fn of_changes(run: &mut Run, path: &str) {
    let given = |port: u16| json!([{"port": 80, "nodePort": port}]);
    for (step, name, spec) in [
        (
            "change: to node ports",
            "plain",
            json!({"type": "NodePort"}),
        ),
        (
            "change: to a port of another",
            "plain",
            json!({"ports": given(30_007)}),
        ),
        (
            "change: another number",
            "plain",
            json!({"ports": [{"port": 81}]}),
        ),
        ("change: back", "plain", json!({"type": "ClusterIP"})),
        (
            "change: to a name",
            "local",
            json!({"type": "ExternalName", "externalName": "example.com"}),
        ),
        (
            "change: from a name",
            "local",
            json!({"type": "ClusterIP", "externalName": null}),
        ),
        (
            "change: of the address",
            "address",
            json!({"clusterIP": "10.96.7.8"}),
        ),
        (
            "change: of all addresses",
            "address",
            json!({"clusterIP": "10.96.7.8", "clusterIPs": ["10.96.7.8"]}),
        ),
        (
            "change: without the address",
            "address",
            json!({"clusterIP": null}),
        ),
        (
            "change: without addresses",
            "address",
            json!({"clusterIP": null, "clusterIPs": null}),
        ),
        (
            "change: to headless",
            "address",
            json!({"clusterIP": "None", "clusterIPs": ["None"]}),
        ),
        (
            "change: of the family",
            "address",
            json!({"ipFamilies": ["IPv6"]}),
        ),
        (
            "change: of the port of health checks",
            "health",
            json!({"healthCheckNodePort": 30_012}),
        ),
        (
            "change: without health checks",
            "health",
            json!({"externalTrafficPolicy": "Cluster"}),
        ),
        (
            "change: with health checks",
            "health",
            json!({"externalTrafficPolicy": "Local"}),
        ),
        (
            "change: external addresses",
            "plain",
            json!({"externalIPs": ["1.2.3.4"]}),
        ),
        (
            "change: without a selector",
            "headless-selected",
            json!({"selector": null}),
        ),
        (
            "change: with a selector",
            "headless",
            json!({"selector": {"a": "b"}}),
        ),
        (
            "change: one family",
            "headless-single",
            json!({"ipFamilyPolicy": "PreferDualStack"}),
        ),
        (
            "change: a selector beside both families",
            "headless-single",
            json!({"selector": {"a": "b"}}),
        ),
    ] {
        let ask = Ask::merge(format!("{path}/{name}"), json!({"spec": spec}));
        step_of(run, step, ask).await;
    }
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "ports"},
        "spec": {"type": "NodePort", "ports": [{"name": "c", "port": 80}, {"name": "new", "port": 81}]},
    });
    let ask = Ask::put(format!("{path}/ports"), service);
    step_of(run, "replace", ask).await;
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

/// Ranges of addresses beside the first one.
pub(crate) async fn of_more_ranges(run: &mut Run) {
    const RANGES: &str = "/apis/networking.k8s.io/v1/servicecidrs";
    let services = run.path("v1/services");
    let service = |name: &str, address: &str| {
        let body = json!({"metadata": {"name": name}, "spec": {"clusterIP": address, "ports": [{"port": 80}]}});
        Ask::post(&services, body)
    };
    let shown = |answer: &Answer| {
        let mut conditions = answer.body["status"]["conditions"].clone();
        for one in conditions.as_array_mut().into_iter().flatten() {
            one["lastTransitionTime"].take();
        }
        json!({"finalizers": answer.body["metadata"]["finalizers"], "conditions": conditions, "spec": answer.body["spec"]})
    };
    run.step("no range", service("early", "10.200.0.5")).await;
    let range =
        json!({"metadata": {"name": "conformance-more"}, "spec": {"cidrs": ["10.200.0.0/28"]}});
    run.send_unrecorded(Ask::post(RANGES, range)).await;
    let one = format!("{RANGES}/conformance-more");
    let is = |status: &'static str| {
        move |answer: &Answer| {
            let conditions = answer.body["status"]["conditions"].as_array();
            conditions
                .into_iter()
                .flatten()
                .any(|one| one["status"] == status)
        }
    };
    let ready = run.until(Ask::get(&one), is("True")).await;
    run.record("ready", shown(&ready));
    // The server takes a moment to use the range.
    let created = run
        .until(service("more", "10.200.0.5"), |answer| answer.code == 201)
        .await;
    run.record("an address of it", created.body["spec"].clone());
    run.step("the same address", service("again", "10.200.0.5"))
        .await;
    run.step("its first address", service("first", "10.200.0.0"))
        .await;
    run.step("its last address", service("last", "10.200.0.15"))
        .await;
    let address = "/apis/networking.k8s.io/v1/ipaddresses/10.200.0.5";
    let address = run
        .until(Ask::get(address), |answer| answer.code == 200)
        .await;
    run.record(
        "its object",
        json!([address.body["spec"], address.body["metadata"]["labels"]]),
    );
    run.send_unrecorded(Ask::delete(&one)).await;
    let held = run.until(Ask::get(&one), is("False")).await;
    run.record("held", shown(&held));
    run.step("another address", service("late", "10.200.0.6"))
        .await;
    run.send_unrecorded(Ask::delete(format!("{services}/more")))
        .await;
    let gone = run.until(Ask::get(&one), |answer| answer.code == 404).await;
    run.record("gone", gone.code.into());
}
