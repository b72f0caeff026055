//! The printed rules as they are, with promtool and series like those of an operator.

use std::{collections::BTreeSet, fs};

use pilothouse_tests::prometheus::promtool;
use serde_json::json;

use crate::printed;

/// The names of the alerts in a file of rules.
pub(crate) fn names(rules: &str) -> BTreeSet<String> {
    let lines = rules.lines();
    let names = lines.filter_map(|line| Some(line.split_once("alert: ")?.1.to_owned()));
    names.collect()
}

/// Series of a process of the operator, one value each minute, and the alerts that fire at some minutes.
struct Case {
    series: &'static [(&'static str, &'static str)],
    fires: &'static [(u32, &'static [&'static str])],
}

/// The labels of all series of a process. `BUILD` is the series that names the operator.
const LABELS: &str = r#"job="pages", instance="10.0.0.1:8080""#;
const BUILD: &str = "pilothouse_build_info{LABELS, operator=\"pages\"}";

const CASES: &[Case] = &[
    // A busy leader whose reconciles fail now and then.
    Case {
        series: &[
            (BUILD, "1x60"),
            (
                "leader_election_master_status{LABELS, name=\"pages\"}",
                "1x60",
            ),
            (
                "leader_election_expired_takeover_timestamp_seconds{LABELS, name=\"pages\"}",
                "0x60",
            ),
            (
                "workqueue_depth{LABELS, controller=\"page\", name=\"page\", priority=\"0\"}",
                "3x60",
            ),
            (
                "workqueue_work_duration_seconds_count{LABELS, controller=\"page\", name=\"page\"}",
                "0+10x60",
            ),
            (
                "controller_runtime_reconcile_total{LABELS, controller=\"page\", result=\"error\"}",
                "0+4x60",
            ),
            (
                "controller_runtime_reconcile_total{LABELS, controller=\"page\", result=\"success\"}",
                "0+6x60",
            ),
            (
                "pilothouse_informer_last_event_timestamp_seconds{LABELS, resource=\"pages\"}",
                "0+60x60",
            ),
            (
                "pilothouse_informer_undecodable_objects{LABELS, resource=\"pages\"}",
                "0x60",
            ),
        ],
        fires: &[(20, &[]), (40, &[]), (60, &[])],
    },
    // The process is gone after ten minutes. A series is forgotten after five.
    Case {
        series: &[(BUILD, "1x10 stale")],
        fires: &[(15, &[]), (17, &["PilothouseDown"])],
    },
    // Another operator does not count.
    Case {
        series: &[("pilothouse_build_info{LABELS, operator=\"sites\"}", "1x60")],
        fires: &[(4, &[]), (6, &["PilothouseDown"])],
    },
    Case {
        series: &[
            (BUILD, "1x60"),
            (
                "leader_election_master_status{LABELS, name=\"pages\"}",
                "1x10 0x50",
            ),
        ],
        fires: &[(15, &[]), (17, &["PilothouseNoLeader"])],
    },
    // The keys of a standby wait as long as the other process leads.
    Case {
        series: &[
            (BUILD, "1x60"),
            (
                "pilothouse_build_info{job=\"pages\", instance=\"b\", operator=\"pages\"}",
                "1x60",
            ),
            (
                "leader_election_master_status{LABELS, name=\"pages\"}",
                "0x60",
            ),
            (
                "leader_election_master_status{job=\"pages\", instance=\"b\", name=\"pages\"}",
                "1x60",
            ),
            (
                "workqueue_depth{LABELS, controller=\"page\", name=\"page\", priority=\"0\"}",
                "3x60",
            ),
            (
                "workqueue_work_duration_seconds_count{LABELS, controller=\"page\", name=\"page\"}",
                "0x60",
            ),
        ],
        fires: &[(30, &[])],
    },
    Case {
        series: &[
            (BUILD, "1x60"),
            (
                "workqueue_depth{LABELS, controller=\"page\", name=\"page\", priority=\"0\"}",
                "0x60",
            ),
            (
                "workqueue_depth{LABELS, controller=\"page\", name=\"page\", priority=\"100\"}",
                "1x60",
            ),
            (
                "workqueue_work_duration_seconds_count{LABELS, controller=\"page\", name=\"page\"}",
                "0+1x10 10x50",
            ),
        ],
        fires: &[(24, &[]), (27, &["PilothouseQueueStuck"])],
    },
    // All workers do work that takes hours by design.
    Case {
        series: &[
            (BUILD, "1x60"),
            (
                "workqueue_depth{LABELS, controller=\"page\", name=\"page\", priority=\"0\"}",
                "3x60",
            ),
            (
                "workqueue_work_duration_seconds_count{LABELS, controller=\"page\", name=\"page\"}",
                "5x60",
            ),
            (
                "workqueue_longest_running_processor_seconds{LABELS, controller=\"page\", name=\"page\"}",
                "0+60x60",
            ),
            (
                "pilothouse_controller_timeout_seconds{LABELS, controller=\"page\"}",
                "14400x60",
            ),
        ],
        fires: &[(20, &[]), (40, &[]), (60, &[])],
    },
    // The same work, but nothing says that it may take so long.
    Case {
        series: &[
            (BUILD, "1x60"),
            (
                "workqueue_depth{LABELS, controller=\"page\", name=\"page\", priority=\"0\"}",
                "3x60",
            ),
            (
                "workqueue_work_duration_seconds_count{LABELS, controller=\"page\", name=\"page\"}",
                "5x60",
            ),
            (
                "workqueue_longest_running_processor_seconds{LABELS, controller=\"page\", name=\"page\"}",
                "0+60x60",
            ),
            (
                "pilothouse_controller_timeout_seconds{LABELS, controller=\"page\"}",
                "0x60",
            ),
        ],
        fires: &[(20, &[]), (22, &["PilothouseQueueStuck"])],
    },
    Case {
        series: &[
            (BUILD, "1x60"),
            (
                "controller_runtime_reconcile_total{LABELS, controller=\"page\", result=\"error\"}",
                "0+6x60",
            ),
            (
                "controller_runtime_reconcile_total{LABELS, controller=\"page\", result=\"success\"}",
                "0+4x60",
            ),
        ],
        fires: &[(14, &[]), (17, &["PilothouseReconcileErrors"])],
    },
    // Nothing arrives after minute 10.
    Case {
        series: &[
            (BUILD, "1x60"),
            (
                "pilothouse_informer_last_event_timestamp_seconds{LABELS, resource=\"pages\"}",
                "0+60x10 600x50",
            ),
        ],
        fires: &[(20, &[]), (22, &["PilothouseCacheStale"])],
    },
    Case {
        series: &[
            (BUILD, "1x60"),
            (
                "pilothouse_informer_undecodable_objects{LABELS, resource=\"pages\"}",
                "2x60",
            ),
        ],
        fires: &[(9, &[]), (11, &["PilothouseUndecodable"])],
    },
    // A takeover at minute 20, seen at the first scrape.
    Case {
        series: &[
            (BUILD, "_x20 1x40"),
            (
                "leader_election_master_status{LABELS, name=\"pages\"}",
                "_x20 1x40",
            ),
            (
                "leader_election_expired_takeover_timestamp_seconds{LABELS, name=\"pages\"}",
                "_x20 1200x40",
            ),
        ],
        fires: &[
            (22, &["PilothouseStopCutShort"]),
            (34, &["PilothouseStopCutShort"]),
            (36, &[]),
        ],
    },
];

/// The cases as a file for `promtool test rules`. A file of JSON is one of YAML, too.
fn file() -> String {
    let tests = CASES.iter().map(|case| {
        let series = case.series.iter().map(|(series, values)| {
            json!({"series": series.replace("LABELS", LABELS), "values": values})
        });
        let checks = case.fires.iter().map(|(minute, alerts)| {
            let samples = alerts
                .iter()
                .map(|alert| json!({"labels": format!("{{alertname=\"{alert}\"}}"), "value": 1}));
            json!({
                "expr": "count by (alertname) (ALERTS{alertstate=\"firing\"})",
                "eval_time": format!("{minute}m"),
                "exp_samples": samples.collect::<Vec<_>>(),
            })
        });
        json!({
            "interval": "1m",
            "input_series": series.collect::<Vec<_>>(),
            "promql_expr_test": checks.collect::<Vec<_>>(),
        })
    });
    let tests: Vec<_> = tests.collect();
    json!({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests}).to_string()
}

#[test]
fn the_rules_fire_at_their_limits_and_not_before() {
    let folder = tempfile::tempdir().unwrap();
    let rules = printed(env!("CARGO_BIN_EXE_pages"), "alerts");
    fs::write(folder.path().join("rules.yaml"), &rules).unwrap();
    fs::write(folder.path().join("tests.yaml"), file()).unwrap();
    for arguments in [
        ["check", "rules", "rules.yaml"],
        ["test", "rules", "tests.yaml"],
    ] {
        let Some(output) = promtool(folder.path(), &arguments) else {
            return;
        };
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(output.status.success(), "{arguments:?}: {said:?}");
    }
    let tested = CASES.iter().flat_map(|case| case.fires);
    let tested = tested.flat_map(|(_, alerts)| alerts.iter().map(|one| (*one).to_owned()));
    assert_eq!(tested.collect::<BTreeSet<_>>(), names(&rules));
}

#[test]
fn the_book_has_a_section_for_each_alert() {
    let page = include_str!("../../../book/src/alerts.md");
    let titles = page.lines().filter_map(|line| line.strip_prefix("## "));
    let sections: BTreeSet<String> = titles.map(str::to_owned).collect();
    let rules = printed(env!("CARGO_BIN_EXE_pages"), "alerts");
    assert_eq!(names(&rules), sections);
    for name in names(&rules) {
        let address = format!("/alerts.html#{}\n", name.to_lowercase());
        assert!(rules.contains(&address), "{address}");
    }
}
