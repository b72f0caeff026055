//! The log of an operator that runs: its fields, and its filter while it runs.

mod dev;

use std::fs;

use dev::{Dev, eventually};
use pilothouse::{
    client::{Api, Client, Config, KubeconfigOptions, PostParams},
    resource::{ApiResource, DynamicObject},
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// Creates a Website in the operator's API server.
fn create(dev: &Dev, name: &str) {
    let websites = ApiResource {
        group: "demo.pilothouse.dev".into(),
        version: "v1".into(),
        kind: "Website".into(),
        plural: "websites".into(),
        namespaced: true,
    };
    let options = KubeconfigOptions {
        path: Some(dev.kubeconfig.clone()),
        ..KubeconfigOptions::default()
    };
    let site: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "demo.pilothouse.dev/v1", "kind": "Website",
        "metadata": {"name": name}, "spec": {"html": "<h1>Hello</h1>"},
    }))
    .unwrap();
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let config = Config::from_kubeconfig(&options).await.unwrap();
        let client = Client::new(config).unwrap();
        let websites = Api::<DynamicObject>::of(&client, websites, Some("default"));
        websites
            .create(&PostParams::default(), &site)
            .await
            .unwrap();
    });
}

fn lines(dev: &Dev) -> Vec<Value> {
    let log = dev.log();
    // The last line may be half written.
    let lines = log
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

fn until(dev: &Dev, what: &str) {
    eventually(what, || match dev.log().contains(what) {
        true => Ok(()),
        false => Err(dev.log()),
    });
}

#[test]
fn the_filter_of_the_file_is_followed_and_lines_say_which_reconcile_they_are_of() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("website.yaml");
    let write = |text: &str| fs::write(&file, text).unwrap();
    write("log: warn\nlog-format: json\n");
    let path = file.to_str().unwrap();
    let dev = Dev::start_with(&["--config", path], &[]);
    assert_eq!(lines(&dev), [] as [Value; 0], "only warnings pass");

    write("log: debug,hyper=trace,h2=trace,rustls=trace\nlog-format: json\nmetrics-address: :1\n");
    until(&dev, "from now on");
    // A Deployment cannot bear its name as a label.
    let name = "hello".repeat(13);
    create(&dev, &name);
    let line = eventually("a failure of the reconcile", || {
        let lines = lines(&dev);
        let of = lines
            .iter()
            .find(|line| line["name"] == *name && line["level"] == "WARN");
        of.cloned().ok_or_else(|| format!("{} lines", lines.len()))
    });
    assert_eq!(line["controller"], "website", "{line}");
    assert_eq!(line["namespace"], "default", "{line}");
    assert!(line["reconcile_id"].is_u64(), "{line}");
    assert!(line["cause"].is_string(), "{line}");

    write("log: [\n");
    until(&dev, "not YAML with settings");
    write("log: loud=loud\n");
    until(&dev, "website.yaml:1: invalid value 'loud=loud' for log");
    write("log: error\n");
    until(&dev, "the log filter is error from now on");

    // However much is logged, no secret is in it.
    let kubeconfig = fs::read_to_string(&dev.kubeconfig).unwrap();
    let secrets = kubeconfig
        .lines()
        .filter_map(|line| line.trim().split_once(": "))
        .filter(|(name, _)| ["token", "client-key-data"].contains(name))
        .map(|(_, value)| value.trim_matches(['"', '\'']).to_owned())
        .collect::<Vec<_>>();
    assert!(!secrets.is_empty());
    let log = dev.log();
    assert!(secrets.iter().all(|secret| !log.contains(secret)));
    assert!(dev.interrupt().success());
}

#[test]
fn what_the_environment_says_of_the_log_comes_before_the_file_at_any_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("website.yaml");
    fs::write(&file, "log: debug\n").unwrap();
    let path = file.to_str().unwrap();
    let dev = Dev::start_with(&["--config", path], &[("WEBSITE_LOG", "info")]);
    fs::write(&file, "log: warn\n").unwrap();
    until(&dev, "that of WEBSITE_LOG comes before it");
    assert!(!dev.log().contains("DEBUG"), "{}", dev.log());
}
