//! Refused requests and their error texts.

use serde_json::{Value, json};

use super::{
    crud::map,
    gadget::{GADGETS, gadget, install},
    patches::workload,
};
use crate::run::{Ask, Run};

pub(crate) async fn of_requests(run: &mut Run) {
    install(run).await;
    let maps = run.path("v1/configmaps");
    let gadgets = run.path(GADGETS);
    let deployments = run.path("apps/v1/deployments");
    for (step, path) in [
        (
            "no such group",
            "/apis/none.pilothouse.dev/v1/things".to_owned(),
        ),
        (
            "no such version",
            "/apis/conformance.pilothouse.dev/v9/gadgets".into(),
        ),
        (
            "no such kind",
            run.path("conformance.pilothouse.dev/v1/gimmicks"),
        ),
        ("no such core kind", run.path("v1/gimmicks")),
        ("no such core kind's object", run.path("v1/gimmicks/a")),
        ("no such kind of apps", run.path("apps/v1/gimmicks")),
        ("no such path", "/nothing".into()),
        ("no such api", "/api/v2".into()),
        ("absent map", format!("{maps}/none")),
        ("absent gadget", format!("{gadgets}/none")),
        ("absent deployment", format!("{deployments}/none")),
        ("absent namespace", "/api/v1/namespaces/none".into()),
        (
            "empty list of an absent namespace",
            "/api/v1/namespaces/none/configmaps".into(),
        ),
        ("a name in no namespace", "/api/v1/configmaps/a".into()),
        ("a cluster kind in a namespace", run.path("v1/nodes")),
        ("an invalid name", format!("{maps}/A_B")),
        ("an invalid name of a gadget", format!("{gadgets}/A_B")),
        (
            "an absent definition",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/none".into(),
        ),
    ] {
        run.step(step, Ask::get(path)).await;
    }
    run.step(
        "delete an absent gadget",
        Ask::delete(format!("{gadgets}/none")),
    )
    .await;
    run.step(
        "delete the path of no kind",
        Ask::delete(run.path("v1/gimmicks/a")),
    )
    .await;
    run.step(
        "post to an object",
        Ask::post(format!("{maps}/a"), map("a")),
    )
    .await;
    run.step(
        "post to a gadget",
        Ask::post(format!("{gadgets}/a"), gadget("a", json!({}))),
    )
    .await;
    run.step("put to a collection", Ask::put(&maps, map("a")))
        .await;
    run.step(
        "put to the gadgets",
        Ask::put(&gadgets, gadget("a", json!({}))),
    )
    .await;
    run.step("patch a collection", Ask::merge(&maps, json!({})))
        .await;
    run.step(
        "an empty dry run",
        Ask::post(format!("{maps}?dryRun="), map("a")),
    )
    .await;
    let contradiction = "propagationPolicy=Orphan&orphanDependents=true";
    run.step(
        "orphans twice",
        Ask::delete(format!("{maps}/a?{contradiction}")),
    )
    .await;
    let class = "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical";
    run.step(
        "delete a class of the system",
        Ask::delete(format!("{class}?dryRun=All")),
    )
    .await;
    let in_none = "/api/v1/namespaces/none/configmaps";
    run.step(
        "create in an absent namespace",
        Ask::post(in_none, map("a")),
    )
    .await;
    let in_none = "/apis/conformance.pilothouse.dev/v1/namespaces/none/gadgets";
    run.step(
        "create a gadget in an absent namespace",
        Ask::post(in_none, gadget("a", json!({}))),
    )
    .await;
    for (step, metadata) in [
        ("no name", json!({})),
        ("upper case", json!({"name": "Upper"})),
        ("underscore", json!({"name": "a_b"})),
        ("too long", json!({"name": "a".repeat(254)})),
        ("slash", json!({"name": "a/b"})),
        ("bad generated name", json!({"generateName": "A_"})),
        (
            "another namespace",
            json!({"name": "a", "namespace": "other"}),
        ),
        (
            "bad label key",
            json!({"name": "a", "labels": {"a b": "c"}}),
        ),
        (
            "bad label value",
            json!({"name": "a", "labels": {"a": "b c"}}),
        ),
        (
            "long label value",
            json!({"name": "a", "labels": {"a": "b".repeat(64)}}),
        ),
        (
            "bad annotation key",
            json!({"name": "a", "annotations": {"a b": "c"}}),
        ),
        (
            "label is a number",
            json!({"name": "a", "labels": {"a": 1}}),
        ),
        ("name is a number", json!({"name": 5})),
        (
            "bad owner",
            json!({"name": "a", "ownerReferences": [{"kind": "X"}]}),
        ),
        (
            "two controllers",
            json!({"name": "a", "ownerReferences": [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1", "controller": true},
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "y", "uid": "2", "controller": true},
            ]}),
        ),
        (
            "an event as owner",
            json!({"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "x", "uid": "1"}]}),
        ),
        (
            "several",
            json!({"name": "A", "labels": {"a b": "c d"}, "annotations": {"x y": ""}}),
        ),
    ] {
        for (kind, path, mut object) in [
            ("map", &maps, map("a")),
            ("gadget", &gadgets, gadget("a", json!({}))),
            ("deployment", &deployments, workload("a")),
        ] {
            object["metadata"] = metadata.clone();
            run.step(
                format!("{kind}: {step}"),
                Ask::post(format!("{path}?dryRun=All"), object),
            )
            .await;
        }
    }
    for (kind, path, object) in [
        ("map", &maps, map("a")),
        ("gadget", &gadgets, gadget("a", json!({}))),
        ("deployment", &deployments, workload("a")),
    ] {
        let path = format!("{path}?dryRun=All");
        let changed = |key: &str, value: Value| {
            let mut object = object.clone();
            object[key] = value;
            object
        };
        run.step(
            format!("{kind}: another kind"),
            Ask::post(&path, changed("kind", "Pod".into())),
        )
        .await;
        run.step(
            format!("{kind}: another group"),
            Ask::post(&path, changed("apiVersion", "x.y/v1".into())),
        )
        .await;
        run.step(
            format!("{kind}: another version"),
            Ask::post(&path, changed("apiVersion", "v7".into())),
        )
        .await;
        run.step(
            format!("{kind}: no kind"),
            Ask::post(&path, changed("kind", Value::Null)),
        )
        .await;
        run.step(format!("{kind}: an array"), Ask::post(&path, json!([1])))
            .await;
        run.step(format!("{kind}: a text"), Ask::post(&path, json!("x")))
            .await;
        run.step(
            format!("{kind}: nothing"),
            Ask::post(&path, json!({})).raw("application/json", ""),
        )
        .await;
        run.step(
            format!("{kind}: metadata is text"),
            Ask::post(&path, changed("metadata", "x".into())),
        )
        .await;
        run.step(
            format!("{kind}: no metadata"),
            Ask::post(&path, changed("metadata", Value::Null)),
        )
        .await;
    }
    let broken = |change: fn(&mut Value)| {
        let mut object = workload("a");
        change(&mut object);
        object
    };
    for (step, object) in [
        ("no spec", broken(|object| object["spec"] = json!({}))),
        (
            "no containers",
            broken(|object| object["spec"]["template"]["spec"]["containers"] = json!([])),
        ),
        (
            "no selector",
            broken(|object| object["spec"]["selector"] = json!(null)),
        ),
        (
            "empty selector",
            broken(|object| object["spec"]["selector"] = json!({})),
        ),
        (
            "labels do not match",
            broken(|object| object["spec"]["selector"]["matchLabels"]["app"] = "z".into()),
        ),
        (
            "text for a number",
            broken(|object| object["spec"]["replicas"] = "z".into()),
        ),
        (
            "fraction",
            broken(|object| object["spec"]["replicas"] = 1.5.into()),
        ),
        (
            "list for an object",
            broken(|object| object["spec"] = json!([])),
        ),
        (
            "unknown strategy",
            broken(|object| object["spec"]["strategy"]["type"] = "Odd".into()),
        ),
        (
            "same name twice",
            broken(|object| {
                object["spec"]["template"]["spec"]["containers"][1]["name"] = "one".into()
            }),
        ),
        (
            "no image",
            broken(|object| {
                object["spec"]["template"]["spec"]["containers"][1]["image"] = "".into()
            }),
        ),
        (
            "mount without volume",
            broken(|object| {
                object["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] =
                    json!([{"name": "v", "mountPath": "/v"}])
            }),
        ),
        (
            "restart policy",
            broken(|object| object["spec"]["template"]["spec"]["restartPolicy"] = "Never".into()),
        ),
        (
            "selector expression",
            broken(|object| {
                object["spec"]["selector"] =
                    json!({"matchExpressions": [{"key": "a", "operator": "Odd"}]})
            }),
        ),
    ] {
        run.step(
            format!("deployment: {step}"),
            Ask::post(format!("{deployments}?dryRun=All"), object),
        )
        .await;
    }
    run.send_unrecorded(Ask::post(&deployments, workload("a")))
        .await;
    let mut other = workload("a");
    other["spec"]["selector"]["matchLabels"] = json!({"app": "a", "x": "y"});
    other["spec"]["template"]["metadata"]["labels"]["x"] = "y".into();
    run.step(
        "deployment: immutable selector",
        Ask::put(format!("{deployments}/a"), other),
    )
    .await;
    let mut fixed = map("fixed");
    fixed["immutable"] = true.into();
    run.send_unrecorded(Ask::post(&maps, fixed)).await;
    run.step(
        "immutable map",
        Ask::merge(format!("{maps}/fixed"), json!({"data": {"a": "2"}})),
    )
    .await;
    run.step(
        "map key",
        Ask::post(
            &maps,
            json!({"metadata": {"name": "k"}, "data": {"a b": "c"}}),
        ),
    )
    .await;
    run.step(
        "map value",
        Ask::post(&maps, json!({"metadata": {"name": "k"}, "data": {"a": 1}})),
    )
    .await;
    let secrets = run.path("v1/secrets");
    run.step(
        "secret: no base64",
        Ask::post(
            &secrets,
            json!({"metadata": {"name": "k"}, "data": {"a": "*"}}),
        ),
    )
    .await;
    run.send_unrecorded(Ask::post(&secrets, json!({"metadata": {"name": "t"}})))
        .await;
    run.step(
        "secret: type changes",
        Ask::merge(format!("{secrets}/t"), json!({"type": "other"})),
    )
    .await;
    for (step, kind, data) in [
        ("no key", "tls", json!({"tls.crt": "YQ=="})),
        ("empty pair", "tls", json!({"tls.crt": "", "tls.key": ""})),
        ("empty key", "ssh-auth", json!({"ssh-privatekey": ""})),
        ("nobody", "basic-auth", json!({"user": "YQ=="})),
        ("a password", "basic-auth", json!({"password": ""})),
        ("no account", "service-account-token", json!({})),
        ("nothing", "dockercfg", json!({})),
        ("text", "dockercfg", json!({".dockercfg": "c2VjcmV0"})),
        (
            "empty",
            "dockerconfigjson",
            json!({".dockerconfigjson": ""}),
        ),
        (
            "list",
            "dockerconfigjson",
            json!({".dockerconfigjson": "W10="}),
        ),
        (
            "null",
            "dockerconfigjson",
            json!({".dockerconfigjson": "bnVsbA=="}),
        ),
        (
            "object",
            "dockerconfigjson",
            json!({".dockerconfigjson": "e30="}),
        ),
    ] {
        let secret = json!({
            "metadata": {"name": "k"}, "type": format!("kubernetes.io/{kind}"), "data": data,
        });
        let path = format!("{secrets}?dryRun=All");
        run.step(format!("secret: {kind}: {step}"), Ask::post(path, secret))
            .await;
    }
    let services = run.path("v1/services");
    run.step(
        "service: no ports",
        Ask::post(
            &services,
            json!({"metadata": {"name": "k"}, "spec": {"selector": {"a": "b"}}}),
        ),
    )
    .await;
    run.step(
        "service: bad port",
        Ask::post(
            &services,
            json!({"metadata": {"name": "k"}, "spec": {"ports": [{"port": 0}]}}),
        ),
    )
    .await;
    run.step(
        "service: unnamed ports",
        Ask::post(
            &services,
            json!({"metadata": {"name": "k"}, "spec": {"ports": [{"port": 1}, {"port": 2}]}}),
        ),
    )
    .await;
    run.step(
        "service: bad name",
        Ask::post(
            &services,
            json!({"metadata": {"name": "1k"}, "spec": {"ports": [{"port": 1}]}}),
        ),
    )
    .await;
    run.step(
        "namespace: bad name",
        Ask::post("/api/v1/namespaces", json!({"metadata": {"name": "a.b"}})),
    )
    .await;
    run.step(
        "namespace: default goes",
        Ask::delete("/api/v1/namespaces/default?dryRun=All"),
    )
    .await;
    let leases = run.path("coordination.k8s.io/v1/leases");
    for (step, time) in [
        ("tenths of a second", "2026-01-01T00:00:00.5Z"),
        ("a day", "2026-01-01"),
        ("no month", "2026-13-01T00:00:00.000000Z"),
    ] {
        run.step(
            format!("lease: {step}"),
            Ask::post(
                &leases,
                json!({"metadata": {"name": "k"}, "spec": {"renewTime": time}}),
            ),
        )
        .await;
    }
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}});
    run.step("lease: a status", Ask::post(&leases, status))
        .await;
    let jobs = run.path("batch/v1/jobs");
    run.step("job: restart policy", Ask::post(&jobs, json!({"metadata": {"name": "j"}, "spec": {"template": {"spec": {"containers": [{"name": "a", "image": "a"}]}}}}))).await;
    let crons = run.path("batch/v1/cronjobs");
    run.step("cron job: schedule", Ask::post(&crons, json!({"metadata": {"name": "j"}, "spec": {"schedule": "never", "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}}}}}}))).await;
}
