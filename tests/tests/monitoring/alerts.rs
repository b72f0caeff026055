//! Each alert fires if its fault is caused, and only then.

use std::{
    collections::BTreeSet,
    fs,
    time::{Duration, Instant},
};

use pilothouse_tests::prometheus::Prometheus;
use regex::{Captures, Regex};

use crate::{faults, printed, rules::names, scraping};

/// The same rules, sixty times as fast: minutes are seconds, and a limit in seconds is a sixtieth of it.
fn quick(rules: &str) -> String {
    let minutes = Regex::new(r"\b(\d+)m\b").unwrap();
    let rules = minutes.replace_all(rules, "${1}s");
    let limits = Regex::new(r"([<>]) (\d{3,})").unwrap();
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

    drop(operators);
    let down = (String::new(), "PilothouseDown".to_owned());
    let begun = Instant::now();
    while !fired(&prometheus).contains(&down) {
        assert!(begun.elapsed() < Duration::from_secs(120), "{down:?}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    // No alert was left out.
    let caused = expected.into_iter().map(|(_, alert)| alert);
    let caused: BTreeSet<String> = caused.chain([down.1]).collect();
    assert_eq!(caused, names(&rules));
}
