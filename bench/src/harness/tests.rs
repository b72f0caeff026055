use std::{
    io::Read,
    process::{Command, Stdio},
    time::Duration,
};

use super::{
    build::Built,
    machine,
    part::Part,
    peer::{PEERS, Peer},
    protobuf,
    run::{Counts, Results, Run, Runs},
    stats::Spread,
    table::{Measure, Row, less, more, table},
    trial::{Guard, Trial},
    workload::Workload,
};
use crate::generator::{Generator, Kind};

fn run(seconds: f64, foreign: f64) -> Run {
    let results = Results {
        sync_seconds: seconds,
        ..Results::default()
    };
    Run {
        results,
        foreign,
        ..Run::default()
    }
}

pub(super) fn row(peer: &str, ours: bool, seconds: &[f64]) -> Row {
    let counted = seconds.iter().map(|seconds| run(*seconds, 0.0)).collect();
    Row {
        peer: peer.to_owned(),
        ours,
        runs: Runs {
            counted,
            discarded: 0,
        },
    }
}

const LESS: Measure = less("less", 1, |run| run.results.sync_seconds);
const MORE: Measure = more("more", 1, |run| run.results.sync_seconds);

#[test]
fn the_median_does_not_depend_on_the_order() {
    let spread = |values: &[f64]| Spread::of(values.iter().copied());
    assert_eq!(spread(&[]), None);
    assert_eq!(
        spread(&[3.0]),
        Some(Spread {
            median: 3.0,
            min: 3.0,
            max: 3.0
        })
    );
    assert_eq!(
        spread(&[9.0, 1.0, 2.0]),
        Some(Spread {
            median: 2.0,
            min: 1.0,
            max: 9.0
        })
    );
    assert_eq!(
        spread(&[4.0, 10.0, 1.0, 2.0]),
        Some(Spread {
            median: 3.0,
            min: 1.0,
            max: 10.0
        })
    );
}

#[test]
fn a_disturbed_run_does_not_count() {
    let mut runs = Runs::default();
    assert!(!runs.add(run(9.0, 0.061)));
    assert!(runs.add(run(1.0, 0.06)));
    assert_eq!((runs.counted.len(), runs.discarded), (1, 1));
    assert_eq!(runs.counted[0].results.sync_seconds, 1.0);
}

#[test]
fn a_table_compares_with_the_best_peer_and_never_with_pilothouse() {
    let mut rows = [
        row("ours", true, &[1.0, 2.0, 4.0]),
        row("slow", false, &[8.0]),
        row("fast", false, &[4.0]),
    ];
    rows[1].runs.discarded = 2;
    assert_eq!(
        table(&[LESS, MORE], &rows),
        "| peer | runs | less | more |\n\
         | --- | --- | --- | --- |\n\
         | ours | 3 | 2.0 (1.0–4.0) ×0.50 | 2.0 (1.0–4.0) ×0.25 |\n\
         | slow | 1 (2 discarded) | 8.0 (8.0–8.0) ×2.00 | 8.0 (8.0–8.0) ×1.00 |\n\
         | fast | 1 | 4.0 (4.0–4.0) ×1.00 | 4.0 (4.0–4.0) ×0.50 |\n"
    );
}

#[test]
fn a_value_that_a_peer_did_not_measure_is_an_empty_cell_and_no_reference() {
    let views = |run: &Run| {
        let seconds = run.results.sync_seconds;
        if seconds > 0.0 { seconds } else { f64::NAN }
    };
    let measure = Measure {
        value: views,
        ..LESS
    };
    let rows = [row("ours", true, &[1.0]), row("theirs", false, &[0.0])];
    assert_eq!(
        table(&[measure], &rows),
        "| peer | runs | less |\n| --- | --- | --- |\n| ours | 1 | 1.0 (1.0–1.0) |\n| theirs | 1 | – |\n"
    );
}

#[test]
fn a_table_cell_without_a_run_or_a_peer_has_no_ratio() {
    assert_eq!(
        table(
            &[LESS],
            &[row("ours", true, &[1.0]), row("never", false, &[])]
        ),
        "| peer | runs | less |\n| --- | --- | --- |\n| ours | 1 | 1.0 (1.0–1.0) |\n| never | 0 | – |\n"
    );
}

/// Returns the results of a peer that saw everything.
fn complete(workload: Workload) -> (Trial, Run) {
    let trial = Trial {
        percent: 10,
        ..Trial::new(workload, 20, 200)
    };
    let results = Results {
        objects: 20,
        events: 200,
        sync_seconds: 1.0,
        rss_sync: 1,
        reconciles: if workload == Workload::Parked { 60 } else { 20 },
        reconciled_seconds: 1.0,
        drain_seconds: 1.0,
        drain_cpu: 1.0,
        rss_drained: 1,
        stamps: 198,
        latency_p50: 1.0,
        latency_p99: 1.0,
        latency_max: 1.0,
        peak_relist: 1,
        changed: 2,
        reads: 1,
        read_max: 1.0,
        idle_p9999: 1.0,
        gets: 20,
        asleep_p50: 1.0,
        asleep_p99: 1.0,
        awake_p50: 1.0,
        awake_p99: 1.0,
        allocations: 1,
        allocated: 1,
        idle_bytes: 1,
        parked_bytes: 1,
        caches: 200,
        idle_seconds: 1.0,
        rss_one: 1,
        rss_idle: 1,
        alone_p99: 1.0,
        renewals: 200,
        renewal_p50: 1.0,
        renewal_p99: 1.0,
        renewal_max: 1.0,
        watches: 250,
        build_seconds: 1.0,
        build_cpu: 1.0,
        crates: 1,
        binary: 1,
        rebuild_seconds: 1.0,
        rebuild_cpu: 1.0,
        ..Results::default()
    };
    let served = Counts {
        connections: 2,
        applies: if workload == Workload::Apply { 20 } else { 0 },
        children: if workload == Workload::Owned { 20 } else { 0 },
        renewals: 400,
    };
    let run = Run {
        results,
        exit_seconds: 1.0,
        served,
        ..Run::default()
    };
    (trial, run)
}

#[test]
fn a_peer_that_missed_something_is_an_error_that_names_it() {
    type Spoil = fn(&mut Run);
    let cases: [(Workload, Spoil, &str); 28] = [
        (
            Workload::Cache,
            |run| run.results.objects = 19,
            "peer: objects in the cache: 19, expected 20",
        ),
        (
            Workload::Cache,
            |run| run.results.events = 201,
            "peer: received events: 201, expected 200",
        ),
        (
            Workload::Cache,
            |run| run.results.sync_seconds = 0.0,
            "peer did not measure sync_seconds: 0",
        ),
        (
            Workload::Reconcile,
            |run| run.results.reconciles = 21,
            "peer: reconciles, one per object: 21, expected 20",
        ),
        (
            Workload::Reconcile,
            |run| run.served.applies = 1,
            "peer: applies at the server: 1, expected 0",
        ),
        (
            Workload::Apply,
            |run| run.served.applies = 19,
            "peer: applies at the server: 19, expected 20",
        ),
        (
            Workload::Apply,
            |run| run.results.drain_seconds = 0.0,
            "peer did not measure drain_seconds: 0",
        ),
        (
            Workload::Owned,
            |run| run.served.children = 19,
            "peer: children at the server: 19, expected 20",
        ),
        (
            Workload::Owned,
            |run| run.results.reconciles = 19,
            "peer: 19 reconciles for 20 objects, expected at least one per object",
        ),
        (
            Workload::Latency,
            |run| run.results.stamps = 197,
            "peer: reconciled 197 of 200 events",
        ),
        (
            Workload::Latency,
            |run| run.results.stamps = 201,
            "peer: reconciled 201 of 200 events",
        ),
        (
            Workload::Latency,
            |run| run.results.latency_p99 = 0.0,
            "peer did not measure latency_p99: 0",
        ),
        (
            Workload::Relist,
            |run| run.results.changed = 0,
            "peer: changed objects in the cache: 0, expected 2",
        ),
        (
            Workload::Relist,
            |run| run.results.reads = 0,
            "peer did not measure reads: 0",
        ),
        (
            Workload::Reads,
            |run| run.results.gets = 19,
            "peer: objects that were read: 19, expected 20",
        ),
        (
            Workload::Reads,
            |run| run.results.awake_p99 = 0.0,
            "peer did not measure awake_p99: 0",
        ),
        (
            Workload::Churn,
            |run| run.results.events = 199,
            "peer: received events: 199, expected 200",
        ),
        (
            Workload::Kinds,
            |run| run.results.objects = 15,
            "peer: objects in the caches: 15, expected 20",
        ),
        (
            Workload::Paced,
            |run| run.results.events = 199,
            "peer: received events: 199, expected 200",
        ),
        (
            Workload::Allocations,
            |run| run.results.allocations = 0,
            "peer did not measure allocations: 0",
        ),
        (
            Workload::Idle,
            |run| run.results.caches = 199,
            "peer: caches: 199, expected 200",
        ),
        (
            Workload::Idle,
            |run| run.results.rss_one = 0,
            "peer did not measure rss_one: 0",
        ),
        (
            Workload::Exit,
            |run| run.results.reconciles = 19,
            "peer: reconciles, one per object: 19, expected 20",
        ),
        (
            Workload::Parked,
            |run| run.results.reconciles = 59,
            "peer: reconciles, three per object: 59, expected 60",
        ),
        (
            Workload::Watches,
            |run| run.results.watches = 249,
            "peer: read watches with events: 249, expected 250",
        ),
        (
            Workload::Watches,
            |run| run.served.renewals = 200,
            "peer: renewals at the server: 200, expected 400",
        ),
        (
            Workload::Build,
            |run| run.results.crates = 0,
            "peer did not measure crates: 0",
        ),
        (
            Workload::Rebuild,
            |run| run.results.rebuild_seconds = 0.0,
            "peer did not measure rebuild_seconds: 0",
        ),
    ];
    for (workload, spoil, expected) in cases {
        let (trial, mut run) = complete(workload);
        assert_eq!(trial.check("peer", &run), Ok(()));
        spoil(&mut run);
        assert_eq!(trial.check("peer", &run), Err(expected.to_owned()));
    }
}

#[test]
fn a_relist_without_changes_counts_only_the_object_that_marks_its_end() {
    let (trial, mut run) = complete(Workload::Relist);
    run.results.changed = 1;
    let unchanged = Trial {
        percent: 0,
        ..trial
    };
    assert_eq!(unchanged.check("peer", &run), Ok(()));
}

#[test]
fn a_peer_may_leave_out_results_but_an_unknown_result_is_an_error() {
    let read = serde_json::from_str::<Results>;
    let results = read(r#"{"reconciles":3}"#).expect("the others are 0");
    assert_eq!((results.reconciles, results.objects), (3, 0));
    assert!(read(r#"{"reconcile":3}"#).is_err());
}

/// Returns what the server is to hold in a trial, as its arguments have it.
fn served(trial: &Trial) -> Vec<String> {
    let line = super::server::arguments(7, &trial.stock());
    let command = clap::Command::new("serve")
        .no_binary_name(true)
        .args(crate::server::arguments());
    let matches = command.try_get_matches_from(line).expect("arguments");
    assert_eq!(matches.get_one::<u64>("seed"), Some(&7));
    let objects = matches.get_many::<String>("objects").expect("objects");
    objects.cloned().collect()
}

#[test]
fn the_server_has_only_the_objects_of_the_trial() {
    for kind in Kind::SHAPES {
        let trial = Trial {
            kind: Some(kind),
            ..Trial::new(Workload::Cache, 2, 0)
        };
        assert_eq!(served(&trial), [format!("{}=2", kind.shape())]);
    }
    assert_eq!(
        served(&Trial::new(Workload::Reconcile, 2, 0)),
        ["configmaps=2"]
    );
    let kinds = ["pods=3", "nodes=3", "configmaps=3", "usual-secrets=3"];
    assert_eq!(served(&Trial::new(Workload::Kinds, 10, 0)), kinds);
}

#[test]
fn a_heading_names_the_objects_of_its_caches() {
    let title = |part: Part, kind| {
        let workload = part.workload();
        part.title(&Trial {
            kind: Some(kind),
            ..Trial::new(workload, 20, 200)
        })
    };
    assert_eq!(title(Part::Sync, Kind::Pod), "Cold sync of Pods");
    for part in [
        Part::Sync,
        Part::Modified,
        Part::Relist,
        Part::Churn,
        Part::Paced,
        Part::Allocations,
    ] {
        for kind in Kind::SHAPES {
            let title = title(part, kind);
            assert!(title.contains(kind.plural()), "{title}");
        }
    }
}

#[test]
fn only_rust_peers_take_part_with_the_custom_resource_and_none_of_them_twice() {
    let trial = Trial {
        kind: Some(Kind::Widget),
        ..Trial::new(Workload::Cache, 20, 200)
    };
    let peers = PEERS.iter().filter(|peer| peer.supports(&trial));
    let names: Vec<_> = peers.map(|peer| peer.name).collect();
    assert_eq!(
        names,
        [
            "pilothouse",
            "pilothouse jemalloc",
            "pilothouse mimalloc",
            "pilothouse jemalloc compressed",
            "kube-rs",
            "kube-rs jemalloc",
            "kube-rs jemalloc cleared",
            "kube-rs jemalloc streaming",
            "kube-rs jemalloc streaming cleared",
        ]
    );
}

#[test]
fn a_crate_counts_once_and_the_program_is_that_of_the_operator() {
    let artifact = |package: &str, kind: &str, executable: &str| {
        format!(
            "{{\"reason\":\"compiler-artifact\",\"package_id\":\"{package}\",\
             \"target\":{{\"kind\":[\"{kind}\"]}},\"executable\":{executable}}}\n"
        )
    };
    let other = "{\"reason\":\"build-script-executed\",\"package_id\":\"c\"}\n";
    let end = "{\"reason\":\"build-finished\",\"success\":true}\n";
    let lines = [
        artifact("a", "custom-build", "\"/x/build-script-build\""),
        artifact("a", "lib", "null"),
        other.to_owned(),
        artifact("b", "bin", "\"/x/smallest\""),
        artifact("d", "proc-macro", "null"),
        end.to_owned(),
    ];
    let built = Built {
        crates: 3,
        program: "/x/smallest".into(),
    };
    assert_eq!(Built::read(lines.concat().as_bytes()), Ok(built));
    let library = Built::read(lines[..2].concat().as_bytes());
    assert_eq!(library, Err("cargo built no program".to_owned()));
}

#[test]
fn the_go_peers_support_each_workload_that_is_run() {
    for part in Part::ALL
        .into_iter()
        .filter(|part| !matches!(part, Part::Watches | Part::Build | Part::Rebuild))
    {
        let supports = |peer: &&Peer| peer.is_go() && peer.has(part.workload());
        assert!(PEERS.iter().find(supports).is_some(), "{part:?}");
    }
}

#[test]
fn go_applies_also_with_a_transport_that_keeps_enough_connections() {
    for workload in [Workload::Apply, Workload::Owned] {
        let mut peers = PEERS.iter().filter(|peer| peer.has(workload));
        let is_keeping = |peer: &Peer| {
            let mut variables = peer.environment.iter();
            peer.is_go() && variables.any(|(name, _)| *name == "BENCH_IDLE")
        };
        assert!(peers.any(is_keeping), "{workload:?}");
    }
}

#[test]
fn processor_time_is_parsed_from_the_kernels_files() {
    let stat = "cpu  100 20 30 4000 50 60 70 8 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
    assert_eq!(machine::busy(stat), 1.58);
    let process = "42 (a peer) (x) S 1 2 3 4 5 6 7 8 9 10 150 50 25 75 20 0";
    assert_eq!(
        (machine::used(process, 2), machine::used(process, 4)),
        (2.0, 3.0)
    );
}

/// The histogram of the Rust peers, which have no tests of their own.
#[path = "../../peers/shared/histogram.rs"]
#[allow(unreachable_pub)]
mod histogram;

#[test]
fn a_histogram_is_exact_to_a_64th_and_for_the_longest_time() {
    let mut one = histogram::Histogram::default();
    assert_eq!((one.count(), one.microseconds(0.5)), (0, 0.0));
    let mut time = 1_u64;
    while time < u64::MAX / 3 {
        let mut single = histogram::Histogram::default();
        single.add(time);
        single.add(u64::MAX);
        let found = single.microseconds(0.5) * 1e3;
        let error = (found - time as f64) / time as f64;
        assert!((-1e-9..1.0 / 64.0).contains(&error), "{time}: {found}");
        time += time / 8 + 1;
    }
    for time in 1..=10_000 {
        one.add(time);
    }
    one.add(77_777_777);
    assert_eq!(one.count(), 10_001);
    assert_eq!(one.microseconds(1.0), 77_777.777);
    for (share, expected) in [(0.5, 5.0), (0.99, 9.9), (0.9999, 10.0)] {
        let found = one.microseconds(share);
        assert!(
            (expected..expected * 1.016).contains(&found),
            "{share}: {found}"
        );
    }
}

#[test]
fn protobuf_objects_are_written_again_when_they_or_their_writer_change() {
    let name = |seed, kind, count, source: &str| {
        protobuf::name(&Generator::new(seed), 1, kind, count, &[source.to_owned()])
    };
    let first = name(1, Kind::Pod, 200, "writer");
    assert_eq!(first, name(1, Kind::Pod, 200, "writer"));
    assert_ne!(first, name(2, Kind::Pod, 200, "writer"), "the objects");
    assert_ne!(first, name(1, Kind::ConfigMap, 200, "writer"));
    let config_maps = name(1, Kind::ConfigMap, 200, "writer");
    assert_ne!(config_maps, name(1, Kind::SmallConfigMap, 200, "writer"));
    assert_ne!(first, name(1, Kind::Pod, 201, "writer"));
    assert_ne!(first, name(1, Kind::Pod, 200, "another writer"));
}

#[test]
fn a_peer_that_hangs_is_killed_and_a_failure_is_reported() {
    let end = |program: &str, argument: &str, limit| {
        let mut command = Command::new(program);
        let mut child = command
            .arg(argument)
            .stdout(Stdio::piped())
            .spawn()
            .expect(program);
        let mut output = child.stdout.take().expect("output");
        let guard = Guard::new(child, limit);
        output.read_to_end(&mut Vec::new()).expect("an end");
        guard.end("peer").map_err(|error| error.to_string())
    };
    let (short, long) = (Duration::from_millis(300), Duration::from_secs(600));
    assert_eq!(
        end("sleep", "1000", short),
        Err(
            "peer was not done after 0 s: it waits for something that never happens, or it is too slow"
                .to_owned()
        )
    );
    assert_eq!(end("true", "", long), Ok(()));
    assert_eq!(
        end("false", "", long),
        Err("peer: exit status: 1".to_owned())
    );
}
