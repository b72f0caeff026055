//! Conversions between the versions of a kind, which an API server asks for over HTTPS.

use std::{process::Command, time::Duration};

use pilothouse::{
    client::{Api, Client, Config, ListParams, Patch, PatchParams, PostParams},
    crd::CustomResourceDefinition,
    election::ElectionSettings,
    k8s::api::core::v1::Namespace,
    operator::{Running, WebhookServing},
    prelude::*,
    resource::{DynamicObject, Scheme},
};
use pilothouse_sandbox::Sandbox;
use pilothouse_tests::{
    gauges::{Gauge, GaugeSpec, Seen, first_release, second_release, v1},
    real::RealServer,
};
use serde_json::{Value, json};

const NAMESPACE: &str = "gauges";
const PATIENCE: Duration = Duration::from_secs(60);

/// A replica of the second release.
struct Replica {
    running: Running,
    seen: Seen,
}

impl Replica {
    /// The second release, at a port of its own.
    fn operator(seen: &Seen) -> Operator {
        let serving = WebhookServing::new()
            .address("127.0.0.1:0".parse().unwrap())
            .url("https://127.0.0.1:0");
        second_release(seen)
            .election(ElectionSettings::new("gauges").namespace(NAMESPACE))
            .webhook_serving(serving)
    }

    /// Starts it, and waits until its caches have synced.
    async fn start(client: &Client) -> Self {
        let seen = Seen::default();
        let starting = async {
            let running = Self::operator(&seen).start(client.clone()).await.unwrap();
            running.synced().await;
            running
        };
        let running = tokio::time::timeout(PATIENCE, starting).await;
        let running = running.expect("the caches wait for conversions");
        Self { running, seen }
    }

    /// Waits until the controller has seen this value.
    async fn sees(&self, name: &str, value: i32) {
        let seen = async {
            while self.seen.lock().get(name) != Some(&value) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, seen).await.unwrap();
    }

    /// How many reviews it has answered.
    fn conversions(&self) -> f64 {
        let labels = [("webhook", "/convert"), ("code", "200")];
        let metrics = self.running.metrics();
        let value = metrics.value("controller_runtime_webhook_requests_total", &labels);
        value.unwrap_or_default()
    }
}

fn old(name: &str, text: &str) -> v1::Gauge {
    v1::Gauge {
        metadata: ObjectMeta {
            name: Some(name.into()),
            ..ObjectMeta::default()
        },
        spec: v1::GaugeSpec { text: text.into() },
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_api_server_calls_the_conversions() {
    let Some(server) = RealServer::from_environment(&[]) else {
        return;
    };
    let kubeconfig = std::fs::read_to_string(server.kubeconfig()).unwrap();
    objects_that_are_stored_in_an_older_version_stay_readable(&kubeconfig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_install_waits_for_nothing_on_a_real_api_server() {
    let Some(server) = RealServer::from_environment(&[]) else {
        return;
    };
    let kubeconfig = std::fs::read_to_string(server.kubeconfig()).unwrap();
    a_first_install_waits_for_nothing(&kubeconfig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_install_waits_for_nothing_on_the_sandbox() {
    let sandbox = Sandbox::builder().build().unwrap();
    let server = sandbox.serve_https(([127, 0, 0, 1], 0).into());
    let server = server.await.unwrap();
    let kubeconfig = sandbox.kubeconfig(&server);
    a_first_install_waits_for_nothing(&kubeconfig).await;
}

/// The definition leads to a webhook before any replica has run.
async fn a_first_install_waits_for_nothing(kubeconfig: &str) {
    let client = Client::new(Config::from_yaml(kubeconfig).await.unwrap()).unwrap();
    let post = PostParams::default();
    let namespaces = Api::<Namespace>::all(&client);
    let namespace = Namespace::named(NAMESPACE);
    namespaces.create(&post, &namespace).await.unwrap();
    let first = Replica::operator(&Seen::default());
    first.install(&client).await.unwrap();

    // Until a replica runs, an object in the older version is refused, and one in the stored version is not.
    let older = Api::<v1::Gauge>::namespaced(&client, NAMESPACE);
    let refused = older.create(&post, &old("early", "1 kPa")).await;
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("conversion webhook"), "{text}");
    let newer = Api::<Gauge>::namespaced(&client, NAMESPACE);
    let early = Gauge {
        metadata: old("early", "").metadata,
        spec: GaugeSpec {
            value: 1,
            unit: "kPa".into(),
            alarm: None,
        },
    };
    newer.create(&post, &early).await.unwrap();

    let replica = Replica::start(&client).await;
    replica.sees("early", 1).await;
    older.create(&post, &old("late", "2 kPa")).await.unwrap();
    replica.sees("late", 2).await;
    replica.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sandbox_calls_the_conversions() {
    let sandbox = Sandbox::builder().build().unwrap();
    let server = sandbox.serve_https(([127, 0, 0, 1], 0).into());
    let server = server.await.unwrap();
    let kubeconfig = sandbox.kubeconfig(&server);
    objects_that_are_stored_in_an_older_version_stay_readable(&kubeconfig).await;
}

async fn objects_that_are_stored_in_an_older_version_stay_readable(kubeconfig: &str) {
    let client = Client::new(Config::from_yaml(kubeconfig).await.unwrap()).unwrap();
    let (post, patch) = (PostParams::default(), PatchParams::default());
    let namespaces = Api::<Namespace>::all(&client);
    let namespace = Namespace::named(NAMESPACE);
    namespaces.create(&post, &namespace).await.unwrap();
    first_release().install(&client).await.unwrap();
    let older = Api::<v1::Gauge>::namespaced(&client, NAMESPACE);
    for number in 0..20 {
        let (name, text) = (format!("a-{number}"), format!("{number} kPa"));
        older.create(&post, &old(&name, &text)).await.unwrap();
    }

    // The second release takes over. Its caches need conversions of objects that are stored in the older version.
    let second = Replica::operator(&Seen::default());
    second.install(&client).await.unwrap();
    let replica = Replica::start(&client).await;
    replica.sees("a-7", 7).await;
    assert!(replica.conversions() >= 1.0);
    let definitions = Api::<CustomResourceDefinition>::all(&client);
    let name = "gauges.conversions.example.com";
    let definition = definitions.get(name).await.unwrap();
    let webhook = definition.spec.conversion.unwrap().webhook.unwrap();
    let called = webhook.client_config.unwrap();
    let address = replica.running.webhook_address().unwrap();
    assert_eq!(called.url, Some(format!("https://{address}/convert")));
    assert!(called.ca_bundle.is_some());

    // Clients of both versions see one object, and lose nothing.
    let newer = Api::<Gauge>::namespaced(&client, NAMESPACE);
    let listed = newer.list(&ListParams::default()).await.unwrap();
    assert_eq!(listed.items.len(), 20);
    let alarm = Patch::Merge(json!({"spec": {"alarm": 90}}));
    newer.patch("a-1", &patch, &alarm).await.unwrap();
    let mut read = older.get("a-1").await.unwrap();
    read.spec.text = "11 kPa".into();
    older.replace("a-1", &post, &read).await.unwrap();
    let kept = newer.get("a-1").await.unwrap();
    assert_eq!((kept.spec.value, kept.spec.alarm), (11, Some(90)));
    replica.sees("a-1", 11).await;

    // What cannot be converted is refused, with its name and the reason.
    let refused = older.create(&post, &old("wrong", "10")).await.unwrap_err();
    let text = refused.to_string();
    assert!(
        text.contains("convert Gauge gauges/wrong from conversions.example.com/v1")
            && text.contains("spec.text: no unit"),
        "{text}"
    );

    // All replicas are down, and a new one starts at another address.
    replica.running.stop().await;
    assert!(newer.get("a-2").await.is_err());
    let replica = Replica::start(&client).await;
    replica.sees("a-2", 2).await;

    // Another replica starts before this one ends. It converts, although it does not lead.
    let other = Replica::start(&client).await;
    let before = other.conversions();
    assert_eq!(newer.get("a-3").await.unwrap().spec.value, 3);
    assert!(other.conversions() > before);
    assert!(other.seen.lock().is_empty());
    replica.running.stop().await;
    other.sees("a-3", 3).await;
    other.running.stop().await;
}

/// The objects that a command of the operator prints.
fn printed(line: &str) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_gauges"))
        .args(line.split_whitespace())
        .env("HOME", "/nonexistent")
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{line}: {error}");
    let text = String::from_utf8(output.stdout).unwrap();
    let objects = Scheme::new().with_other_kinds().decode(&text);
    let objects = objects.into_iter();
    objects
        .map(|one| serde_json::to_value(one.unwrap().downcast::<DynamicObject>().unwrap()).unwrap())
        .collect()
}

#[test]
fn manifests_let_the_api_server_convert_at_replicas_that_are_ready() {
    let all = printed("manifests --image example.com/gauges:1 --operator-namespace ops");
    let of_kind = |kind: &'static str| all.iter().filter(move |one| one["kind"] == kind);
    let definition = of_kind("CustomResourceDefinition").next().unwrap();
    let service =
        json!({"namespace": "ops", "name": "gauges-webhook", "path": "/convert", "port": 443});
    let conversion = json!({
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]},
    });
    assert_eq!(definition["spec"]["conversion"], conversion);
    let services: Vec<_> = of_kind("Service")
        .map(|one| {
            let publishes = &one["spec"]["publishNotReadyAddresses"];
            (one["metadata"]["name"].as_str().unwrap(), publishes == true)
        })
        .filter(|(name, _)| *name != "gauges" && *name != "gauges-metrics")
        .collect();
    assert_eq!(services, [("gauges-webhook", false)]);
    let rules = of_kind("ClusterRole").flat_map(|one| one["rules"].as_array().unwrap());
    let expected = json!({
        "apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"],
        "resourceNames": ["gauges.conversions.example.com"], "verbs": ["get", "patch"],
    });
    let found: Vec<_> = rules.collect();
    assert!(found.contains(&&expected), "{found:?}");

    // Without the namespace of the pods, the definition names the default one.
    let definition = &printed("crd")[0];
    let client = &definition["spec"]["conversion"]["webhook"]["clientConfig"];
    assert_eq!(client["service"]["namespace"], "gauges-system");
}

#[cfg(unix)]
#[tokio::test]
async fn the_api_server_of_dev_converts_without_a_port() {
    let home = tempfile::tempdir().unwrap();
    let arguments = ["dev", "--metrics-address", "127.0.0.1:0"];
    let program = env!("CARGO_BIN_EXE_gauges");
    let mut dev = super::replica::Replica::start(program, &arguments, home.path());
    dev.line("Ctrl-C stops it").await;
    let line = dev.line("kubeconfig  ").await;
    let path = line.split_whitespace().nth(1).unwrap();
    let kubeconfig = std::fs::read_to_string(path).unwrap();
    let client = Client::new(Config::from_yaml(&kubeconfig).await.unwrap()).unwrap();
    let older = Api::<v1::Gauge>::namespaced(&client, "default");
    let post = PostParams::default();
    older.create(&post, &old("a", "3 kPa")).await.unwrap();
    let newer = Api::<Gauge>::namespaced(&client, "default");
    let alarm = Patch::Merge(json!({"spec": {"alarm": 9}}));
    let patch = PatchParams::default();
    newer.patch("a", &patch, &alarm).await.unwrap();
    let text = Patch::Merge(json!({"spec": {"text": "4 kPa"}}));
    older.patch("a", &patch, &text).await.unwrap();
    let kept = newer.get("a").await.unwrap().spec;
    assert_eq!((kept.value, kept.alarm), (4, Some(9)));
    dev.signal("INT");
    assert!(dev.end().await.success());
}
