use super::{commands, named};
use crate::run::Run;

pub(crate) async fn apply(run: &mut Run) {
    commands(
        run,
        &[
            "diff -f web.yaml",
            "apply -f web.yaml",
            "apply -f web.yaml # again",
            "diff -f web-changed.yaml",
            "apply -f web-changed.yaml --dry-run=server",
            "apply -f web-changed.yaml --dry-run=client -o name",
            "apply -f web-changed.yaml",
            "get deploy web -o jsonpath={.spec.template.spec.containers[0].image}",
            "apply view-last-applied deployment web",
            "apply -f web.yaml --server-side",
            "apply -f web-changed.yaml --server-side --field-manager=other",
            "apply -f web-changed.yaml --server-side --field-manager=other --force-conflicts",
            "apply -f web.yaml --server-side --field-manager=other --dry-run=server -o yaml",
            "diff -f web.yaml --server-side --field-manager=other --force-conflicts",
            "get deploy web -o yaml --show-managed-fields",
            "apply set-last-applied -f web.yaml",
            "apply edit-last-applied configmap settings",
            "apply -k kustomize",
            "apply -k kustomize # again",
            "kustomize kustomize",
            "get -k kustomize -o name",
            "apply -f kustomize/map.yaml --prune -l team=blue --prune-allowlist=core/v1/ConfigMap",
            "delete -k kustomize --ignore-not-found",
            "edit configmap settings",
            "get configmap settings -o yaml",
            "edit configmap settings # without a change",
            "edit configmap none",
            "replace -f web.yaml",
            "replace -f web.yaml --force",
            "replace -f kustomize/map.yaml",
            "apply -f none.yaml",
        ],
    )
    .await;
    let with = |data: &str| {
        format!(
            r#"{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "given"}}, "data": {data}}}"#
        )
    };
    run.kubectl(
        "apply from stdin",
        "apply -f -",
        &with(r#"{"a": "1", "b": "2"}"#),
    )
    .await;
    run.kubectl(
        "apply removes a field",
        "apply -f - -o json",
        &with(r#"{"a": "1"}"#),
    )
    .await;
    run.kubectl("apply an invalid field", "apply -f -", &with(r#"{"a": 1}"#))
        .await;
    run.kubectl(
        "apply an invalid field by the server",
        "apply --server-side -f -",
        &with(r#"{"a": 1}"#),
    )
    .await;
    run.kubectl(
        "apply a change of what cannot change",
        "apply -f -",
        r#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"app": "x"}}, "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}}}"#,
    )
    .await;
    run.kubectl(
        "replace an invalid object",
        "replace -f -",
        &with(r#"{"a b": "c"}"#),
    )
    .await;
}

pub(crate) async fn patches(run: &mut Run) {
    named(
        run,
        &[
            ("create what is patched", "create -f web.yaml"),
            ("patch strategically", r#"patch deployment web -p {"spec":{"template":{"spec":{"containers":[{"name":"server","image":"server:9"}]}}}}"#),
            ("patch strategically without a change", r#"patch deployment web -p {"spec":{"template":{"spec":{"containers":[{"name":"server","image":"server:9"}]}}}}"#),
            ("patch by merging", r#"patch deployment web --type=merge -p {"metadata":{"labels":{"tier":"x"}}}"#),
            ("patch by operations", r#"patch deployment web --type=json -p [{"op":"replace","path":"/spec/replicas","value":5}]"#),
            ("patch by a failing test", r#"patch deployment web --type=json -p [{"op":"test","path":"/spec/replicas","value":6}]"#),
            ("patch by wrong operations", r#"patch deployment web --type=json -p [{"op":"remove","path":"/spec/none"}]"#),
            ("patch the status", r#"patch deployment web --subresource=status --type=merge -p {"status":{"replicas":5,"readyReplicas":4}}"#),
            ("patch the scale", r#"patch deployment web --subresource=scale --type=merge -p {"spec":{"replicas":3}}"#),
            ("patch in a dry run", r#"patch deployment web --dry-run=server -o yaml -p {"spec":{"paused":true}}"#),
            ("patch in YAML", "patch configmap settings -p 'data: {level: yaml}'"),
            ("patch a file", "patch -f kustomize/map.yaml -p {}"),
            ("patch what does not exist", "patch configmap none -p {}"),
            ("patch invalid JSON", "patch configmap settings -p {"),
            ("patch an invalid value", r#"patch deployment web -p {"spec":{"replicas":-1}}"#),
            ("patch an unknown field", r#"patch deployment web -p {"spec":{"replica":1}}"#),
            ("patch the wrong type", r#"patch deployment web -p {"spec":{"replicas":"many"}}"#),
            ("get what was patched", "get deployment web -o yaml"),
            ("get its row", "get deployment web -o wide"),
        ],
    )
    .await;
}

/// Labels and annotations.
pub(crate) async fn attributes(run: &mut Run) {
    commands(
        run,
        &[
            "create -f web.yaml",
            "label configmap settings tier=x",
            "label configmap settings tier=x # again",
            "label configmap settings tier=y",
            "label configmap settings tier=y --overwrite",
            "label configmap settings tier=z --overwrite --dry-run=server -o yaml",
            "label configmap settings tier-",
            "label configmap settings --list",
            "label configmap settings none-",
            "label configmap settings 'a b=c'",
            "label configmap settings a=-",
            "label deploy,svc -l app=web all=yes",
            "label configmap --all seen=1",
            "label configmap none a=b",
            "label configmap settings a=b --resource-version=1",
            "annotate configmap settings note='some words'",
            "annotate configmap settings note=other",
            "annotate configmap settings note=other --overwrite",
            "annotate configmap settings --list",
            "annotate configmap settings note-",
            "annotate -f web.yaml by=file",
            "get configmap settings -o yaml",
        ],
    )
    .await;
}
