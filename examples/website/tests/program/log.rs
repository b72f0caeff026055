//! The log of a running operator: its fields, and changes of its filter.

use std::fs;

use crate::dev::{Dev, eventually};
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
    // The last line may be incomplete.
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
fn a_changed_filter_in_the_file_takes_effect_and_lines_name_their_reconcile() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("website.yaml");
    let write = |text: &str| fs::write(&file, text).unwrap();
    write("log: warn\nlog-format: json\n");
    let path = file.to_str().unwrap();
    let dev = Dev::start_with(&["--config", path], &[]);
    assert_eq!(lines(&dev), [] as [Value; 0], "only warnings pass");

    write("log: debug,hyper=trace,h2=trace,rustls=trace\nlog-format: json\nmetrics-address: :1\n");
    until(&dev, "the log filter is now debug");
    // The name is too long for a label, so the Deployment is refused.
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
    until(&dev, "not a YAML mapping of settings");
    write("log: loud=loud\n");
    until(&dev, "website.yaml:1: invalid value 'loud=loud' for log");
    write("log: error\n");
    until(&dev, "the log filter is now error");

    // No line contains a secret, at any level.
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
fn a_filter_in_the_environment_always_takes_precedence_over_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("website.yaml");
    fs::write(&file, "log: debug\n").unwrap();
    let path = file.to_str().unwrap();
    let dev = Dev::start_with(&["--config", path], &[("WEBSITE_LOG", "info")]);
    fs::write(&file, "log: warn\n").unwrap();
    until(&dev, "the one from WEBSITE_LOG has priority");
    assert!(!dev.log().contains("DEBUG"), "{}", dev.log());
}
