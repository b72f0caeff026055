//! Each alert fires if its fault is caused, and only then.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    time::{Duration, Instant, SystemTime},
};

use pilothouse_tests::prometheus::{Prometheus, promtool};
use regex::{Captures, Regex};
use serde_json::{Value, json};

use crate::{faults, printed, rules::names, scraping};

/// The same rules, sixty times as fast: minutes are seconds, and a limit in seconds is a sixtieth of it.
fn quick(rules: &str) -> String {
    let minutes = Regex::new(r"\b(\d+)m\b").unwrap();
    let rules = minutes.replace_all(rules, "${1}s");
    let limits = Regex::new(r"([<>]|_seconds,) (\d{3,})").unwrap();
    let limit = |found: &Captures<'_>| {
        let seconds: u32 = found[2].parse().unwrap();
        assert_eq!(seconds % 60, 0, "{rules}");
        format!("{} {}", &found[1], seconds / 60)
    };
    limits.replace_all(&rules, limit).into_owned()
}

/// The alerts that have fired so far, with the job of the processes.
fn fired(prometheus: &Prometheus) -> BTreeSet<(String, String)> {
    let fired = "count_over_time(ALERTS{alertstate=\"firing\"}[10m])";
    let label = |labels: &serde_json::Value, name: &str| {
        labels[name].as_str().unwrap_or_default().to_owned()
    };
    let series = prometheus.query(fired).into_iter();
    series
        .map(|(labels, _)| (label(&labels, "job"), label(&labels, "alertname")))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_alert_fires_for_its_fault_and_none_for_a_healthy_operator() {
    let folder = tempfile::tempdir().unwrap();
    let rules = printed(env!("CARGO_BIN_EXE_pages"), "alerts");
    let rule_file = folder.path().join("rules.yaml");
    fs::write(&rule_file, "groups: []\n").unwrap();
    let mut operators = [
        faults::healthy().await,
        faults::hanging().await,
        faults::failing().await,
        faults::leaderless().await,
        faults::undecodable().await,
        faults::unreachable().await,
        faults::cut_short().await,
    ];
    let targets: Vec<_> = operators.iter().flat_map(faults::Faulty::targets).collect();
    let number = targets.len();
    let Some(prometheus) = Prometheus::start(folder.path(), &scraping(targets)) else {
        return;
    };
    // It begins to scrape some seconds after its start, which are minutes for these rules.
    while prometheus.query("up == 1").len() < number {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    fs::write(&rule_file, quick(&rules)).unwrap();
    prometheus.reload();
    let first_second = seconds();
    operators.iter_mut().for_each(faults::Faulty::cut_short);

    let expected = operators.iter().filter_map(|one| {
        let alert = one.alert?;
        Some((one.job.to_owned(), alert.to_owned()))
    });
    let expected: BTreeSet<_> = expected.collect();
    let begun = Instant::now();
    for time in 2.. {
        for one in &operators {
            one.touch(time).await;
        }
        tokio::time::sleep(Duration::from_millis(900)).await;
        let (mut fired, elapsed) = (fired(&prometheus), begun.elapsed());
        // This leader is not scraped, and its Lease expires after about as many seconds as the rule has minutes.
        fired.remove(&("cut-short".into(), "PilothouseNoLeader".into()));
        // A wrong alert fires after 30 s at the latest, because no rule looks back farther.
        let is_over = expected.is_subset(&fired) && elapsed > Duration::from_secs(40);
        if is_over || elapsed > Duration::from_secs(120) {
            assert_eq!(fired, expected);
            break;
        }
    }

    let series = slowly(&prometheus, &rules, first_second);
    drop(operators);
    let down = (String::new(), "PilothouseDown".to_owned());
    let begun = Instant::now();
    while !fired(&prometheus).contains(&down) {
        assert!(begun.elapsed() < Duration::from_secs(120), "{down:?}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    // No alert was left out.
    let caused = expected.iter().map(|(_, alert)| alert.clone());
    let caused: BTreeSet<String> = caused.chain([down.1]).collect();
    assert_eq!(caused, names(&rules));
    fs::write(&rule_file, &rules).unwrap();
    replay(folder.path(), &series, &expected);
}

/// The seconds since 1970.
fn seconds() -> u64 {
    let time = SystemTime::UNIX_EPOCH.elapsed();
    time.unwrap().as_secs()
}

/// The series that the rules use, as they were scraped since `start`, in the notation of promtool, with a value each minute instead of each
/// second. The time begins at 0.
fn slowly(prometheus: &Prometheus, rules: &str, start: u64) -> Vec<(String, String)> {
    let all = prometheus.ask("/api/v1/label/__name__/values", &[]);
    let all = all.as_array().unwrap().iter().filter_map(Value::as_str);
    let word = |name: &str| Regex::new(&format!(r"\b{name}\b")).unwrap();
    let used: Vec<&str> = all.filter(|name| word(name).is_match(rules)).collect();
    assert!(used.len() > 5, "{used:?}");
    let end = seconds();
    let mut series = Vec::new();
    for name in used {
        let (start_text, end_text) = (start.to_string(), end.to_string());
        let range = [
            ("query", name),
            ("start", &start_text),
            ("end", &end_text),
            ("step", "1"),
        ];
        let data = prometheus.ask("/api/v1/query_range", &range);
        for one in data["result"].as_array().unwrap() {
            let labels = one["metric"].as_object().unwrap().iter();
            let labels = labels.filter(|(label, _)| *label != "__name__");
            let labels: Vec<String> = labels
                .map(|(label, value)| format!("{label}={value}"))
                .collect();
            let mut values = vec!["_".to_owned(); usize::try_from(end - start).unwrap() + 1];
            for pair in one["values"].as_array().unwrap() {
                let second = pair[0].as_f64().unwrap() as u64 - start;
                let value: f64 = pair[1].as_str().unwrap().parse().unwrap();
                let value = match name {
                    _ if name.ends_with("_timestamp_seconds") => (value - start as f64) * 60.0,
                    "workqueue_longest_running_processor_seconds" => value * 60.0,
                    _ => value,
                };
                values[usize::try_from(second).unwrap()] = value.to_string();
            }
            // The process ends.
            values.push("stale".into());
            series.push((format!("{name}{{{}}}", labels.join(",")), values.join(" ")));
        }
    }
    series
}

/// Checks with promtool that the rules in the folder, as they are printed, fire for the same faults.
fn replay(folder: &Path, series: &[(String, String)], expected: &BTreeSet<(String, String)>) {
    let length = series.iter().map(|(_, values)| values.split(' ').count());
    let last_minute = length.max().unwrap();
    // As above, the rule for the leader may fire for the operator that takes over.
    let fired = "group by (job, alertname) (count_over_time(ALERTS{alertstate=\"firing\"}[1d]) \
                 unless count_over_time(ALERTS{job=\"cut-short\", alertname=\"PilothouseNoLeader\"}[1d]))";
    let sample = |(job, alert): &(String, String)| json!({"labels": format!("{{job={job:?}, alertname={alert:?}}}"), "value": 1});
    let samples: Vec<Value> = expected.iter().map(sample).collect();
    let down = json!({"labels": "{alertname=\"PilothouseDown\"}", "value": 1});
    let check = |minute: usize, samples: &[Value]| json!({"expr": &fired, "eval_time": format!("{minute}m"), "exp_samples": samples});
    let tests = json!([{
        "interval": "1m",
        "input_series": series.iter().map(|(series, values)| json!({"series": series, "values": values})).collect::<Vec<_>>(),
        "promql_expr_test": [
            check(last_minute - 2, &samples),
            check(last_minute + 10, &[samples.as_slice(), &[down]].concat()),
        ],
    }]);
    let file = json!({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests});
    fs::write(folder.join("replay.yaml"), file.to_string()).unwrap();
    let Some(output) = promtool(folder, &["test", "rules", "replay.yaml"]) else {
        return;
    };
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "{}", said.join("\n"));
}
