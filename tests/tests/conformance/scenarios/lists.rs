//! Many objects at once: pages, selectors, watches, tables.

use serde_json::{Value, json};

use super::{
    gadget::{GADGETS, gadget, install},
    patches::workload,
};
use crate::run::{Ask, Run};

pub(super) async fn fill(run: &mut Run) -> [(&'static str, String); 2] {
    install(run).await;
    let maps = run.path("v1/secrets");
    let gadgets = run.path(GADGETS);
    for index in 0..5 {
        let name = format!("o{index}");
        let labels = json!({"index": index.to_string(), "odd": (index % 2 == 1).to_string()});
        let map = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "labels": labels}});
        assert_eq!(run.send_unrecorded(Ask::post(&maps, map)).await.code, 201);
        let mode = if index < 2 { "slow" } else { "fast" };
        let mut gadget = gadget(&name, json!({"mode": mode}));
        gadget["metadata"]["labels"] = labels;
        assert_eq!(
            run.send_unrecorded(Ask::post(&gadgets, gadget)).await.code,
            201
        );
    }
    [("secrets", maps), ("gadgets", gadgets)]
}

pub(crate) async fn pages(run: &mut Run) {
    for (kind, path) in fill(run).await {
        let first = run
            .step(
                format!("{kind}: first page"),
                Ask::get(format!("{path}?limit=2")),
            )
            .await;
        let token = first.body["metadata"]["continue"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let second = run
            .step(
                format!("{kind}: second page"),
                Ask::get(format!("{path}?limit=2&continue={token}")),
            )
            .await;
        let version =
            [&first, &second].map(|page| page.body["metadata"]["resourceVersion"].clone());
        run.record(
            format!("{kind}: one version"),
            (version[0] == version[1]).into(),
        );
        let last = second.body["metadata"]["continue"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        run.step(
            format!("{kind}: last page"),
            Ask::get(format!("{path}?limit=2&continue={last}")),
        )
        .await;
        run.step(
            format!("{kind}: rest in one"),
            Ask::get(format!("{path}?continue={token}")),
        )
        .await;
        for (step, query) in [
            ("bad token", "limit=2&continue=nonsense".to_owned()),
            (
                "token and version",
                format!("limit=2&continue={token}&resourceVersion=1"),
            ),
            (
                "token and match",
                format!("limit=2&continue={token}&resourceVersionMatch=Exact"),
            ),
            ("bad limit", "limit=x".into()),
            ("negative limit", "limit=-1".into()),
            ("exact without version", "resourceVersionMatch=Exact".into()),
            (
                "exact of zero",
                "resourceVersion=0&resourceVersionMatch=Exact".into(),
            ),
            (
                "unknown match",
                "resourceVersion=1&resourceVersionMatch=Odd".into(),
            ),
            (
                "not older than zero",
                "resourceVersion=0&resourceVersionMatch=NotOlderThan".into(),
            ),
            ("bad version", "resourceVersion=x".into()),
            ("any version", "resourceVersion=0".into()),
            (
                "future version",
                "resourceVersion=100000000&timeoutSeconds=1".into(),
            ),
        ] {
            run.step(
                format!("{kind}: {step}"),
                Ask::get(format!("{path}?{query}")),
            )
            .await;
        }
        let newest =
            run.send_unrecorded(Ask::get(&path)).await.body["metadata"]["resourceVersion"].clone();
        let newest = newest.as_str().unwrap_or_default().to_owned();
        run.send_unrecorded(Ask::delete(format!("{path}/o0"))).await;
        run.step(
            format!("{kind}: the past"),
            Ask::get(format!(
                "{path}?resourceVersion={newest}&resourceVersionMatch=Exact"
            )),
        )
        .await;
        run.step(
            format!("{kind}: delete some"),
            Ask::delete(format!("{path}?labelSelector=odd%3Dtrue")),
        )
        .await;
        run.step(format!("{kind}: left"), Ask::get(&path)).await;
        run.step(
            format!("{kind}: metadata only"),
            Ask::get(&path)
                .accept("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"),
        )
        .await;
        run.step(
            format!("{kind}: metadata of one"),
            Ask::get(format!("{path}/o2"))
                .accept("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"),
        )
        .await;
        let some = format!("{path}?limit=2&labelSelector=odd%3Dfalse");
        run.step(format!("{kind}: delete a page"), Ask::delete(some))
            .await;
        run.step(format!("{kind}: what is left"), Ask::get(&path))
            .await;
    }
}

pub(crate) async fn selectors(run: &mut Run) {
    let kinds = fill(run).await;
    for (kind, path) in &kinds {
        for query in [
            "labelSelector=odd%3Dtrue",
            "labelSelector=odd!%3Dtrue",
            "labelSelector=index%20in%20(1,3)",
            "labelSelector=index%20notin%20(1,3)",
            "labelSelector=odd",
            "labelSelector=!odd",
            "labelSelector=index%3E2",
            "labelSelector=index%3E2,odd%3Dfalse",
            "labelSelector=a%20b",
            "labelSelector=%3D",
            "labelSelector=in%20(",
            "fieldSelector=metadata.name%3Do1",
            "fieldSelector=metadata.name!%3Do1",
            "fieldSelector=spec.mode%3Dslow",
            "fieldSelector=spec.none%3Dslow",
            "fieldSelector=nonsense",
            "fieldSelector=metadata.namespace%3Dnone",
            "fieldSelector=metadata.name%3Do%5C,1",
            "fieldSelector=metadata.name%3Do%5Cx",
            "fieldSelector=metadata.name%3Do%5C",
            "fieldSelector=metadata.name%3Do%3D1",
            "fieldSelector=metadata!name%3Do1",
            "fieldSelector=spec.none%3Dslow,nonsense",
        ] {
            let answer = run
                .send_unrecorded(Ask::get(format!("{path}?{query}")))
                .await;
            let found = match answer.body["items"].as_array() {
                Some(items) => items
                    .iter()
                    .map(|item| item["metadata"]["name"].clone())
                    .collect(),
                None => answer.body,
            };
            run.record(format!("{kind}: {query}"), json!([answer.code, found]));
        }
    }
}

pub(crate) async fn watches(run: &mut Run) {
    for (kind, path) in fill(run).await {
        let list = run.send_unrecorded(Ask::get(&path)).await.body;
        let version = list["metadata"]["resourceVersion"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let mut initial = run.watch(format!("{path}?watch=true")).await;
        let events = initial.events(5).await;
        run.record(format!("{kind}: from nowhere"), events);
        let mut any = run
            .watch(format!("{path}?watch=true&resourceVersion=0"))
            .await;
        let events = any.events(5).await;
        run.record(format!("{kind}: from any"), events);
        let mut odd = run
            .watch(format!(
                "{path}?watch=true&resourceVersion={version}&labelSelector=odd%3Dtrue"
            ))
            .await;
        let mut from = run
            .watch(format!("{path}?watch=true&resourceVersion={version}"))
            .await;
        run.send_unrecorded(Ask::merge(
            format!("{path}/o2"),
            json!({"metadata": {"labels": {"odd": "true"}}}),
        ))
        .await;
        run.send_unrecorded(Ask::merge(
            format!("{path}/o1"),
            json!({"metadata": {"labels": {"odd": "false"}}}),
        ))
        .await;
        run.send_unrecorded(Ask::merge(
            format!("{path}/o2"),
            json!({"metadata": {"labels": {"odd": "true"}}}),
        ))
        .await;
        run.send_unrecorded(Ask::delete(format!("{path}/o3"))).await;
        let events = odd.events(3).await;
        run.record(format!("{kind}: selected"), events);
        let events = from.events(3).await;
        run.record(format!("{kind}: from the list"), events);
        let mut initial = run.watch(format!("{path}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")).await;
        let events = initial.events(5).await;
        run.record(format!("{kind}: initial events"), events);
        let mut table = run
            .watch(format!(
                "{path}?watch=true&fieldSelector=metadata.name%3Do4"
            ))
            .await;
        let events = table.events(1).await;
        run.record(format!("{kind}: one by name"), events);
        for (step, query) in [
            ("initial without match", "sendInitialEvents=true"),
            (
                "initial of a list's match",
                "sendInitialEvents=true&resourceVersionMatch=Exact",
            ),
            (
                "match without initial",
                "resourceVersionMatch=NotOlderThan&resourceVersion=5",
            ),
            ("bad version", "resourceVersion=x"),
            ("bad selector", "labelSelector=%3D"),
            ("bad timeout", "timeoutSeconds=x"),
            ("ends", "timeoutSeconds=1&resourceVersion=100000000"),
        ] {
            run.step(
                format!("{kind}: {step}"),
                Ask::get(format!("{path}?watch=true&timeoutSeconds=1&{query}")),
            )
            .await;
        }
        let mut old = run
            .watch(format!(
                "{path}?watch=1&resourceVersion={version}&timeoutSeconds=1"
            ))
            .await;
        let mut count = 0;
        while old.next().await.is_some() {
            count += 1;
        }
        run.record(format!("{kind}: again"), json!([old.code, count]));
    }
}

pub(crate) async fn tables(run: &mut Run) {
    for (kind, path) in fill(run).await {
        run.step(format!("{kind}: table"), Ask::get(&path).table())
            .await;
        run.step(
            format!("{kind}: row"),
            Ask::get(format!("{path}/o1")).table(),
        )
        .await;
        run.step(
            format!("{kind}: page"),
            Ask::get(format!("{path}?limit=1")).table(),
        )
        .await;
        run.step(
            format!("{kind}: whole objects"),
            Ask::get(format!("{path}?includeObject=Object&limit=1")).table(),
        )
        .await;
        run.step(
            format!("{kind}: no objects"),
            Ask::get(format!("{path}?includeObject=None&limit=1")).table(),
        )
        .await;
        run.step(
            format!("{kind}: odd objects"),
            Ask::get(format!("{path}?includeObject=Odd&limit=1")).table(),
        )
        .await;
        run.step(
            format!("{kind}: absent"),
            Ask::get(format!("{path}/none")).table(),
        )
        .await;
    }
    let full = gadget(
        "full",
        json!({
            "replicas": 3, "share": 0.5, "tags": ["a", "b"], "items": [{"name": "i"}, {"name": "j"}], "when": "2020-01-01T00:00:00Z",
        }),
    );
    let gadgets = run.path(GADGETS);
    run.send_unrecorded(Ask::post(&gadgets, full)).await;
    let status =
        json!({"status": {"done": true, "conditions": [{"type": "Ready", "status": "True"}]}});
    run.send_unrecorded(Ask::merge(format!("{gadgets}/full/status"), status))
        .await;
    let row = run
        .send_unrecorded(Ask::get(format!("{gadgets}/full")).table())
        .await;
    let mut cells = row.body["rows"][0]["cells"].clone();
    cells[8] = Value::Null;
    run.record("gadget with everything", json!({ "cells": cells }));
    for (kind, object) in [
        ("apps/v1/deployments", workload("a")),
        ("apps/v1/replicasets", {
            let mut set = workload("a");
            set["kind"] = "ReplicaSet".into();
            set
        }),
        (
            "apps/v1/statefulsets",
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "a"}, "spec": {"replicas": 0, "serviceName": "a", "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}}}),
        ),
        (
            "apps/v1/daemonsets",
            json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "a"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"nodeSelector": {"x": "y"}, "containers": [{"name": "a", "image": "a"}]}}}}),
        ),
        (
            "v1/configmaps",
            json!({"metadata": {"name": "a"}, "data": {"a": "b"}}),
        ),
        (
            "v1/services",
            json!({"metadata": {"name": "a"}, "spec": {"clusterIP": "None", "selector": {"a": "b"}, "ports": [{"name": "w", "port": 80}, {"name": "x", "port": 81, "protocol": "UDP"}]}}),
        ),
        ("v1/serviceaccounts", json!({"metadata": {"name": "a"}})),
        (
            "v1/persistentvolumeclaims",
            json!({"metadata": {"name": "a"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
        ),
        (
            "v1/events",
            json!({"metadata": {"name": "a"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": run.namespace}, "reason": "R", "message": "M", "type": "Normal"}),
        ),
        (
            "batch/v1/jobs",
            json!({"metadata": {"name": "a"}, "spec": {"suspend": true, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}}}}),
        ),
        (
            "batch/v1/cronjobs",
            json!({"metadata": {"name": "a"}, "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}}}}}}),
        ),
        (
            "coordination.k8s.io/v1/leases",
            json!({"metadata": {"name": "a"}, "spec": {"holderIdentity": "me"}}),
        ),
        (
            "rbac.authorization.k8s.io/v1/roles",
            json!({"metadata": {"name": "a"}, "rules": []}),
        ),
        (
            "rbac.authorization.k8s.io/v1/rolebindings",
            json!({"metadata": {"name": "a"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"}, "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "x"}, {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}]}),
        ),
    ] {
        let path = run.path(kind);
        let made = run.send_unrecorded(Ask::post(&path, object)).await;
        assert_eq!(made.code, 201, "{kind}: {:?}", made.body);
        let mut table = run
            .send_unrecorded(Ask::get(format!("{path}/a")).table())
            .await
            .body;
        table["rows"][0]["object"]["metadata"] = Value::Null;
        run.record(kind, table);
    }
    let mut table = run
        .send_unrecorded(Ask::get(format!("/api/v1/namespaces/{}", run.namespace)).table())
        .await
        .body;
    table["rows"][0]["object"] = Value::Null;
    run.record("namespace", table);
    let mut table = run.send_unrecorded(Ask::get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.conformance.pilothouse.dev").table()).await.body;
    table["rows"][0]["object"] = Value::Null;
    table["rows"][0]["cells"][1] = Value::Null;
    run.record("definition", table);
}
