use serde_json::{Value, json};

use super::{endpoints, slices};
use crate::controllers::simulator::object::{pods, services};
use crate::controllers::simulator::world::World;

fn service(spec: &Value) -> Value {
    let mut service = json!({
        "metadata": {"name": "web", "namespace": "default", "labels": {"team": "a"}},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": "http"}]},
    });
    for (field, value) in spec.as_object().unwrap() {
        service["spec"][field] = value.clone();
    }
    service
}

fn pod(name: &str, port: u16) -> Value {
    let ports = json!([{"name": "http", "containerPort": port}]);
    json!({
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "i", "ports": ports}]},
    })
}

/// The ports of each slice, with the names and the readiness of its Pods.
fn shown(world: &World) -> Vec<(Value, Vec<(String, bool)>)> {
    let mut all: Vec<_> = world
        .handle
        .list(&slices(), None)
        .iter()
        .map(|slice| {
            let endpoints = slice["endpoints"].as_array().into_iter().flatten();
            let of = |endpoint: &Value| {
                let name = endpoint["targetRef"]["name"].as_str().unwrap().to_owned();
                (name, endpoint["conditions"]["ready"] == true)
            };
            (
                slice["ports"][0]["port"].clone(),
                endpoints.map(of).collect(),
            )
        })
        .collect();
    all.sort_by_key(|(port, _)| port.as_i64());
    all
}

fn ready(name: &str) -> (String, bool) {
    (name.to_owned(), true)
}

#[tokio::test(start_paused = true)]
async fn pods_are_endpoints_from_their_start_to_their_end() {
    let world = World::new();
    world.create(&services(), service(&json!({})));
    world.pass(1).await;
    assert_eq!(shown(&world), [(Value::Null, vec![])]);
    world.create(&pods(), pod("one", 8080));
    world.pass(2).await;
    assert_eq!(shown(&world), [(json!(8080), vec![ready("one")])]);
    let address = world.get(&pods(), "one")["status"]["podIP"].clone();
    let found = world.get(&endpoints(), "web");
    assert_eq!(found["subsets"][0]["addresses"][0]["ip"], address);
    assert_eq!(
        found["subsets"][0]["ports"],
        json!([{"port": 8080, "protocol": "TCP"}])
    );
    assert_eq!(found["metadata"]["labels"]["team"], "a");
    world.delete(&pods(), "one", None);
    world.pass(40).await;
    assert_eq!(shown(&world), [(Value::Null, vec![])]);
    assert!(world.get(&endpoints(), "web")["subsets"].is_null());
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_not_ready_gets_no_clients() {
    let world = World::new();
    world.sandbox.pods().all().never_ready();
    world.create(&services(), service(&json!({})));
    world.create(&pods(), pod("one", 8080));
    world.pass(2).await;
    assert_eq!(shown(&world), [(json!(8080), vec![("one".into(), false)])]);
    let subset = &world.get(&endpoints(), "web")["subsets"][0];
    assert!(subset["addresses"].is_null());
    assert_eq!(subset["notReadyAddresses"][0]["targetRef"]["name"], "one");
    world.change(&services(), "web", |web| {
        web["spec"]["publishNotReadyAddresses"] = json!(true);
    });
    world.pass(1).await;
    assert_eq!(shown(&world), [(json!(8080), vec![ready("one")])]);
}

#[tokio::test(start_paused = true)]
async fn pods_with_other_ports_have_a_slice_of_their_own() {
    let world = World::new();
    world.create(&services(), service(&json!({})));
    for (name, port) in [("one", 8080), ("two", 8080), ("three", 9090)] {
        world.create(&pods(), pod(name, port));
    }
    world.pass(2).await;
    let expected = [
        (json!(8080), vec![ready("one"), ready("two")]),
        (json!(9090), vec![ready("three")]),
    ];
    assert_eq!(shown(&world), expected);
    world.change(&pods(), "three", |pod| {
        pod["metadata"]["labels"] = json!({"app": "other"});
    });
    world.pass(1).await;
    assert_eq!(shown(&world), expected[..1]);
}

#[tokio::test(start_paused = true)]
async fn a_subset_has_the_ports_that_the_same_pods_have() {
    let world = World::new();
    let ports = json!([
        {"name": "http", "port": 80, "targetPort": "http"},
        {"name": "metrics", "port": 81, "targetPort": 9001},
        {"name": "health", "port": 82, "targetPort": 9002},
    ]);
    world.create(&services(), service(&json!({"ports": ports})));
    for (name, port) in [("one", 8080), ("two", 8080), ("three", 9090)] {
        world.create(&pods(), pod(name, port));
    }
    world.pass(2).await;
    let found = world.get(&endpoints(), "web");
    let subsets = found["subsets"].as_array().unwrap().iter();
    let mut shown: Vec<(Vec<&str>, Vec<i64>)> = subsets
        .map(|subset| {
            let addresses = subset["addresses"].as_array().unwrap().iter();
            let names = addresses.map(|one| one["targetRef"]["name"].as_str().unwrap());
            let ports = subset["ports"].as_array().unwrap().iter();
            let ports = ports.map(|port| port["port"].as_i64().unwrap());
            (names.collect(), ports.collect())
        })
        .collect();
    for (names, ports) in &mut shown {
        names.sort_unstable();
        ports.sort_unstable();
    }
    shown.sort();
    let expected = [
        (vec!["one", "three", "two"], vec![9001, 9002]),
        (vec!["one", "two"], vec![8080]),
        (vec!["three"], vec![9090]),
    ];
    assert_eq!(shown, expected);
}

#[tokio::test(start_paused = true)]
async fn a_service_takes_its_endpoints_with_it() {
    let world = World::new();
    world.create(&services(), service(&json!({})));
    world.pass(1).await;
    world.delete(&endpoints(), "web", None);
    world.pass(1).await;
    assert!(
        world.find(&endpoints(), "web").is_some(),
        "it is written again"
    );
    world.delete(&services(), "web", None);
    world.pass(1).await;
    assert!(world.find(&endpoints(), "web").is_none());
    assert!(world.handle.list(&slices(), None).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_service_without_a_selector_has_the_endpoints_that_others_write() {
    let world = World::new();
    world.create(&services(), service(&json!({"selector": null})));
    world.pass(1).await;
    assert!(world.find(&endpoints(), "web").is_none());
    assert!(world.handle.list(&slices(), None).is_empty());
}
