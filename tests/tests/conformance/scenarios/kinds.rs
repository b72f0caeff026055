//! Every built-in kind that no other scenario covers, from one file per kind in `kinds/`.
//!
//! A file holds the kind's plural name and scope, a minimal and a rich object, merge patches for the rich object
//! (`updates`), merge patches that make the minimal object invalid (`refused`), and a status, if the kind has one.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Scenario, discovery::AGGREGATED};
use crate::run::{Ask, Run};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Kind {
    plural: String,
    namespaced: bool,
    minimal: Value,
    rich: Value,
    updates: BTreeMap<String, Value>,
    refused: BTreeMap<String, Value>,
    status: Option<Value>,
    /// Selectors of fields besides the name.
    #[serde(default)]
    selectors: Vec<String>,
    /// Merge patches that make the status invalid.
    #[serde(default)]
    refused_status: BTreeMap<String, Value>,
}

impl Kind {
    fn all() -> BTreeMap<String, Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/kinds");
        let files = fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().path());
        files
            .map(|file| {
                let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
                let read = serde_json::from_slice(&fs::read(&file).unwrap());
                (name, read.unwrap_or_else(|why| panic!("{file:?}: {why}")))
            })
            .collect()
    }

    fn api_version(&self) -> &str {
        self.minimal["apiVersion"].as_str().unwrap()
    }

    fn path(&self, run: &Run) -> String {
        let version = self.api_version();
        match (self.namespaced, version.contains('/')) {
            (true, _) => run.path(&format!("{version}/{}", self.plural)),
            (false, true) => format!("/apis/{version}/{}", self.plural),
            (false, false) => format!("/api/{version}/{}", self.plural),
        }
    }
}

/// The kinds of other scenarios, by group and version. All have a case of `crud`, except two that cannot go through the same life: a
/// namespace is deleted by a controller, in the scenario `namespaces`; a definition is established by one, and an object of it comes and goes
/// in `definitions`, `stored-versions` and `conversion`.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "v1",
        "configmaps events namespaces nodes persistentvolumeclaims pods replicationcontrollers secrets serviceaccounts services",
    ),
    (
        "apps/v1",
        "controllerrevisions daemonsets deployments replicasets statefulsets",
    ),
    ("batch/v1", "cronjobs jobs"),
    ("coordination.k8s.io/v1", "leases"),
    ("events.k8s.io/v1", "events"),
    ("policy/v1", "poddisruptionbudgets"),
    (
        "rbac.authorization.k8s.io/v1",
        "clusterrolebindings clusterroles rolebindings roles",
    ),
    ("apiextensions.k8s.io/v1", "customresourcedefinitions"),
];

/// Returns a scenario for each kind.
pub(super) fn of_each() -> impl Iterator<Item = Scenario> {
    Kind::all().into_iter().map(|(name, kind)| {
        let kind = Arc::new(kind);
        Scenario::new(format!("kinds/{name}"), move |mut run: Run| {
            let kind = kind.clone();
            async move {
                life(&mut run, &kind).await;
                run
            }
        })
    })
}

pub(crate) async fn every_kind_is_tested(run: &mut Run) {
    let kinds = Kind::all();
    let mut untested = Vec::new();
    for root in ["/api", "/apis"] {
        let discovered = run
            .send_unrecorded(Ask::get(root).accept(AGGREGATED))
            .await
            .body;
        for group in discovered["items"].as_array().unwrap() {
            let name = group["metadata"]["name"].as_str().unwrap_or_default();
            if name.ends_with("pilothouse.dev") {
                continue;
            }
            for version in group["versions"].as_array().unwrap() {
                let version = version["version"].as_str().unwrap();
                let version = match name {
                    "" => version.to_owned(),
                    group => format!("{group}/{version}"),
                };
                for resource in resources(group, &version) {
                    let here = kinds
                        .values()
                        .any(|kind| kind.plural == resource && kind.api_version() == version);
                    let elsewhere = ELSEWHERE.iter().any(|(other, plurals)| {
                        *other == version && plurals.split(' ').any(|plural| plural == resource)
                    });
                    if !here && !elsewhere {
                        untested.push(format!("{version} {resource}"));
                    }
                }
            }
        }
    }
    run.record("kinds without a test", untested.into());
}

/// The resources of a group version that can be created and deleted.
fn resources(group: &Value, version: &str) -> Vec<String> {
    let versions = group["versions"].as_array().into_iter().flatten();
    let same = versions.filter(|entry| version.ends_with(entry["version"].as_str().unwrap()));
    let resources = same.flat_map(|entry| entry["resources"].as_array().into_iter().flatten());
    resources
        .filter(|resource| {
            let verbs = resource["verbs"].as_array().unwrap();
            ["create", "delete"]
                .iter()
                .all(|verb| verbs.contains(&(*verb).into()))
        })
        .map(|resource| resource["resource"].as_str().unwrap().to_owned())
        .collect()
}

async fn life(run: &mut Run, kind: &Kind) {
    let path = kind.path(run);
    let at = |object: &Value| format!("{path}/{}", object["metadata"]["name"].as_str().unwrap());
    let (minimal, rich) = (at(&kind.minimal), at(&kind.rich));
    let create = |object: &Value| Ask::post(&path, object.clone());

    run.step("create minimal", create(&kind.minimal)).await;
    run.step("create again", create(&kind.minimal)).await;
    run.step("create rich", create(&kind.rich)).await;
    run.step("get minimal", Ask::get(&minimal)).await;
    run.step("get rich", Ask::get(&rich)).await;
    let same = put_the_same(run, &rich).await;
    run.record("put the same changes nothing", same.into());
    run.step(
        "put without a version",
        Ask::put(&minimal, kind.minimal.clone()),
    )
    .await;
    let mut absent = kind.minimal.clone();
    absent["metadata"]["name"] = "absent".into();
    let ask = Ask::put(format!("{path}/absent?dryRun=All"), absent);
    run.step("put absent", ask).await;

    let label = |name: &str| json!({"metadata": {"labels": {name: "yes"}}});
    run.step("merge patch", Ask::merge(&rich, label("conformance-kind")))
        .await;
    run.step(
        "strategic merge patch",
        Ask::strategic(&rich, label("strategic")),
    )
    .await;
    let note = json!([{"op": "add", "path": "/metadata/annotations", "value": {"json": "yes"}}]);
    run.step("JSON patch", Ask::json(&rich, note)).await;
    for (what, patch) in &kind.updates {
        run.step(format!("update {what}"), Ask::merge(&rich, patch.clone()))
            .await;
    }
    let apply = |manager: &str| {
        let mut applied = kind.minimal.clone();
        applied["metadata"]["labels"] = json!({"by": manager});
        Ask::apply(format!("{minimal}?fieldManager={manager}"), applied)
    };
    run.step("apply", apply("one")).await;
    run.step("apply by another", apply("two")).await;
    let again = Ask::apply(
        format!("{rich}?fieldManager=one&force=true"),
        kind.rich.clone(),
    );
    run.step("apply rich", again).await;

    for (what, patch) in &kind.refused {
        let mut bad = kind.minimal.clone();
        merge(&mut bad, patch);
        let ask = Ask::post(format!("{path}?dryRun=All"), bad);
        run.step(format!("refused: {what}"), ask).await;
    }
    run.step(
        "unknown field",
        Ask::merge(
            format!("{rich}?fieldValidation=Strict&dryRun=All"),
            json!({"bogus": 1}),
        ),
    )
    .await;
    if let Some(status) = &kind.status {
        let status = json!({"status": status});
        run.step(
            "status",
            Ask::merge(format!("{rich}/status"), status.clone()),
        )
        .await;
        run.step("get status", Ask::get(format!("{rich}/status")))
            .await;
        for (what, status) in &kind.refused_status {
            let ask = Ask::merge(format!("{rich}/status"), json!({"status": status}));
            run.step(format!("refused status: {what}"), ask).await;
        }
        run.step("status in the main resource", Ask::merge(&minimal, status))
            .await;
    }
    run.step("table of minimal", Ask::get(&minimal).table())
        .await;
    run.step("table of rich", Ask::get(&rich).table()).await;
    let listed = format!("{path}?labelSelector=conformance-kind%3Dyes");
    run.step("list", Ask::get(&listed)).await;
    for selector in kind.selectors.iter().map(String::as_str).chain(["bogus=x"]) {
        let selected = format!("{listed}&fieldSelector={}", selector.replace('=', "%3D"));
        run.step(format!("list by {selector}"), Ask::get(selected).table())
            .await;
    }

    // A real server protects some kinds with a finalizer that a controller removes.
    let free = json!({"metadata": {"finalizers": null}});
    for one in [&minimal, &rich] {
        run.send_unrecorded(Ask::merge(one, free.clone())).await;
    }
    let mut watch = run.watch(format!("{listed}&watch=true")).await;
    run.step("delete rich", Ask::delete(&rich)).await;
    let events = watch.events(2).await;
    run.record("watched", events);
    run.step("delete minimal", Ask::delete(&minimal)).await;
    run.step("get deleted", Ask::get(&rich)).await;
}

/// Whether a replace by the same object leaves its version. Tries again if a controller changes the object meanwhile.
async fn put_the_same(run: &mut Run, path: &str) -> bool {
    loop {
        let read = run.send_unrecorded(Ask::get(path)).await.body;
        let put = run.send_unrecorded(Ask::put(path, read.clone())).await;
        if put.code != 409 {
            let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
            return version(&put.body) == version(&read);
        }
    }
}

/// Merges a JSON merge patch into an object.
fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    for (name, value) in fields {
        if value.is_null() {
            object.as_object_mut().unwrap().remove(name);
        } else {
            merge(&mut object[name], value);
        }
    }
}
