//! Kustomize and Helm make the same objects of the folders of an example as `manifests` prints.

use std::{fs, path::Path, process::Command};

use serde_json::json;

use super::{
    NAME,
    objects::{Objects, assert_same, objects, succeeded, tool},
    run,
};

/// Flags that change what is printed.
const FLAGS: [&str; 3] = [
    "",
    "--replicas 2 --metrics-secure --metrics-auth --debug-page",
    "--operator-namespace ops --metrics-secure --metrics-cert-path /certificate --lease-namespace locks",
];

fn manifests(program: &str, flags: &str) -> String {
    let line = format!("manifests --image registry.example.com/{NAME}:1.0 {flags}");
    run(program, &line)
}

pub fn check_kustomize(program: &str) {
    let Some(kubectl) = tool("PILOTHOUSE_KUBECTL") else {
        return;
    };
    for flags in FLAGS {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path();
        manifests(
            program,
            &format!("{flags} --output kustomize {}", folder.display()),
        );
        let build = |place: &str| {
            let mut command = Command::new(&kubectl);
            command.arg("kustomize").arg(folder.join(place));
            objects(&succeeded(place, &command.output().unwrap()))
        };
        let plain = |more: &str| objects(&manifests(program, &format!("{flags} {more}")));
        assert_same("base", &build("base"), &plain(""));
        let monitored = plain("--service-monitor --prometheus-rule");
        assert_same("monitoring", &build("overlays/monitoring"), &monitored);
        let limited = build("overlays/one-namespace");

        // A kustomization moves all objects to one namespace.
        let file = folder.join("overlays/one-namespace/kustomization.yaml");
        let text = fs::read_to_string(&file).unwrap() + "namespace: elsewhere\n";
        fs::write(&file, text).unwrap();
        let moved = build("overlays/one-namespace");
        assert_eq!(moved.len(), limited.len(), "{flags}");
    }
}

pub fn check_helm(program: &str) {
    let Some(helm) = tool("PILOTHOUSE_HELM") else {
        return;
    };
    let temporary = tempfile::tempdir().unwrap();
    let chart = temporary.path();
    manifests(program, &format!("--output helm {}", chart.display()));
    let own = format!("{NAME}-system");
    let template =
        |namespace: &str, values: &str| -> Objects { template(&helm, chart, namespace, values) };
    for (values, flags) in [
        ("replicas=1", ""),
        (
            "replicas=3,monitoring.enabled=true",
            "--replicas 3 --service-monitor --prometheus-rule",
        ),
        ("namespaces={blue,green}", "--namespace blue,green"),
        ("namespaces={default,blue}", "--namespace default,blue"),
        (
            &format!("namespaces={{{own},blue}}"),
            &format!("--namespace {own},blue"),
        ),
        ("extraArgs={--log=debug}", "--log debug"),
    ] {
        let mut expected = objects(&manifests(program, flags));
        // The namespace of a release exists before its objects, and definitions stay when it is removed.
        expected.retain(|name, _| !name.starts_with("\"Namespace\""));
        for object in expected.values_mut() {
            if object["kind"] == "CustomResourceDefinition" {
                object["metadata"]["annotations"] = json!({"helm.sh/resource-policy": "keep"});
            }
        }
        assert_same(values, &template(&own, values), &expected);
    }
    // Where Events of cluster-scoped objects are, too.
    for values in [
        "replicas=1",
        "namespaces={blue}",
        "namespaces={default}",
        "namespaces={default,blue}",
    ] {
        let found = template("default", values);
        let role = &found[&format!("\"Role\" \"default\" \"{NAME}\"")];
        assert!(
            role["rules"].to_string().contains("leases"),
            "{values}: {role}"
        );
    }
}

fn template(helm: &Path, chart: &Path, namespace: &str, values: &str) -> Objects {
    let mut command = Command::new(helm);
    command.args(["template", NAME, "--namespace", namespace, "--set", values]);
    command.arg(chart).env("HOME", "/nonexistent");
    objects(&succeeded(values, &command.output().unwrap()))
}
