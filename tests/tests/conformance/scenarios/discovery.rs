//! Discovery: groups, kinds and schemas.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::gadget::install;
use crate::run::{Ask, Run};

pub(super) const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

pub(crate) async fn documents(run: &mut Run) {
    install(run).await;
    let group = "/apis/conformance.pilothouse.dev";
    run.until(Ask::get(group), |answer| answer.code == 200)
        .await;
    run.step("group", Ask::get(group)).await;
    run.step("kinds", Ask::get(format!("{group}/v1"))).await;
    run.step("no such version", Ask::get(format!("{group}/v2")))
        .await;
    run.step("core versions", Ask::get("/api")).await;
    let groups = run.send_unrecorded(Ask::get("/apis")).await.body;
    run.record(
        "entry of the group",
        pick(&groups["groups"], "name", "conformance.pilothouse.dev"),
    );
    run.record("built-in groups", built_in(&groups["groups"], "/name"));
    let ask = Ask::get("/apis").accept(AGGREGATED);
    let ready = run.until(ask, |answer| {
        answer.body["items"].as_array().is_some_and(|items| {
            items
                .iter()
                .any(|item| item["metadata"]["name"] == "conformance.pilothouse.dev")
        })
    });
    let aggregated = ready.await;
    run.record("aggregated: media type", aggregated.content_type.into());
    let mut entry = aggregated.body["items"].clone();
    if let Some(items) = entry.as_array_mut() {
        items.retain(|item| item["metadata"]["name"] == "conformance.pilothouse.dev");
    }
    run.record("aggregated: entry", entry);
    whole(run, &groups["groups"], &aggregated.body["items"]).await;
    let openapi = "/openapi/v3/apis/conformance.pilothouse.dev/v1";
    let document = run
        .until(Ask::get(openapi), |answer| answer.code == 200)
        .await
        .body;
    for part in ["openapi", "info"] {
        run.record(format!("openapi: {part}"), document[part].clone());
    }
    let paths = document["paths"].as_object().cloned().unwrap_or_default();
    run.record(
        "openapi: paths",
        paths.keys().cloned().collect::<Vec<_>>().into(),
    );
    for (path, methods) in &paths {
        run.record(format!("openapi: {path}"), methods.clone());
    }
    let schemas = document["components"]["schemas"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    run.record(
        "openapi: schemas",
        schemas.keys().cloned().collect::<Vec<_>>().into(),
    );
    for (name, schema) in &schemas {
        if name.starts_with("dev.pilothouse") {
            run.record(format!("openapi: {name}"), schema.clone());
        }
    }
    let index = run.send_unrecorded(Ask::get("/openapi/v3")).await.body;
    let url = index["paths"]["apis/conformance.pilothouse.dev/v1"]["serverRelativeURL"]
        .as_str()
        .unwrap_or_default();
    run.record(
        "openapi: index",
        json!([url.split('=').next(), url.split('=').nth(1).map(str::len)]),
    );
    let version = run.send_unrecorded(Ask::get("/version")).await.body;
    let keys: Vec<String> = version
        .as_object()
        .map(|object| object.keys().cloned().collect())
        .unwrap_or_default();
    run.record("version", keys.into());
    for path in [
        "/healthz",
        "/livez",
        "/readyz",
        "/livez/ping",
        "/readyz/etcd",
        "/readyz/none",
        "/livez?exclude=etcd",
    ] {
        run.step(path, Ask::get(path)).await;
    }
    metrics(run).await;
    media_types(run).await;
    identity(run).await;
    // Some do not read the method.
    for path in [
        "/api",
        "/api/v1",
        "/apis/apps",
        "/apis/apps/v1",
        "/apis/none",
        "/healthz",
        "/none",
        "/version",
    ] {
        run.step(format!("post {path}"), Ask::post(path, json!({})))
            .await;
        run.step(format!("delete {path}"), Ask::delete(path)).await;
    }
    for path in [
        "/readyz?verbose",
        "/healthz?verbose",
        "/livez?verbose&exclude=b&exclude=etcd&exclude=a",
        "/livez/poststarthook/rbac/bootstrap-roles",
        "/livez/shutdown",
    ] {
        run.step(path, Ask::get(path)).await;
    }
}

/// The list of paths, and how others verify tokens. Issuer, addresses and keys belong to each server.
async fn identity(run: &mut Run) {
    let paths = run.send_unrecorded(Ask::get("/")).await.body;
    let own = ["/metrics/", "/statusz"];
    let listed = paths["paths"].as_array().unwrap().iter();
    let shared = listed.filter(|path| {
        let path = path.as_str().unwrap();
        !path.contains("pilothouse.dev") && !own.iter().any(|own| path.starts_with(own))
    });
    run.record("paths", shared.cloned().collect::<Vec<_>>().into());
    let keys = "/openid/v1/jwks";
    run.step(format!("{keys}: as JSON"), Ask::get(keys)).await;
    for path in ["/.well-known/openid-configuration", keys] {
        let answer = run.send_unrecorded(Ask::get(path).accept("*/*")).await;
        let mut body = answer.body.clone();
        body["issuer"].take();
        body["jwks_uri"].take();
        for key in body["keys"].as_array_mut().into_iter().flatten() {
            for part in ["kid", "x", "y"] {
                key[part] = key[part].as_str().unwrap().len().into();
            }
        }
        run.record(
            path,
            json!({"code": answer.code, "type": answer.content_type, "body": body}),
        );
    }
}

/// What a path answers to a client that accepts none, or only some, of its media types.
async fn media_types(run: &mut Run) {
    let maps = run.path("v1/configmaps");
    for path in [
        "/version",
        "/api",
        "/apis",
        "/apis/apps",
        "/apis/apps/v1",
        "/apis/conformance.pilothouse.dev",
        "/apis/conformance.pilothouse.dev/v1",
        "/healthz",
        "/api/v1/watch/namespaces?timeoutSeconds=1&fieldSelector=metadata.name%3Dnone",
        "/none",
        "/api/v1/none",
        &maps,
        &format!("{maps}/none"),
    ] {
        for accept in [
            "",
            "text/html, */*;q=0.1",
            "text/plain",
            "application/*",
            "APPLICATION/JSON",
            "application/json;q=0",
            "application/json;stream=watch",
            "application/json;as=Other;v=v1;g=meta.k8s.io",
        ] {
            let answer = run.send_unrecorded(Ask::get(path).accept(accept)).await;
            let message = match answer.code {
                200 => Value::Null,
                _ => answer.body,
            };
            let kind = match path {
                "/healthz" => String::new(),
                _ => answer.content_type,
            };
            run.record(
                format!("accepted: {}: {accept}", path.trim_start_matches(&maps)),
                json!([answer.code, kind, message]),
            );
        }
    }
}

/// Records everything about the built-in groups, in both forms.
async fn whole(run: &mut Run, groups: &Value, aggregated: &Value) {
    run.step("/api aggregated", Ask::get("/api").accept(AGGREGATED))
        .await;
    for group in built_in(aggregated, "/metadata/name").as_array().unwrap() {
        let name = group["metadata"]["name"].as_str().unwrap();
        run.record(format!("aggregated: {name}"), group.clone());
    }
    run.step("/api/v1", Ask::get("/api/v1")).await;
    for group in built_in(groups, "/name").as_array().unwrap() {
        let path = format!("/apis/{}", group["name"].as_str().unwrap());
        run.step(&path, Ask::get(&path)).await;
        for version in group["versions"].as_array().unwrap() {
            let path = format!("{path}/{}", version["version"].as_str().unwrap());
            run.step(&path, Ask::get(&path)).await;
        }
    }
    let index = run.send_unrecorded(Ask::get("/openapi/v3")).await.body;
    let paths = index["paths"].as_object().unwrap().keys();
    // A real server also describes groups without versions, and paths that are not resources.
    let is_version = |path: &&String| match path.split('/').collect::<Vec<_>>()[..] {
        ["api", _] => true,
        ["apis", group, _] => !group.ends_with("pilothouse.dev"),
        _ => false,
    };
    let paths: Vec<&String> = paths.filter(is_version).collect();
    run.record("openapi: built-in versions", json!(paths));
    documentation(run).await;
}

/// The groups that no test has defined. Their names are at `pointer`.
fn built_in(groups: &Value, pointer: &str) -> Value {
    let all = groups.as_array().into_iter().flatten();
    let name = |group: &Value| {
        group
            .pointer(pointer)
            .and_then(Value::as_str)
            .map(String::from)
    };
    all.filter(|group| name(group).is_some_and(|name| !name.ends_with("pilothouse.dev")))
        .cloned()
        .collect()
}

fn pick(items: &Value, key: &str, name: &str) -> Value {
    let found = items
        .as_array()
        .into_iter()
        .flatten()
        .find(|item| item[key] == name);
    found.cloned().unwrap_or_default()
}

/// Records what some documents say about types and their fields.
async fn documentation(run: &mut Run) {
    for (path, names) in [
        (
            "api/v1",
            &["core.v1.Pod", "core.v1.Container", "core.v1.ServicePort"][..],
        ),
        (
            "apis/apps/v1",
            &["apps.v1.DeploymentSpec", "apps.v1.DeploymentList"],
        ),
        ("apis/autoscaling/v1", &["autoscaling.v1.Scale"]),
    ] {
        let document = run
            .send_unrecorded(Ask::get(format!("/openapi/v3/{path}")))
            .await;
        for name in names {
            let schema = &document.body["components"]["schemas"][format!("io.k8s.api.{name}")];
            let fields = schema["properties"].as_object().into_iter().flatten();
            let fields =
                fields.map(|(field, schema)| (field.clone(), schema["description"].clone()));
            let fields: serde_json::Map<String, Value> = fields.collect();
            let texts = json!({"type": schema["description"], "fields": fields});
            run.record(format!("openapi: documentation of {name}"), texts);
        }
    }
}

/// Records the names of the metrics that the sandbox has, with their types and the names of their labels. A real server has many more.
async fn metrics(run: &mut Run) {
    const NAMES: [&str; 10] = [
        "apiserver_current_inflight_requests",
        "apiserver_longrunning_requests",
        "apiserver_request_duration_seconds",
        "apiserver_request_total",
        "apiserver_resource_objects",
        "process_cpu_seconds_total",
        "process_open_fds",
        "process_resident_memory_bytes",
        "process_start_time_seconds",
        "process_virtual_memory_bytes",
    ];
    let path = run.path("v1/pods");
    let watch = run.watch(format!("{path}?watch=1")).await;
    let page = run.send_unrecorded(Ask::get("/metrics")).await;
    drop(watch);
    let text = page.body.as_str().unwrap_or_default();
    for name in NAMES {
        let kind = text
            .lines()
            .find(|line| line.starts_with(&format!("# TYPE {name} ")));
        let samples = text.lines().filter_map(|line| line.strip_prefix(name));
        let labels = samples.filter_map(|rest| rest.split_once('{')?.1.split_once('}'));
        let labels: BTreeSet<Vec<&str>> = labels
            .map(|(labels, _)| {
                let pairs = labels.split("\",").filter_map(|pair| pair.split_once('='));
                pairs.map(|(label, _)| label).collect()
            })
            .collect();
        run.record(
            format!("/metrics: {name}"),
            json!({"type": kind, "labels": labels}),
        );
    }
}
