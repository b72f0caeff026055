//! Each query of the dashboard returns values on a running operator.

use std::{
    collections::BTreeSet,
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use pilothouse::{
    client::{Client, Config},
    election::ElectionSettings,
    resource::ObjectMeta,
    server::Address,
    testing::{Cluster, RequestMatcher, Sandbox},
};
use pilothouse_tests::{
    prometheus::Prometheus,
    soak::{Bundle, BundleSpec, operator},
};
use serde_json::{Value, json};

use crate::{printed, scraping};

fn dashboard() -> Value {
    let text = printed(env!("CARGO_BIN_EXE_soaker"), "dashboard");
    serde_json::from_str(&text).unwrap()
}

/// The panels that show something, not the titles of the rows.
fn panels(dashboard: &Value) -> Vec<&Value> {
    let panels = dashboard["panels"].as_array().unwrap();
    panels.iter().filter(|one| one["type"] != "row").collect()
}

/// A query as Grafana would send it, with everything chosen.
fn filled(query: &str) -> String {
    query
        .replace("$__rate_interval", "10s")
        .replace("$namespace", ".*")
        .replace("$controller", ".*")
        .replace("$job", "(soak)")
}

/// What the dashboards of kubebuilder's Grafana plugin ask for: a rate, a quantile or a value of a metric, and the labels by which it
/// is summed up.
enum Asked {
    Rate(&'static str, &'static str),
    Quantiles(&'static str, &'static str),
    Value(&'static str),
    ValueRate(&'static str),
}

const KUBEBUILDER: &[Asked] = &[
    Asked::Rate("controller_runtime_reconcile_total", "instance, pod"),
    Asked::Rate("controller_runtime_reconcile_errors_total", "instance, pod"),
    Asked::Quantiles("workqueue_queue_duration_seconds", "instance, name, le"),
    Asked::Quantiles("workqueue_work_duration_seconds", "instance, name, le"),
    Asked::Rate("workqueue_adds_total", "instance, name"),
    Asked::Rate("workqueue_retries_total", "instance, name"),
    Asked::Value("controller_runtime_active_workers"),
    Asked::Value("workqueue_depth"),
    Asked::ValueRate("workqueue_unfinished_work_seconds"),
    Asked::ValueRate("process_cpu_seconds_total"),
    Asked::Value("process_resident_memory_bytes"),
];

impl Asked {
    /// The queries, for the target of the test.
    fn queries(&self) -> Vec<String> {
        const LABELS: &str = "{job=\"soak\", namespace=\"demo\"}";
        match self {
            Self::Rate(metric, by) => vec![format!("sum(rate({metric}{LABELS}[10s])) by ({by})")],
            Self::Quantiles(metric, by) => [0.5, 0.9, 0.99]
                .map(|quantile| {
                    format!("histogram_quantile({quantile}, sum(rate({metric}_bucket{LABELS}[10s])) by ({by}))")
                })
                .into(),
            Self::Value(metric) => vec![format!("{metric}{LABELS}")],
            Self::ValueRate(metric) => vec![format!("rate({metric}{LABELS}[10s])")],
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_query_of_the_dashboard_and_of_those_of_kubebuilder_returns_values() {
    let cluster = Cluster::with(Sandbox::builder()).unwrap();
    let operator = operator()
        .election(ElectionSettings::new("soak"))
        .metrics_address(Address::loopback(0));
    // As for a program: the requests of the client count for the operator.
    let pipes = cluster.sandbox().clone();
    let client = Client::builder(Config::new("http://sandbox".parse().unwrap()))
        .connector(Arc::new(move || Ok(pipes.connect())))
        .metrics(operator.metrics().clone())
        .build()
        .unwrap();
    operator.install(&client).await.unwrap();
    let running = operator.start(client).await.unwrap();
    let bundle = Bundle {
        metadata: ObjectMeta {
            name: Some("one".into()),
            ..ObjectMeta::default()
        },
        spec: BundleSpec {
            size: 3,
            text: "0".into(),
        },
        status: None,
    };
    cluster.create(&bundle).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rules.yaml"), "groups: []\n").unwrap();
    let target = ("soak", running.http_address().unwrap());
    let Some(prometheus) = Prometheus::start(folder.path(), &scraping([target])) else {
        return;
    };

    let dashboard = dashboard();
    let queries = panels(&dashboard).into_iter().flat_map(|panel| {
        let queries = panel["targets"].as_array().unwrap().iter();
        queries.map(|query| filled(query["expr"].as_str().unwrap()))
    });
    let of_kubebuilder = KUBEBUILDER.iter().flat_map(Asked::queries);
    let mut left: Vec<String> = queries.chain(of_kubebuilder).collect();
    let children = RequestMatcher::any().resource("configmaps").verb("watch");
    let begun = Instant::now();
    for time in 1.. {
        // While the events of the children are held back, the second change makes its reconcile wait for the writes of the first.
        cluster.faults().hold_watches(children.clone());
        for part in 0..2 {
            let text = format!("{time}.{part}");
            let change = json!({"spec": {"text": text}});
            cluster.patch::<Bundle>("one", change).await.unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        cluster.faults().release_watches();
        left.retain(|query| {
            let values = prometheus.query(query);
            // A quantile of what has not happened is not a number.
            !values.iter().any(|(_, value)| value.is_finite())
        });
        if left.is_empty() {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(90), "{left:#?}");
        tokio::time::sleep(Duration::from_millis(400)).await;
    }

    // The variables find their values.
    for variable in &dashboard["templating"]["list"].as_array().unwrap()[1..] {
        let query = filled(variable["query"]["query"].as_str().unwrap());
        let parts = query.strip_prefix("label_values(").unwrap();
        let (series, label) = parts.rsplit_once(", ").unwrap();
        let path = format!("/api/v1/label/{}/values", label.trim_end_matches(')'));
        let values = prometheus.ask(&path, &[("match[]", series)]);
        assert_eq!(values.as_array().map(Vec::len), Some(1), "{query}");
    }
    running.stop().await;
}

#[test]
fn panels_have_their_own_ids_and_places() {
    let dashboard = dashboard();
    let all = dashboard["panels"].as_array().unwrap();
    let mut cells = BTreeSet::new();
    for panel in all {
        let side = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        for x in side("x")..side("x") + side("w") {
            assert!(x < 24, "{panel}");
            for y in side("y")..side("y") + side("h") {
                assert!(cells.insert((x, y)), "{panel} covers another panel");
            }
        }
    }
    let ids: BTreeSet<u64> = all.iter().filter_map(|one| one["id"].as_u64()).collect();
    assert_eq!(ids.len(), all.len());
    let text = dashboard.to_string();
    assert!(!text.contains("PROCESS") && !text.contains("CONTROLLER"));
    for panel in panels(&dashboard) {
        assert!(
            !panel["description"].as_str().unwrap().is_empty(),
            "{panel}"
        );
    }
}
