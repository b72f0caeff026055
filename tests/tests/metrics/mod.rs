//! Checks that the metrics match those of controller-runtime, so that its dashboards and alerts work, and that Prometheus' own
//! checker accepts them.

mod exposition;
mod tables;

use std::{
    collections::BTreeSet,
    env,
    ffi::OsString,
    fs,
    io::{self, Write},
    process::{Command, Stdio},
    time::Duration,
};

use crate::probe::{Probe, widget};
use exposition::Exposition;
use http_body_util::BodyExt;
use pilothouse::{
    client::Body,
    election::ElectionSettings,
    k8s::api::core::v1::ConfigMap,
    metrics::{CaReload, ExecOutcome, Metrics},
    operator::{Operator, Serving},
    prelude::*,
    server::Address,
    testing::Cluster,
};
use tables::*;

/// Returns the metrics of an operator whose reconciles succeeded, failed, panicked, were requeued and still run.
async fn after_some_work() -> String {
    after_work_of(|operator| operator).await
}

/// Returns the same metrics of an operator with further settings.
async fn after_work_of(more: impl FnOnce(Operator) -> Operator) -> String {
    let probe = Probe::new(async |widget, call| match widget.name() {
        "fails" if call < 3 => Err(Failure::new("not yet")),
        "never" => Err(Failure::new("no").terminal()),
        "panics" if call < 3 => panic!("planted"),
        "returns" if call < 3 => Ok(Action::requeue_after(Duration::from_secs(1))),
        "runs" => std::future::pending().await,
        _ => Ok(Action::wait()),
    });
    let seen = probe.seen();
    let cluster = Cluster::start().unwrap();
    let operator = more(Operator::new("metrics").controller(probe));
    let running = cluster.run(operator).await.unwrap();
    for (name, calls) in [
        ("fails", 3),
        ("never", 1),
        ("panics", 3),
        ("returns", 3),
        ("runs", 1),
    ] {
        cluster.create(&widget(name, 1)).await.unwrap();
        seen.until_calls(name, calls).await;
    }
    cluster.settle().await;
    running.metrics().encode()
}

#[tokio::test(start_paused = true)]
async fn names_types_labels_and_buckets_are_those_of_controller_runtime() {
    let metrics = Exposition::parse(&after_some_work().await);
    let shared =
        |name: &&String| name.starts_with("workqueue_") || name.starts_with("controller_runtime_");
    let found: BTreeSet<&str> = metrics
        .types
        .keys()
        .filter(shared)
        .map(String::as_str)
        .collect();
    let expected = TABLE.iter().map(|(name, ..)| *name).collect();
    assert_eq!(found, expected);

    metrics.has(TABLE);
}

#[tokio::test(start_paused = true)]
async fn lists_watches_and_the_build_have_their_own_series() {
    let metrics = Exposition::parse(&after_some_work().await);
    metrics.has(OWN);
    let events = "pilothouse_informer_watch_events_total";
    let added = metrics.samples[events]
        .iter()
        .find(|(labels, _)| labels["type"] == "added");
    assert_eq!(added.unwrap().1, "5");
    let lists = "pilothouse_informer_list_duration_seconds_count";
    assert_eq!(metrics.samples[lists][0].1, "1");
}

#[test]
fn client_metrics_match_those_of_client_go() {
    let metrics = Metrics::new();
    let client = metrics.client();
    let (host, time) = ("host:6443", Duration::from_millis(20));
    client.request(None, "GET", host);
    client.retry(Some(429), "GET", host);
    client.duration("GET", host, time);
    client.request_size("POST", host, 100);
    client.response_size("GET", host, 100);
    client.held_back("GET", host, time);
    client.dns_resolution("host", time);
    client.ca_reload(CaReload::Updated);
    client.exec.call(ExecOutcome::Success);
    client.exec.policy(true);
    let text = metrics.encode();
    let metrics = Exposition::parse(&text);
    let of_client = |name: &&String| name.starts_with("rest_client_");
    let found: BTreeSet<_> = metrics.types.keys().filter(of_client).collect();
    let found: BTreeSet<_> = found.into_iter().map(String::as_str).collect();
    assert_eq!(found, CLIENT.iter().map(|(name, ..)| *name).collect());
    metrics.has(CLIENT);
    promtool(&text);
}

#[test]
fn informer_metrics_match_those_of_client_go() {
    let metrics = Metrics::new();
    let informer = metrics.informer("apps", "v1", "deployments");
    informer.listing("expired");
    informer.fell_back("unsupported");
    informer.watching("closed");
    informer.reached("98765432109876543210");
    let listener = informer.listener("web");
    listener.backlog.set(1);
    let text = metrics.encode();
    let metrics = Exposition::parse(&text);
    let of_client_go = |name: &&String| name.starts_with("informer_");
    let found: BTreeSet<_> = metrics.types.keys().filter(of_client_go).collect();
    let found: BTreeSet<_> = found.into_iter().map(String::as_str).collect();
    assert_eq!(found, INFORMERS.iter().map(|(name, ..)| *name).collect());
    metrics.has(INFORMERS);
    let version = metrics.value("informer_store_resource_version", "group", "apps");
    assert_eq!(version, "432109876543210");
    promtool(&text);
}

#[tokio::test(start_paused = true)]
async fn reconcile_outcomes_are_counted() {
    let metrics = Exposition::parse(&after_some_work().await);
    let total = "controller_runtime_reconcile_total";
    for (result, count) in [
        ("error", "5"),
        ("requeue", "0"),
        ("requeue_after", "2"),
        ("success", "3"),
    ] {
        assert_eq!(metrics.value(total, "result", result), count, "{result}");
    }
    for (name, count) in [
        ("controller_runtime_reconcile_errors_total", "5"),
        ("controller_runtime_terminal_reconcile_errors_total", "1"),
        ("controller_runtime_reconcile_panics_total", "2"),
        ("controller_runtime_active_workers", "1"),
        ("controller_runtime_reconcile_time_seconds_count", "10"),
        ("workqueue_retries_total", "6"),
        ("workqueue_adds_total", "11"),
        ("workqueue_depth", "0"),
    ] {
        assert_eq!(metrics.value(name, "controller", "widget"), count, "{name}");
    }
    for priority in ["-100", "0", "100"] {
        let depth = metrics.value("workqueue_depth", "priority", priority);
        assert_eq!(depth, "0", "{priority}");
    }
    assert_eq!(metrics.values("workqueue_adds_total", "name"), ["widget"]);
}

#[tokio::test(start_paused = true)]
async fn cache_metrics_show_object_sizes_and_the_listening_controllers() {
    let metrics = Exposition::parse(&after_some_work().await);
    let value = |name, label, is| metrics.value(name, label, is).parse::<f64>().unwrap();
    let kind = metrics.values("pilothouse_informer_objects", "resource")[0];
    let objects = value("pilothouse_informer_objects", "resource", kind);
    let bytes = value("pilothouse_informer_object_bytes", "resource", kind);
    assert!(
        (100.0..2000.0).contains(&(bytes / objects)),
        "{bytes} of {objects}"
    );
    let told = "pilothouse_informer_listener_duration_seconds_count";
    assert!(value(told, "listener", "widget") >= 1.0);
}

#[tokio::test(start_paused = true)]
async fn promtool_accepts_the_metrics() {
    promtool(&after_some_work().await);
}

#[tokio::test(start_paused = true)]
async fn promtool_accepts_the_metrics_of_the_sandbox() {
    let cluster = Cluster::start().unwrap();
    cluster.create(&ConfigMap::named("a")).await.unwrap();
    assert!(cluster.get::<ConfigMap>("none").await.unwrap().is_none());
    let request = http::Request::get("/metrics").body(Body::empty()).unwrap();
    let response = cluster.client().send(request).await.unwrap();
    let page = response.into_body().collect().await.unwrap().to_bytes();
    let page = String::from_utf8(page.to_vec()).unwrap();
    let counted = "resource=\"configmaps\",scope=\"resource\",subresource=\"\",verb=\"POST\"";
    assert!(page.contains(counted), "{page}");
    promtool(&page);
}

#[tokio::test(start_paused = true)]
async fn an_elected_https_operator_has_all_series_and_promtool_accepts_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(file("tls.crt"), made.cert.pem()).unwrap();
    fs::write(file("tls.key"), made.signing_key.serialize_pem()).unwrap();
    let serving = Serving::https(file("tls.crt"), file("tls.key")).authorized();
    let text = after_work_of(|operator| {
        operator
            .election(ElectionSettings::new("sites"))
            .metrics_address(Address::loopback(0))
            .serving(serving)
    })
    .await;
    let metrics = Exposition::parse(&text);
    metrics.has(TABLE);
    metrics.has(SERVED);
    let served =
        |name: &&String| name.starts_with("leader_election_") || name.starts_with("certwatcher_");
    let found: BTreeSet<&str> = metrics
        .types
        .keys()
        .filter(served)
        .map(|name| &**name)
        .collect();
    assert_eq!(found, SERVED.iter().map(|(name, ..)| *name).collect());
    let status = "leader_election_master_status";
    assert_eq!(metrics.value(status, "name", "sites"), "1");
    promtool(&text);
}

/// Checks the metrics with promtool if it is installed.
fn promtool(text: &str) {
    let promtool = env::var_os("PILOTHOUSE_PROMTOOL").unwrap_or_else(|| OsString::from("promtool"));
    let started = Command::new(&promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Not `eprintln!`, because the harness hides the output of a passing test.
            let line = format!("skipped: promtool: no {} found\n", promtool.display());
            io::stderr().write_all(line.as_bytes()).unwrap();
            return;
        }
        Err(error) => panic!("{}: {error}", promtool.display()),
    };
    // It reads its whole input before it prints anything.
    let mut input = child.stdin.take().unwrap();
    input.write_all(text.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap());
    assert!(output.status.success(), "{} {said:?}", output.status);
    assert_eq!(said, ["", ""]);
}
