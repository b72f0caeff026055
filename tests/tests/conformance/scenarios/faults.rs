//! Objects with a single fault, from one file per kind in `faults/`: a server must refuse each in the same words, or accept
//! it and fill in the same defaults.
//!
//! The first line of a file is `namespaced` or `cluster` and a valid object. Each further line is a fault:
//!
//! - `/spec/replicas -1` creates the object with this value, in a dry run. `-` removes a field, `"a"*70` repeats a text, and
//!   `; ` separates changes.
//! - `merge {…}`, `strategic {…}` and `json […]` patch the stored object, in a dry run; a subresource may come first:
//!   `merge /status {…}`.
//!
//! A case is the faults of one field of a kind.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use serde_json::{Value, json};

use super::Scenario;
use crate::run::{Ask, Run};

struct Faults {
    plural: String,
    namespaced: bool,
    object: Value,
    lines: Vec<String>,
}

impl Faults {
    fn all() -> BTreeMap<String, Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/faults");
        let files = fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().path());
        files
            .map(|file| {
                let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
                let text = fs::read_to_string(&file).unwrap();
                let mut lines = text.lines().map(str::to_owned);
                let head = lines.next().unwrap();
                let (scope, object) = head.split_once(' ').unwrap();
                let faults = Self {
                    plural: name.clone(),
                    namespaced: scope == "namespaced",
                    object: serde_json::from_str(object).unwrap(),
                    lines: lines.filter(|line| !line.is_empty()).collect(),
                };
                (name, faults)
            })
            .collect()
    }

    fn path(&self, run: &Run) -> String {
        let version = self.object["apiVersion"].as_str().unwrap();
        match (self.namespaced, version.contains('/')) {
            (true, _) => run.path(&format!("{version}/{}", self.plural)),
            (false, true) => format!("/apis/{version}/{}", self.plural),
            (false, false) => format!("/api/{version}/{}", self.plural),
        }
    }
}

/// Returns a scenario for each kind.
pub(super) fn of_each() -> impl Iterator<Item = Scenario> {
    Faults::all().into_iter().map(|(name, faults)| {
        let faults = Arc::new(faults);
        Scenario::new(format!("faults-{name}"), move |mut run: Run| {
            let faults = faults.clone();
            async move {
                each(&mut run, &faults).await;
                run
            }
        })
    })
}

/// A user who may do everything, without a client certificate: a request for a certificate shows who makes it.
const SIGNER: &str = "conformance-signer";

async fn each(run: &mut Run, faults: &Faults) {
    let is_signed = faults.plural == "certificatesigningrequests";
    if is_signed {
        let binding = json!({
            "metadata": {"name": SIGNER}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": SIGNER}],
        });
        let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
        run.send_unrecorded(Ask::post(bindings, binding)).await;
        let allowed = Ask::get(bindings).with_user(SIGNER);
        run.until(allowed, |answer| answer.code == 200).await;
    }
    let by = |ask: Ask| match is_signed {
        true => ask.with_user(SIGNER),
        false => ask,
    };
    // The real server creates no account by itself here.
    let account = json!({"metadata": {"name": "default"}});
    run.send_unrecorded(Ask::post(run.path("v1/serviceaccounts"), account))
        .await;
    let path = faults.path(run);
    let stored = format!(
        "{path}/{}",
        faults.object["metadata"]["name"].as_str().unwrap()
    );
    let (created, changed): (Vec<&String>, Vec<&String>) =
        faults.lines.iter().partition(|line| line.starts_with('/'));
    let asks = created.iter().map(|line| {
        let ask = Ask::post(
            format!("{path}?dryRun=All"),
            with_fault(&faults.object, line),
        );
        (step(line), by(ask))
    });
    run.steps(asks.collect::<Vec<_>>()).await;
    if changed.is_empty() {
        return;
    }
    let made = run
        .send_unrecorded(by(Ask::post(&path, faults.object.clone())))
        .await;
    assert_eq!(made.code, 201, "{made:?}");
    if faults.plural == "customresourcedefinitions" {
        // Some fields may not change any more once the kind is served.
        run.until(Ask::get(&stored), |answer| {
            let conditions = answer.body["status"]["conditions"].as_array();
            let mut conditions = conditions.into_iter().flatten();
            conditions.any(|one| one["type"] == "Established" && one["status"] == "True")
        })
        .await;
    }
    let asks = changed
        .iter()
        .map(|line| (step(line), by(change(&stored, line))));
    run.steps(asks.collect::<Vec<_>>()).await;
    // A real server protects some kinds with a finalizer that a controller removes.
    let free = json!({"metadata": {"finalizers": null}});
    run.send_unrecorded(Ask::merge(&stored, free)).await;
    run.send_unrecorded(Ask::delete(format!("{stored}?gracePeriodSeconds=0")))
        .await;
}

/// The name of a step begins with the field that has the fault.
fn step(line: &str) -> String {
    const SHOWN: usize = 160;
    let shown: String = line.chars().take(SHOWN).collect();
    let part = match line.split_once(' ') {
        Some((path, _)) if path.starts_with('/') => {
            let names = path.split('/').skip(1);
            let mut names = names.filter(|name| name.parse::<usize>().is_err());
            let first = names.next().unwrap_or_default();
            match (first, names.next()) {
                ("spec" | "metadata", Some(second)) => match (second, names.next()) {
                    ("containers", Some(third)) => third.to_owned(),
                    _ => second.to_owned(),
                },
                _ => first.to_owned(),
            }
        }
        _ => "changes".to_owned(),
    };
    format!("{part}: {shown}")
}

fn change(stored: &str, line: &str) -> Ask {
    let (kind, rest) = line.split_once(' ').unwrap();
    let (subresource, patch) = match rest.starts_with('/') {
        true => rest.split_once(' ').unwrap(),
        false => ("", rest),
    };
    let path = format!("{stored}{subresource}?dryRun=All");
    let content_type = match kind {
        "merge" => "application/merge-patch+json",
        "strategic" => "application/strategic-merge-patch+json",
        "json" => "application/json-patch+json",
        other => panic!("no kind of patch: {other}"),
    };
    // Not all patches are JSON.
    Ask::patch(path, content_type, Value::Null).raw(content_type, patch.to_owned())
}

fn with_fault(object: &Value, line: &str) -> Value {
    let mut object = object.clone();
    for part in line.split(" ; ") {
        let (path, value) = part.split_once(' ').unwrap();
        let names: Vec<String> = path
            .split('/')
            .skip(1)
            .map(|name| name.replace("~1", "/").replace("~0", "~"))
            .collect();
        put(&mut object, &names, read(value));
    }
    object
}

/// Returns the value that a text shows; `None` removes a field.
fn read(text: &str) -> Option<Value> {
    if text == "-" {
        return None;
    }
    let times = text.rsplit_once('*').and_then(|(shown, times)| {
        let value: Value = serde_json::from_str(shown).ok()?;
        Some((value, times.parse().ok()?))
    });
    Some(match times {
        Some((Value::String(text), times)) => text.repeat(times).into(),
        Some((Value::Array(items), times)) => vec![items; times].concat().into(),
        _ => serde_json::from_str(text).unwrap(),
    })
}

fn put(object: &mut Value, names: &[String], value: Option<Value>) {
    let [name, rest @ ..] = names else {
        *object = value.unwrap_or_default();
        return;
    };
    if object.is_null() {
        *object = match name.parse::<usize>() {
            Ok(_) => json!([]),
            Err(_) => json!({}),
        };
    }
    match object {
        Value::Array(items) => {
            let index: usize = name.parse().unwrap();
            if rest.is_empty() && value.is_none() {
                items.remove(index);
                return;
            }
            if index == items.len() {
                items.push(Value::Null);
            }
            put(&mut items[index], rest, value);
        }
        Value::Object(fields) if rest.is_empty() && value.is_none() => {
            fields.remove(name);
        }
        _ => put(&mut object[name.as_str()], rest, value),
    }
}
