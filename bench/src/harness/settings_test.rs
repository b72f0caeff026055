use super::{
    peer::{Folders, PEERS},
    settings::{Settings, arguments, peers},
    trial::Trial,
};
use crate::generator::Kind;

fn settings(line: &[&str]) -> Result<Settings, String> {
    let command = clap::Command::new("bench").args(arguments());
    Settings::new(&command.get_matches_from([&["bench"], line].concat()))
}

fn trials(line: &[&str]) -> Vec<(&'static str, u64, u64, u64)> {
    let settings = settings(line).expect("settings");
    let trials = settings.trials();
    let summary = |trial: &Trial| {
        let name = trial.workload.name();
        (name, trial.objects, trial.events, trial.percent)
    };
    trials.iter().map(summary).collect()
}

#[test]
fn each_workload_runs_once_per_object_count_and_a_paced_workload_once() {
    assert_eq!(
        trials(&["--objects", "10,20", "--events", "7"]),
        [
            ("cache", 10, 7, 0),
            ("relist", 10, 0, 0),
            ("relist", 10, 0, 10),
            ("relist", 10, 0, 100),
            ("churn", 10, 7, 0),
            ("kinds", 10, 0, 0),
            ("reads", 10, 0, 0),
            ("reconcile", 10, 0, 0),
            ("apply", 10, 0, 0),
            ("owned", 10, 0, 0),
            ("cache", 20, 7, 0),
            ("relist", 20, 0, 0),
            ("relist", 20, 0, 10),
            ("relist", 20, 0, 100),
            ("churn", 20, 7, 0),
            ("kinds", 20, 0, 0),
            ("reads", 20, 0, 0),
            ("reconcile", 20, 0, 0),
            ("apply", 20, 0, 0),
            ("owned", 20, 0, 0),
            ("latency", 1_000, 5_000, 0),
            ("paced", 10_000, 30_000, 0),
            ("allocations", 10, 7, 0),
            ("idle", 1, 10, 0),
            ("exit", 100_000, 0, 0),
            ("parked", 100_000, 0, 0),
            ("watches", 100, 1_000, 0),
            ("build", 0, 0, 0),
            ("rebuild", 0, 0, 0),
        ]
    );
    assert_eq!(
        trials(&["--only", "sync,reconcile", "--objects", "10"]),
        [("cache", 10, 0, 0), ("reconcile", 10, 0, 0)]
    );
}

/// Returns the shape, the number of objects and the number of events of each trial.
fn shapes(line: &[&str]) -> Vec<(&'static str, u64, u64)> {
    let trials = settings(line).expect("settings").trials();
    let summary = |trial: &Trial| {
        let shape = trial.kind.map_or("", Kind::shape);
        (shape, trial.objects, trial.events)
    };
    trials.iter().map(summary).collect()
}

#[test]
fn each_shape_has_a_trial_of_its_own_and_the_others_keep_their_kind() {
    let line = [
        "--only",
        "modified,reconcile",
        "--objects",
        "10",
        "--events",
        "7",
    ];
    assert_eq!(
        shapes(&[&line[..], &["--shape", "small,nodes"]].concat()),
        [("nodes", 10, 7), ("small", 10, 7), ("configmaps", 10, 0)]
    );
    assert_eq!(shapes(&line)[0].0, "pods");
    let quick = shapes(&["--quick", "--only", "modified"]);
    let named: Vec<_> = quick.iter().map(|trial| trial.0).collect();
    assert_eq!(named, Kind::SHAPES.map(Kind::shape));
}

#[test]
fn objects_that_cannot_be_sent_at_the_rate_are_not_paced() {
    assert_eq!(
        shapes(&["--only", "paced", "--shape", "secrets,small"]),
        [("small", 10_000, 30_000)]
    );
}

#[test]
fn a_smoke_run_fills_a_cache_of_each_shape_and_does_all_else_with_the_first() {
    for (part, count) in [("sync", 6), ("relist", 1), ("churn", 1), ("paced", 1)] {
        let trials = shapes(&["--quick", "--only", part]);
        assert_eq!((trials[0].0, trials.len()), ("pods", count), "{part}");
    }
    let chosen = ["--quick", "--only", "relist", "--shape", "custom,small"];
    let trials = shapes(&chosen);
    assert_eq!((trials[0].0, trials.len()), ("custom", 1));
}

#[test]
fn large_secrets_are_few_and_the_report_says_so() {
    let line = [
        "--only",
        "modified",
        "--shape",
        "secrets",
        "--objects",
        "400,10000,50000",
    ];
    assert_eq!(
        shapes(&line),
        [("secrets", 400, 10_000), ("secrets", 500, 10_000)]
    );
    let caps = settings(&line).expect("settings").caps();
    assert!(caps.contains("At most 500 large Secrets and 10000 modifications"));
    let pods = settings(&["--shape", "pods"]).expect("settings");
    assert_eq!(pods.caps(), "");
}

#[test]
fn a_smoke_run_contains_no_long_workload() {
    for long in ["watches", "build"] {
        assert!(trials(&["--quick"]).iter().all(|trial| trial.0 != long));
        let asked = settings(&["--quick", "--only", long]);
        assert!(asked.is_err_and(|text| text.starts_with(&format!("--only {long}: "))));
    }
}

#[test]
fn only_peers_with_a_smallest_operator_build_it() {
    let settings = settings(&["--only", "build"]).expect("settings");
    let peers = PEERS.iter().filter(|peer| settings.builds(peer));
    let names: Vec<_> = peers.map(|peer| peer.name).collect();
    assert_eq!(names, ["pilothouse", "kube-rs", "kube-rs served"]);
    for peer in PEERS.iter().filter(|peer| settings.builds(peer)) {
        let folder = Folders::new(true).smallest(peer);
        assert!(folder.join("Cargo.toml").exists(), "{}", peer.name);
    }
}

#[test]
fn a_server_without_watch_list_has_no_peers_that_need_it_but_others_that_clear_fields() {
    let line = ["--without-watch-list", "--ignore-limit"];
    let old = settings(&line).expect("settings");
    let options = ["--tls", "--without-watch-list", "--ignore-limit"];
    assert_eq!(old.server_options(true), options);
    let usual = settings(&[]).expect("settings");
    assert!(usual.server_options(false).is_empty());
    let names = |settings: &Settings| -> Vec<_> {
        let peers = settings.peers.iter();
        peers.map(|peer| peer.name).collect()
    };
    let (old, usual) = (names(&old), names(&usual));
    let streaming = usual.iter().filter(|name| name.contains("streaming"));
    assert_eq!(usual.len(), old.len() + streaming.count());
    assert!(old.contains(&"kube-rs jemalloc cleared"));
}

#[test]
fn peers_are_left_out_by_name_or_kind_and_an_unknown_name_is_an_error() {
    let names = |without: &[&str], quick| {
        let without: Vec<_> = without.iter().map(|name| (*name).to_owned()).collect();
        peers(&without, quick, true)
            .map(|peers| peers.iter().map(|peer| peer.name).collect::<Vec<_>>())
    };
    assert_eq!(names(&[], false).map(|names| names.len()), Ok(PEERS.len()));
    assert_eq!(
        names(&[], true),
        Ok(vec![
            "pilothouse",
            "kube-rs",
            "pilothouse counting",
            "kube-rs counting"
        ])
    );
    assert_eq!(
        names(
            &[
                "go",
                "jemalloc",
                "kube-rs",
                "kube-rs served",
                "pilothouse counting",
                "kube-rs counting"
            ],
            false
        ),
        Ok(vec!["pilothouse"])
    );
    assert!(names(&["unknown"], false).is_err_and(|text| text.contains("client-go JSON")));
    assert_eq!(
        names(
            &[
                "pilothouse",
                "kube-rs",
                "pilothouse counting",
                "kube-rs counting"
            ],
            true
        ),
        Err("--without: no peer is left".to_owned())
    );
}
