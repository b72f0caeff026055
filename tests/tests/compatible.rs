//! Each kind of change of a schema, as servers decide it: a value that one takes before the change is refused or changed after it.

#[path = "../../framework/tests/compatibility/rows.rs"]
mod rows;

use std::{env, fs, process::Command, time::Duration};

use futures_util::{StreamExt, stream};
use pilothouse::{
    client::{Api, Client, Config, KubeconfigOptions, PostParams},
    crd,
    resource::{ApiResource, DynamicObject},
    testing::Cluster,
};
use pilothouse_tests::real::RealServer;
use rows::rows;
use serde_json::{Value, json};

/// The variable with crdify, a program of SIG API Machinery that compares definitions: <https://github.com/kubernetes-sigs/crdify>.
const CRDIFY: &str = "PILOTHOUSE_CRDIFY";

fn definition(number: usize, value: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("row{number}s.rows.example.com")},
        "spec": {
            "group": "rows.example.com", "scope": "Namespaced",
            "names": {"kind": format!("Row{number}"), "plural": format!("row{number}s")},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"value": value}}},
            }],
        },
    })
}

async fn install(client: &Client, definition: Value) {
    let definition = serde_json::from_value(definition).unwrap();
    let installed = crd::install(client, &[definition], "rows").await;
    installed.unwrap();
}

/// Creates an object. Returns its value on the server, or `None` if the server refuses it.
async fn stored(api: &Api<DynamicObject>, name: &str, value: &Value) -> Option<Value> {
    let kind = api.resource();
    let object = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": {"name": name}, "value": value,
    });
    let object = serde_json::from_value(object).unwrap();
    match api.create(&PostParams::default(), &object).await {
        Ok(created) => Some(json!(created)["value"].take()),
        Err(error) if error.is_invalid() || error.is_bad_request() => None,
        Err(error) => panic!("{error}"),
    }
}

/// Returns what is wrong with a row.
async fn decided(client: &Client, number: usize) -> Option<String> {
    let (old, new, proof, problem) = rows().swap_remove(number);
    install(client, definition(number, &old)).await;
    let kind = ApiResource {
        group: "rows.example.com".into(),
        version: "v1".into(),
        kind: format!("Row{number}").into(),
        plural: format!("row{number}s").into(),
        namespaced: true,
    };
    let api = Api::<DynamicObject>::of(client, kind, Some("default"));
    let before = stored(&api, "before", &proof).await;
    if before.is_none() {
        return Some(format!("{problem}: {proof} is refused by {old}"));
    }
    install(client, definition(number, &new)).await;
    // A server uses a changed definition some time after it was written.
    for attempt in 0..60 {
        if stored(&api, &format!("after-{attempt}"), &proof).await != before {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    Some(format!("{problem}: {proof} is taken by {new}"))
}

async fn all_are_decided(client: &Client, at_once: usize) {
    let numbers = 0..rows().len();
    let wrong = stream::iter(numbers).map(|number| decided(client, number));
    let wrong = wrong.buffer_unordered(at_once);
    let wrong: Vec<String> = wrong.filter_map(async |wrong| wrong).collect().await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn the_sandbox_decides_each_change_as_the_comparison_does() {
    let cluster = Cluster::start().unwrap();
    all_are_decided(cluster.client(), 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_api_server_decides_each_change_as_the_comparison_does() {
    let Some(server) = RealServer::from_environment(&[]).filter(RealServer::is_own) else {
        return;
    };
    let options = KubeconfigOptions {
        path: Some(server.kubeconfig().to_owned()),
        ..KubeconfigOptions::default()
    };
    let config = Config::from_kubeconfig(&options).await.unwrap();
    all_are_decided(&Client::new(config).unwrap(), 12).await;
}

#[test]
#[ignore = "needs crdify, whose path is in PILOTHOUSE_CRDIFY"]
fn crdify_refuses_each_change_too() {
    let crdify = env::var_os(CRDIFY).expect(CRDIFY);
    let folder = tempfile::tempdir().unwrap();
    let mut passed = Vec::new();
    for (number, (old, new, _, problem)) in rows().into_iter().enumerate() {
        let file = |name: &str, value: &Value| {
            let path = folder.path().join(name);
            fs::write(&path, definition(number, value).to_string()).unwrap();
            format!("file://{}", path.display())
        };
        let (old, new) = (file("old.json", &old), file("new.json", &new));
        let output = Command::new(&crdify).args([old, new]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        println!("{problem}: {}: {text}", output.status);
        if output.status.success() {
            passed.push(problem);
        }
    }
    assert_eq!(passed, [""; 0], "crdify finds nothing wrong with these");
}
