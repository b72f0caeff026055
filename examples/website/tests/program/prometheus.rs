//! A real Prometheus scrapes the operator and runs the queries of dashboards.
//!
//! `PILOTHOUSE_PROMETHEUS` names the program. Without it, the test uses the one on the `PATH`.

use std::{
    env,
    ffi::OsString,
    fs,
    io::{self, BufRead, BufReader, Write},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    thread,
};

use crate::dev::{Dev, eventually, get};
use pilothouse::{
    client::{Api, Client, Config, KubeconfigOptions, Patch, PatchParams},
    resource::{ApiResource, DynamicObject},
};
use serde_json::Value;
use tempfile::TempDir;

/// The labels of the scrape that stand for the cluster.
const LABELS: &str = r#"job="website", namespace="demo""#;

/// The queries of kubebuilder's dashboards `controller-runtime-metrics` and `controller-resources-metrics`.
/// `rate` and `of` write their two forms. [`VARIABLES`] finds the values of their variables.
fn queries() -> Vec<String> {
    let of = |name: &str| format!("{name}{{{LABELS}}}");
    let rate = |name: &str| format!("rate({name}{{{LABELS}}}[5m])");
    let pod = |name: &str| format!(r#"{name}{{{LABELS}, pod="website-0"}}"#);
    let mut queries = vec![
        of("controller_runtime_active_workers"),
        of("workqueue_depth"),
        rate("workqueue_unfinished_work_seconds"),
        pod("process_resident_memory_bytes"),
        format!("{}[5m]) * 100", pod("rate(process_cpu_seconds_total")),
    ];
    for total in ["reconcile_total", "reconcile_errors_total"] {
        let rate = rate(&format!("controller_runtime_{total}"));
        queries.push(format!("sum({rate}) by (instance, pod)"));
    }
    for total in ["adds_total", "retries_total"] {
        let rate = rate(&format!("workqueue_{total}"));
        queries.push(format!("sum({rate}) by (instance, name)"));
    }
    for histogram in ["queue_duration_seconds", "work_duration_seconds"] {
        let rate = rate(&format!("workqueue_{histogram}_bucket"));
        for quantile in ["0.50", "0.90", "0.99"] {
            let buckets = format!("sum({rate}) by (instance, name, le)");
            queries.push(format!("histogram_quantile({quantile}, {buckets})"));
        }
    }
    queries
}

/// The labels by which the dashboards filter, and the series from which their values come.
const VARIABLES: (&str, [&str; 3]) = (
    "controller_runtime_reconcile_total",
    ["job", "namespace", "pod"],
);

/// A Prometheus that scrapes one operator. It is killed when dropped.
struct Prometheus {
    child: Child,
    address: SocketAddr,
    _home: TempDir,
}

impl Prometheus {
    /// Returns `None` if the program is not installed.
    fn scraping(target: SocketAddr) -> Option<Self> {
        let program = env::var_os("PILOTHOUSE_PROMETHEUS");
        let program = program.unwrap_or_else(|| OsString::from("prometheus"));
        let home = tempfile::tempdir().unwrap();
        let config = home.path().join("prometheus.yml");
        let labels = "{job: website, namespace: demo, pod: website-0}";
        let job = format!("{{targets: ['{target}'], labels: {labels}}}");
        let text = format!(
            "global: {{scrape_interval: 1s, scrape_timeout: 1s}}\n\
             scrape_configs:\n- job_name: website\n  static_configs:\n  - {job}\n"
        );
        fs::write(&config, text).unwrap();
        let started = Command::new(&program)
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", home.path().display()))
            .arg("--web.listen-address=127.0.0.1:0")
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = match started {
            Ok(child) => child,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => panic!("{}: {error}", program.display()),
        };
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, address) = line.split_once("\"Listening on\" address=")?;
            address.trim().parse().ok()
        });
        // A full pipe would block the process.
        thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let address = address.expect("it says where it listens");
        // It listens before it can answer queries. Until then it says 503.
        eventually("a Prometheus that is ready", || {
            let (status, _) = get(address, "/-/ready");
            match status.contains(" 200 ") {
                true => Ok(()),
                false => Err(status),
            }
        });
        Some(Self {
            child,
            address,
            _home: home,
        })
    }

    fn ask(&self, path: &str, parameters: &str) -> Value {
        let (status, body) = get(self.address, &format!("{path}?{parameters}"));
        let answer: Value = serde_json::from_str(&body).unwrap_or_default();
        assert_eq!(answer["status"], "success", "{path}: {status} {body}");
        answer["data"].clone()
    }

    /// The values of all series in the result of a query.
    fn query(&self, query: &str) -> Vec<f64> {
        let data = self.ask("/api/v1/query", &format!("query={}", escaped(query)));
        let series = data["result"].as_array().unwrap();
        let values = series.iter().map(|series| series["value"][1].as_str());
        values
            .map(|value| value.unwrap().parse().unwrap())
            .collect()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Percent-encodes everything but letters and digits, for a URL.
fn escaped(text: &str) -> String {
    let escaped = text.bytes().map(|byte| match byte.is_ascii_alphanumeric() {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    escaped.collect()
}

/// Changes objects, so that the operator reconciles.
async fn touch(client: &Client, times: u32) {
    let websites = ApiResource {
        group: "demo.pilothouse.dev".into(),
        version: "v1".into(),
        kind: "Website".into(),
        plural: "websites".into(),
        namespaced: true,
    };
    let mut site: Value = serde_saphyr::from_str(include_str!("../../site.yaml")).unwrap();
    site["spec"]["html"] = format!("<p>{times}</p>").into();
    let websites: Api<DynamicObject> = Api::of(client, websites, Some("default"));
    let (apply, patch) = (PatchParams::apply("user").force(), Patch::Apply(site));
    websites.patch("hello", &apply, &patch).await.unwrap();
}

#[test]
fn the_queries_of_kubebuilders_dashboards_return_values() {
    let dev = Dev::start();
    let Some(prometheus) = Prometheus::scraping(dev.metrics) else {
        // Not with `eprintln!`, because the test harness hides its output if the test passes.
        let line = b"skipped: Prometheus: none found\n";
        return io::stderr().write_all(line).unwrap();
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let options = KubeconfigOptions {
        path: Some(dev.kubeconfig.clone()),
        ..KubeconfigOptions::default()
    };
    let config = runtime.block_on(Config::from_kubeconfig(&options)).unwrap();
    let client = Client::new(config).unwrap();

    let mut times = 0;
    for query in queries() {
        // A rate needs two scrapes, and a quantile needs work between them.
        eventually(&query, || {
            times += 1;
            runtime.block_on(touch(&client, times));
            let values = prometheus.query(&query);
            let shown = !values.is_empty() && values.iter().all(|value| value.is_finite());
            shown.then_some(()).ok_or_else(|| format!("{values:?}"))
        });
    }
    let (series, labels) = VARIABLES;
    for label in labels {
        let path = format!("/api/v1/label/{label}/values");
        let values = prometheus.ask(&path, &format!("match[]={series}"));
        assert_eq!(values.as_array().map(Vec::len), Some(1), "{label}");
    }
    let up = prometheus.query(&format!("min_over_time(up{{{LABELS}}}[5m])"));
    assert_eq!(up, [1.0], "each scrape succeeded");
    let reconciles = prometheus.query(r#"sum(controller_runtime_reconcile_total)"#);
    assert!(reconciles[0] >= 1.0, "{reconciles:?}");
}
