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

fn written(subsets: &Value) -> Value {
    json!({"metadata": {"name": "web", "namespace": "default"}, "subsets": subsets})
}

/// The family and the port of each slice, with its addresses.
fn mirrored(world: &World) -> Vec<(String, i64, Vec<String>)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut all: Vec<_> = world
        .handle
        .list(&slices(), None)
        .iter()
        .map(|slice| {
            let endpoints = slice["endpoints"].as_array().unwrap().iter();
            let addresses = endpoints.map(|one| text(&one["addresses"][0]));
            let port = slice["ports"][0]["port"].as_i64().unwrap();
            (text(&slice["addressType"]), port, addresses.collect())
        })
        .collect();
    all.sort();
    all
}

#[tokio::test(start_paused = true)]
async fn endpoints_of_a_service_without_a_selector_are_copied_into_slices() {
    let world = World::new();
    world.create(&services(), service(&json!({"selector": null})));
    world.pass(1).await;
    assert!(world.find(&endpoints(), "web").is_none());
    assert!(world.handle.list(&slices(), None).is_empty());
    let subsets = json!([
        {"addresses": [{"ip": "10.0.0.2"}, {"ip": "fd00::1"}], "ports": [{"port": 80}]},
        {"notReadyAddresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]},
    ]);
    world.create(&endpoints(), written(&subsets));
    world.pass(1).await;
    let of = |family: &str, port, addresses: &[&str]| {
        let addresses: Vec<String> = addresses.iter().map(|one| (*one).to_owned()).collect();
        (family.to_owned(), port, addresses)
    };
    let both = ["10.0.0.1", "10.0.0.2"];
    let expected = [of("IPv4", 80, &both), of("IPv6", 80, &["fd00::1"])];
    assert_eq!(mirrored(&world), expected);
    world.change(&endpoints(), "web", |web| {
        web["subsets"] = json!([{"addresses": [{"ip": "10.0.0.3"}], "ports": [{"port": 81}]}]);
    });
    world.pass(1).await;
    assert_eq!(mirrored(&world), [of("IPv4", 81, &["10.0.0.3"])]);
    world.change(&endpoints(), "web", |web| {
        web["metadata"]["labels"] = json!({"endpointslice.kubernetes.io/skip-mirror": "true"});
    });
    world.pass(1).await;
    assert!(mirrored(&world).is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_copies_of_endpoints_end_with_the_service() {
    let world = World::new();
    let subsets = json!([{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}]);
    world.create(&endpoints(), written(&subsets));
    world.pass(1).await;
    assert!(mirrored(&world).is_empty(), "no Service has them");
    world.create(&services(), service(&json!({"selector": null})));
    world.pass(1).await;
    assert_eq!(mirrored(&world).len(), 1);
    world.delete(&services(), "web", None);
    world.pass(1).await;
    assert!(mirrored(&world).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_slice_has_no_more_than_1000_copied_addresses() {
    let world = World::new();
    world.create(&services(), service(&json!({"selector": null})));
    let addresses = (0..1001).map(|n| json!({"ip": format!("10.0.{}.{}", n / 250, n % 250)}));
    let addresses: Vec<Value> = addresses.collect();
    let subsets = json!([{"addresses": addresses, "ports": [{"port": 80}]}]);
    world.create(&endpoints(), written(&subsets));
    world.pass(1).await;
    assert_eq!(mirrored(&world)[0].2.len(), 1000);
    let said = world.events("web");
    assert_eq!(said.len(), 1);
    assert!(said[0].contains("1 addresses were skipped"), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn endpoints_have_the_order_of_their_controller() {
    let world = World::new();
    let ports = json!([
        {"name": "a", "port": 80, "targetPort": 9001},
        {"name": "b", "port": 81, "targetPort": 9002},
        {"name": "c", "port": 82, "targetPort": 9003},
    ]);
    world.create(&services(), service(&json!({"ports": ports})));
    for name in ["one", "two", "three", "four", "five", "six"] {
        world.create(&pods(), pod(name, 8080));
    }
    world.pass(2).await;
    let subset = world.get(&endpoints(), "web")["subsets"][0].clone();
    let texts = |list: &str, field: &str| -> Vec<String> {
        let all = subset[list].as_array().unwrap().iter();
        let text = |one: &Value| one[field].as_str().unwrap().to_owned();
        all.map(text).collect()
    };
    let addresses = texts("addresses", "ip");
    assert!(
        addresses.len() == 6 && addresses.is_sorted(),
        "{addresses:?}"
    );
    // Computed with k8s.io/utils/dump and hash/fnv.
    assert_eq!(texts("ports", "name"), ["b", "c", "a"]);
}
