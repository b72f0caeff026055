//! Everything that the examples and a created operator print, in a dry run on a real API server.

use std::{fs, process::Command};

use pilothouse_tests::real::RealServer;

use crate::{
    images::{CREATED, Images, kubectl, named, succeeded},
    objects::objects,
    stories::EXAMPLES,
};

/// Applies without a change. Unknown fields and fields that occur twice are errors.
const DRY_RUN: &str = "apply --server-side --dry-run=server --validate=strict -f -";

/// All flags that add objects or change them.
const ALL_FLAGS: &str = "--replicas 3 --namespace blue,green --metrics-secure --metrics-cert-path /certificate --metrics-auth \
                         --metrics-address :8443 --service-monitor --prometheus-rule --log debug";

/// The flags for a monitor of the pods.
const PODS_FLAGS: &str =
    "--metrics-secure --metrics-cert-path /certificate --pod-monitor --prometheus-rule";

/// All values of a chart.
const ALL_VALUES: &str = r#"
image: {repository: registry.example.com/other, tag: "2", digest: "sha256:3f1f0f3bd2b1cd1dd2ed9b1e0a1d9b6fcb20e5a1f3c25c3c6d5c0e9e9d6a7b10", pullPolicy: Always}
replicas: 3
namespaces: [blue, green]
extraArgs: [--log=debug]
definitions: {install: true, keep: false}
monitoring: {enabled: true}
resources: {requests: {cpu: 50m, memory: 128Mi}}
env: [{name: ZONE, value: eu}]
podAnnotations: {example.com/team: web}
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{key: example.com/dedicated, operator: Exists, effect: NoSchedule}]
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [eu]}]}]}}}
imagePullSecrets: [{name: registry}]
"#;

/// The variable with the folder of the definitions of the Prometheus operator's kinds.
const MONITORING_KINDS: &str = "PILOTHOUSE_MONITORING_KINDS";

/// What `kubectl apply` says about each object of a text: `role.rbac.authorization.k8s.io/website serverside-applied …`. It says nothing
/// about namespaces, so these are not compared.
fn names(text: &str) -> Vec<String> {
    let mut names: Vec<String> = objects(text)
        .values()
        .map(|object| {
            let group = object["apiVersion"].as_str().unwrap().split_once('/');
            let group = group.map_or(String::new(), |(group, _)| format!(".{group}"));
            let kind = object["kind"].as_str().unwrap().to_lowercase();
            format!(
                "{kind}{group}/{}",
                object["metadata"]["name"].as_str().unwrap()
            )
        })
        .collect();
    names.sort();
    names
}

#[test]
fn a_real_api_server_accepts_everything_that_the_examples_print() {
    let Some(images) = Images::from_environment() else {
        return;
    };
    let (Some(helm), Some(monitoring)) = (named("PILOTHOUSE_HELM"), named(MONITORING_KINDS)) else {
        return;
    };
    let Some(server) = RealServer::from_environment(&[]).filter(RealServer::is_own) else {
        return;
    };
    for kind in ["servicemonitors", "podmonitors", "prometheusrules"] {
        let file = monitoring.join(format!("monitoring.coreos.com_{kind}.yaml"));
        let definition = fs::read_to_string(file).unwrap();
        kubectl(&server, "apply --server-side -f -", &definition);
    }
    kubectl(&server, "wait --for=condition=Established crd --all", "");
    let operators = EXAMPLES.iter().map(|example| example.name);
    let operators: Vec<&str> = operators.chain([CREATED]).collect();
    let systems = operators.iter().map(|name| format!("{name}-system"));
    let shared = ["blue", "green"].map(str::to_owned);
    for namespace in systems.chain(shared) {
        kubectl(&server, &format!("create namespace {namespace}"), "");
    }
    for example in operators {
        let accepted = |what: &str, objects: &str| {
            let expected = names(objects);
            assert!(expected.len() > 5, "{example}, {what}: only {expected:?}");
            let applied = kubectl(&server, DRY_RUN, objects);
            let applied = applied.lines().filter_map(|line| line.split(' ').next());
            let mut applied: Vec<&str> = applied.collect();
            applied.sort_unstable();
            assert_eq!(applied, expected, "{example}, {what}");
        };
        for flags in ["", ALL_FLAGS, PODS_FLAGS] {
            accepted(flags, &images.manifests(example, flags));
        }

        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name).display().to_string();
        for format in ["kustomize", "helm"] {
            images.manifests(example, &format!("--output {format} {}", place(format)));
        }
        for kustomization in ["base", "overlays/monitoring", "overlays/one-namespace"] {
            let path = place(&format!("kustomize/{kustomization}"));
            accepted(
                kustomization,
                &succeeded(server.kubectl().arg("kustomize").arg(path)),
            );
        }
        fs::write(place("values.yaml"), ALL_VALUES).unwrap();
        for values in [None, Some(place("values.yaml"))] {
            let mut command = Command::new(&helm);
            command.args([
                "template",
                example,
                &place("helm"),
                "--namespace",
                &format!("{example}-system"),
            ]);
            command.env("HOME", "/nonexistent");
            if let Some(values) = &values {
                command.args(["--values", values]);
            }
            accepted(&format!("chart with {values:?}"), &succeeded(&mut command));
        }
    }
}
