//! The subresource `proxy` of Pods and Services, as far as it does not reach a program: the addresses of the Pods lead nowhere.

use http::Method;
use serde_json::{Value, json};

use crate::run::{Ask, Run};

/// The methods that a Pod or a Service can be asked with.
const METHODS: [Method; 7] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
];

pub(crate) async fn of_pods_and_services(run: &mut Run) {
    prepare(run).await;
    let pods = run.path("v1/pods");
    let services = run.path("v1/services");
    let asked = [
        ("Pod without an address", format!("{pods}/new/proxy")),
        (
            "Pod without an address: below",
            format!("{pods}/new/proxy/a/b?c=d"),
        ),
        (
            "Pod without an address: port",
            format!("{pods}/new:80/proxy/"),
        ),
        ("Pod with a bad address", format!("{pods}/local/proxy/")),
        ("Pod that is none", format!("{pods}/none/proxy")),
        ("Pod that is none: port", format!("{pods}/none:80/proxy/a")),
        ("Pod with a bad name", format!("{pods}/http:new:80:a/proxy")),
        (
            "Pod with a bad name: scheme",
            format!("{pods}/ftp:new:80/proxy"),
        ),
        ("Pod with a bad name: no name", format!("{pods}/:80/proxy")),
        ("Pod, dry", format!("{pods}/new/proxy?dryRun=All")),
        ("Pod of the root", format!("{pods}/placed/proxy")),
        (
            "Pod of the root: a query",
            format!("{pods}/placed:80/proxy?a=b&c"),
        ),
        (
            "Service without endpoints",
            format!("{services}/empty/proxy"),
        ),
        (
            "Service without endpoints: port",
            format!("{services}/empty:80/proxy/"),
        ),
        (
            "Service without endpoints: named port",
            format!("{services}/empty:http/proxy/"),
        ),
        (
            "Service without endpoints: unknown port",
            format!("{services}/empty:81/proxy/"),
        ),
        ("Service without a slice", format!("{services}/bare/proxy/")),
        ("Service that is none", format!("{services}/none/proxy/")),
        (
            "Service that is none: port",
            format!("{services}/none:80/proxy/"),
        ),
        (
            "Service with a bad name",
            format!("{services}/http:empty:80:a/proxy"),
        ),
        (
            "Service with a bad name: scheme",
            format!("{services}/ws:empty:80/proxy"),
        ),
        (
            "Service of no Pods",
            format!("{services}/foreign:80/proxy/"),
        ),
        (
            "Service of no ready Pod",
            format!("{services}/unready:80/proxy/"),
        ),
        ("Service of the root", format!("{services}/web:80/proxy")),
        (
            "Service of the root: named port",
            format!("{services}/web:http/proxy?a=b"),
        ),
        (
            "Service of the root: unknown port",
            format!("{services}/web:none/proxy"),
        ),
        (
            "Service of the root: no port",
            format!("{services}/web/proxy"),
        ),
        (
            "Service of the root: number without a name",
            format!("{services}/single:80/proxy"),
        ),
        (
            "Service of the root: neither port nor name",
            format!("{services}/single/proxy"),
        ),
    ];
    for (step, path) in asked {
        run.step(step, Ask::get(path)).await;
    }
    for method in METHODS {
        for (name, path) in [
            ("Pod", format!("{pods}/new/proxy/a")),
            ("Service", format!("{services}/empty/proxy/a")),
        ] {
            let ask = Ask::new(method.clone(), path);
            run.step(format!("method: {method} {name}"), ask).await;
        }
    }
    for (step, ask) in [
        ("as nobody", Ask::get(format!("{pods}/new/proxy/"))),
        (
            "as nobody: post",
            Ask::post(format!("{pods}/new:80/proxy/"), json!({})),
        ),
        (
            "as nobody: Service",
            Ask::get(format!("{services}/empty/proxy/")),
        ),
    ] {
        run.step(step, ask.with_user("nobody")).await;
    }
    run.kubectl(
        "get --raw",
        "get --raw /api/v1/namespaces/{namespace}/services/empty:80/proxy/",
        "",
    )
    .await;
}

async fn create(run: &mut Run, kind: &str, object: Value) {
    let path = run.path(kind);
    let made = run.send_unrecorded(Ask::post(path, object)).await;
    assert!(matches!(made.code, 201 | 409), "{made:?}");
}

async fn prepare(run: &mut Run) {
    create(
        run,
        "v1/serviceaccounts",
        json!({"metadata": {"name": "default"}}),
    )
    .await;
    for (name, address) in [("new", ""), ("local", "127.0.0.1"), ("placed", "10.1.0.1")] {
        let spec = json!({"containers": [{"name": "one", "image": "one:1", "ports": [{"containerPort": 80}]}]});
        create(
            run,
            "v1/pods",
            json!({"metadata": {"name": name}, "spec": spec}),
        )
        .await;
        if !address.is_empty() {
            let path = run.path(&format!("v1/pods/{name}/status"));
            let status = json!({"status": {"podIP": address, "podIPs": [{"ip": address}]}});
            let made = run.send_unrecorded(Ask::merge(path, status)).await;
            assert_eq!(made.code, 200, "{made:?}");
        }
    }
    let port = json!([{"name": "http", "port": 80}]);
    for (name, ports) in [
        ("empty", &port),
        ("bare", &port),
        ("foreign", &port),
        ("unready", &port),
        ("web", &port),
        ("single", &json!([{"port": 80}])),
    ] {
        let service = json!({"metadata": {"name": name}, "spec": {"ports": ports}});
        create(run, "v1/services", service).await;
    }
    let target = json!({"kind": "Pod", "name": "placed", "namespace": run.namespace});
    let named = json!({"name": "http", "port": 8080});
    let at = |address: &str| json!([{"addresses": [address]}]);
    let of_pod = |address: &str| json!([{"addresses": [address], "targetRef": target}]);
    let unready =
        json!([{"addresses": ["10.1.0.1"], "targetRef": target, "conditions": {"ready": false}}]);
    for (name, endpoints, port) in [
        ("empty", json!([]), named.clone()),
        ("foreign", at("10.1.0.9"), named.clone()),
        ("web", of_pod("10.1.0.1"), named.clone()),
        (
            "single",
            of_pod("10.1.0.1"),
            json!({"name": "", "port": 8080}),
        ),
        ("unready", unready, named),
    ] {
        let slice = json!({
            "metadata": {"name": name, "labels": {"kubernetes.io/service-name": name}},
            "addressType": "IPv4", "endpoints": endpoints, "ports": [port],
        });
        create(run, "discovery.k8s.io/v1/endpointslices", slice).await;
    }
}
