use super::{
    peer::{Folders, PEERS},
    settings::{Settings, arguments, peers},
    trial::Trial,
};

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
            ("reconcile", 10, 0, 0),
            ("apply", 10, 0, 0),
            ("owned", 10, 0, 0),
            ("relist", 10, 0, 0),
            ("relist", 10, 0, 10),
            ("relist", 10, 0, 100),
            ("churn", 10, 7, 0),
            ("cache", 20, 7, 0),
            ("reconcile", 20, 0, 0),
            ("apply", 20, 0, 0),
            ("owned", 20, 0, 0),
            ("relist", 20, 0, 0),
            ("relist", 20, 0, 10),
            ("relist", 20, 0, 100),
            ("churn", 20, 7, 0),
            ("latency", 1_000, 5_000, 0),
            ("allocations", 10, 7, 0),
            ("parked", 100_000, 0, 0),
            ("watches", 100, 1_000, 0),
            ("build", 0, 0, 0),
        ]
    );
    assert_eq!(
        trials(&["--only", "sync,reconcile", "--objects", "10"]),
        [("cache", 10, 0, 0), ("reconcile", 10, 0, 0)]
    );
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
fn peers_are_left_out_by_name_or_kind_and_an_unknown_name_is_an_error() {
    let names = |without: &[&str], quick| {
        let without: Vec<_> = without.iter().map(|name| (*name).to_owned()).collect();
        peers(&without, quick).map(|peers| peers.iter().map(|peer| peer.name).collect::<Vec<_>>())
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
