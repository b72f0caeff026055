//! The metrics are those that dashboards and alerts made for controller-runtime look for, and what Prometheus' own
//! checker takes for well made.

mod probe;

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::OsString,
    fs,
    io::{self, Write},
    process::{Command, Stdio},
    time::Duration,
};

use pilothouse::{
    election::ElectionSettings,
    metrics::{CaReload, ExecOutcome, Metrics},
    operator::{Operator, Serving},
    prelude::*,
    server::Address,
    testing::Cluster,
};
use probe::{Probe, widget};

/// Seconds of a reconcile.
const RECONCILE: &[&str] = &[
    "0.005", "0.01", "0.025", "0.05", "0.1", "0.15", "0.2", "0.25", "0.3", "0.35", "0.4", "0.45",
    "0.5", "0.6", "0.7", "0.8", "0.9", "1", "1.25", "1.5", "1.75", "2", "2.5", "3", "3.5", "4",
    "4.5", "5", "6", "7", "8", "9", "10", "15", "20", "25", "30", "40", "50", "60", "+Inf",
];

/// Seconds in a workqueue, rounding errors included: dashboards compare the text.
const QUEUE: &[&str] = &[
    "1e-08",
    "1e-07",
    "1e-06",
    "9.999999999999999e-06",
    "9.999999999999999e-05",
    "0.001",
    "0.01",
    "0.1",
    "1",
    "10",
    "100",
    "1000",
    "+Inf",
];

const CONTROLLER: &[&str] = &["controller"];
const WORKQUEUE: &[&str] = &["controller", "name"];

/// Seconds of a request.
const REQUEST: &[&str] = &[
    "0.005", "0.025", "0.1", "0.25", "0.5", "1", "2", "4", "8", "15", "30", "60", "+Inf",
];

/// Bytes of a request or an answer, in Go's way to write them.
const BYTES: &[&str] = &[
    "64",
    "256",
    "512",
    "1024",
    "4096",
    "16384",
    "65536",
    "262144",
    "1.048576e+06",
    "4.194304e+06",
    "1.6777216e+07",
    "+Inf",
];

/// Seconds in the life of a client certificate: from ten minutes to four years.
const CERTIFICATE: &[&str] = &[
    "600",
    "1800",
    "3600",
    "14400",
    "86400",
    "604800",
    "2.592e+06",
    "7.776e+06",
    "1.5552e+07",
    "3.1104e+07",
    "1.24416e+08",
    "+Inf",
];

/// What client-go has of a client that sends something; the first five are what controller-runtime has of it.
const CLIENT: &[(&str, &str, &[&str], &[&str])] = &[
    (
        "rest_client_requests_total",
        "counter",
        &["code", "host", "method"],
        &[],
    ),
    (
        "rest_client_request_retries_total",
        "counter",
        &["code", "host", "verb"],
        &[],
    ),
    (
        "rest_client_request_duration_seconds",
        "histogram",
        &["host", "verb"],
        REQUEST,
    ),
    (
        "rest_client_request_size_bytes",
        "histogram",
        &["host", "verb"],
        BYTES,
    ),
    (
        "rest_client_response_size_bytes",
        "histogram",
        &["host", "verb"],
        BYTES,
    ),
    (
        "rest_client_rate_limiter_duration_seconds",
        "histogram",
        &["host", "verb"],
        REQUEST,
    ),
    (
        "rest_client_dns_resolution_duration_seconds",
        "histogram",
        &["host"],
        REQUEST,
    ),
    ("rest_client_exec_plugin_ttl_seconds", "gauge", &[], &[]),
    (
        "rest_client_exec_plugin_certificate_rotation_age",
        "histogram",
        &[],
        CERTIFICATE,
    ),
    (
        "rest_client_exec_plugin_call_total",
        "counter",
        &["call_status", "code"],
        &[],
    ),
    (
        "rest_client_exec_plugin_policy_call_total",
        "counter",
        &["allowed", "denied"],
        &[],
    ),
    ("rest_client_transport_cache_entries", "gauge", &[], &[]),
    (
        "rest_client_transport_ca_reload_total",
        "counter",
        &["reason", "result"],
        &[],
    ),
];

/// Name, type, labels, bounds of the buckets: as controller-runtime 0.25 has them, webhooks aside.
const TABLE: &[(&str, &str, &[&str], &[&str])] = &[
    (
        "controller_runtime_reconcile_total",
        "counter",
        &["controller", "result"],
        &[],
    ),
    (
        "controller_runtime_reconcile_errors_total",
        "counter",
        CONTROLLER,
        &[],
    ),
    (
        "controller_runtime_terminal_reconcile_errors_total",
        "counter",
        CONTROLLER,
        &[],
    ),
    (
        "controller_runtime_reconcile_panics_total",
        "counter",
        CONTROLLER,
        &[],
    ),
    (
        "controller_runtime_reconcile_timeouts_total",
        "counter",
        CONTROLLER,
        &[],
    ),
    (
        "controller_runtime_reconcile_time_seconds",
        "histogram",
        CONTROLLER,
        RECONCILE,
    ),
    (
        "controller_runtime_max_concurrent_reconciles",
        "gauge",
        CONTROLLER,
        &[],
    ),
    (
        "controller_runtime_active_workers",
        "gauge",
        CONTROLLER,
        &[],
    ),
    (
        "workqueue_depth",
        "gauge",
        &["controller", "name", "priority"],
        &[],
    ),
    ("workqueue_adds_total", "counter", WORKQUEUE, &[]),
    (
        "workqueue_queue_duration_seconds",
        "histogram",
        WORKQUEUE,
        QUEUE,
    ),
    (
        "workqueue_work_duration_seconds",
        "histogram",
        WORKQUEUE,
        QUEUE,
    ),
    ("workqueue_unfinished_work_seconds", "gauge", WORKQUEUE, &[]),
    (
        "workqueue_longest_running_processor_seconds",
        "gauge",
        WORKQUEUE,
        &[],
    ),
    ("workqueue_retries_total", "counter", WORKQUEUE, &[]),
];

/// What controller-runtime has of an election and of the certificate that is shown, ours of an election after it.
const SERVED: &[(&str, &str, &[&str], &[&str])] = &[
    ("leader_election_master_status", "gauge", &["name"], &[]),
    ("leader_election_slowpath_total", "counter", &["name"], &[]),
    ("certwatcher_read_certificate_total", "counter", &[], &[]),
    (
        "certwatcher_read_certificate_errors_total",
        "counter",
        &[],
        &[],
    ),
    (
        "leader_election_renew_duration_seconds",
        "histogram",
        &["name"],
        REQUEST,
    ),
    (
        "leader_election_fence_refusals_total",
        "counter",
        &["name"],
        &[],
    ),
];

/// Seconds of work in an informer.
const INFORMER: &[&str] = &[
    "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5",
    "10", "+Inf",
];

const KIND: &[&str] = &["group", "name", "resource", "version"];

/// What client-go has of its informers.
const INFORMERS: &[(&str, &str, &[&str], &[&str])] = &[
    ("informer_queued_items", "gauge", KIND, &[]),
    (
        "informer_processing_latency_seconds",
        "histogram",
        KIND,
        INFORMER,
    ),
    ("informer_store_resource_version", "gauge", KIND, &[]),
];

/// What Pilothouse has of lists, watches and itself.
const OWN: &[(&str, &str, &[&str], &[&str])] = &[
    (
        "pilothouse_informer_list_duration_seconds",
        "histogram",
        &["resource"],
        REQUEST,
    ),
    (
        "pilothouse_informer_watch_events_total",
        "counter",
        &["resource", "type"],
        &[],
    ),
    (
        "pilothouse_build_info",
        "gauge",
        &[
            "kubernetes",
            "operator",
            "operator_version",
            "rustc",
            "version",
        ],
        &[],
    ),
];

/// The metrics of an operator whose reconciles succeeded, failed, panicked, came back and still run.
async fn after_some_work() -> String {
    after_work_of(|operator| operator).await
}

/// The same of an operator that was made more of.
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

/// A sample: its labels, and the text of its value.
type Sample = (BTreeMap<String, String>, String);

/// The text format, as far as these tests need it.
struct Exposition {
    types: BTreeMap<String, String>,
    samples: BTreeMap<String, Vec<Sample>>,
}

impl Exposition {
    fn parse(text: &str) -> Self {
        let mut parsed = Self {
            types: BTreeMap::new(),
            samples: BTreeMap::new(),
        };
        for line in text.lines() {
            if let Some(typed) = line.strip_prefix("# TYPE ") {
                let (name, kind) = typed.split_once(' ').unwrap();
                parsed.types.insert(name.into(), kind.into());
            } else if !line.starts_with('#') {
                let (series, value) = line.rsplit_once(' ').unwrap();
                let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
                let labels = labels.strip_suffix('}').unwrap();
                let labels = labels
                    .split_terminator("\",")
                    .filter(|label| !label.is_empty());
                let labels = labels.map(|label| {
                    let (name, value) = label.split_once("=\"").unwrap();
                    (name.to_owned(), value.trim_end_matches('"').to_owned())
                });
                let sample = (labels.collect(), value.to_owned());
                parsed.samples.entry(name.into()).or_default().push(sample);
            }
        }
        parsed
    }

    /// The names of the labels that every sample of that name has; they must not differ.
    fn labels(&self, name: &str) -> Vec<&str> {
        let samples = self.samples.get(name);
        let samples = samples.unwrap_or_else(|| panic!("no sample of {name}"));
        let names: BTreeSet<Vec<&str>> = samples
            .iter()
            .map(|(labels, _)| labels.keys().map(String::as_str).collect())
            .collect();
        assert_eq!(names.len(), 1, "{name} has samples with {names:?}");
        names.into_iter().flatten().collect()
    }

    /// What a label is in the samples of that name, in their order.
    fn values(&self, name: &str, label: &str) -> Vec<&str> {
        let samples = self.samples[name].iter();
        samples.map(|(labels, _)| labels[label].as_str()).collect()
    }

    fn has(&self, table: &[(&str, &str, &[&str], &[&str])]) {
        for &(name, kind, labels, buckets) in table {
            assert_eq!(self.types[name], kind, "{name}");
            if buckets.is_empty() {
                assert_eq!(self.labels(name), labels, "{name}");
                continue;
            }
            for part in ["_sum", "_count"] {
                assert_eq!(self.labels(&format!("{name}{part}")), labels, "{name}");
            }
            let bucket = format!("{name}_bucket");
            let with_bound: Vec<&str> = self.labels(&bucket);
            assert!(with_bound.contains(&"le"), "{name}");
            let others: Vec<&str> = with_bound
                .into_iter()
                .filter(|label| *label != "le")
                .collect();
            assert_eq!(others, labels, "{name}");
            assert_eq!(self.values(&bucket, "le"), buckets, "{name}");
        }
    }

    fn value(&self, name: &str, label: &str, is: &str) -> &str {
        let mut samples = self.samples[name].iter();
        let found = samples.find(|(labels, _)| labels[label] == is);
        &found.unwrap_or_else(|| panic!("no {label}={is}")).1
    }
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
async fn lists_watches_and_the_build_have_series_of_their_own() {
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
fn what_clients_send_is_measured_as_client_go_measures_it() {
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
fn what_informers_do_is_measured_as_client_go_measures_it() {
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
async fn what_the_work_led_to_is_counted() {
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
async fn caches_tell_of_the_size_of_their_objects_and_name_the_controllers_that_listen() {
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
async fn promtool_has_nothing_to_say() {
    promtool(&after_some_work().await);
}

#[tokio::test(start_paused = true)]
async fn an_elected_operator_that_serves_https_has_all_series_and_promtool_nothing_to_say() {
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

/// Lets promtool look at the metrics, where there is one.
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
            // Not `eprintln!`: of a test that passes, the test harness keeps that to itself.
            let line = format!("skipped: promtool: no {} found\n", promtool.display());
            io::stderr().write_all(line.as_bytes()).unwrap();
            return;
        }
        Err(error) => panic!("{}: {error}", promtool.display()),
    };
    // It reads everything before it says anything.
    let mut input = child.stdin.take().unwrap();
    input.write_all(text.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap());
    assert!(output.status.success(), "{} {said:?}", output.status);
    assert_eq!(said, ["", ""]);
}
