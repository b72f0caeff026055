use super::{
    machine,
    peer::PEERS,
    run::{Results, Run, Runs},
    settings::peers,
    stats::Spread,
    table::{Measure, Row, table},
    trial::Trial,
};

fn run(seconds: f64, foreign: f64) -> Run {
    let results = Results {
        sync_seconds: seconds,
        ..Results::default()
    };
    Run {
        results,
        foreign,
        server_cpu: 0.0,
    }
}

fn row(peer: &str, ours: bool, seconds: &[f64]) -> Row {
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

const LESS: Measure = Measure {
    name: "less",
    more: false,
    digits: 1,
    value: |run| run.results.sync_seconds,
};
const MORE: Measure = Measure {
    name: "more",
    more: true,
    digits: 1,
    value: |run| run.results.sync_seconds,
};

#[test]
fn the_median_is_in_the_middle_whatever_the_order() {
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
    assert!(!runs.take(run(9.0, 0.061)));
    assert!(runs.take(run(1.0, 0.06)));
    assert_eq!((runs.counted.len(), runs.discarded), (1, 1));
    assert_eq!(runs.counted[0].results.sync_seconds, 1.0);
}

#[test]
fn a_table_compares_with_the_best_peer_and_never_with_ours() {
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
fn a_table_without_a_run_or_a_peer_has_no_ratio() {
    assert_eq!(
        table(
            &[LESS],
            &[row("ours", true, &[1.0]), row("never", false, &[])]
        ),
        "| peer | runs | less |\n| --- | --- | --- |\n| ours | 1 | 1.0 (1.0–1.0) |\n| never | 0 | – |\n"
    );
}

#[test]
fn a_peer_that_did_not_see_everything_is_an_error_that_says_so() {
    let trial = Trial {
        objects: 10,
        events: 5,
    };
    let results = |objects, events| Results {
        objects,
        events,
        ..Results::default()
    };
    assert_eq!(trial.check("peer", &results(10, 5)), Ok(()));
    assert_eq!(
        trial.check("peer", &results(9, 5)),
        Err("peer has 9 objects of 10".to_owned())
    );
    assert_eq!(
        trial.check("peer", &results(10, 6)),
        Err("peer was told of 6 events of 5".to_owned())
    );
}

#[test]
fn processor_time_is_read_from_the_kernels_lines() {
    let stat = "cpu  100 20 30 4000 50 60 70 8 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
    assert_eq!(machine::busy(stat), 1.58);
    let process = "42 (a peer) (x) S 1 2 3 4 5 6 7 8 9 10 150 50 25 75 20 0";
    assert_eq!(
        (machine::used(process, 2), machine::used(process, 4)),
        (2.0, 3.0)
    );
}

#[test]
fn peers_are_left_out_by_name_or_kind_and_a_name_that_nobody_has_is_an_error() {
    let names = |without: &[&str], quick| {
        let without: Vec<_> = without.iter().map(|name| (*name).to_owned()).collect();
        peers(&without, quick).map(|peers| peers.iter().map(|peer| peer.name).collect::<Vec<_>>())
    };
    assert_eq!(names(&[], false).map(|names| names.len()), Ok(PEERS.len()));
    assert_eq!(names(&[], true), Ok(vec!["pilothouse", "kube-rs"]));
    assert_eq!(
        names(&["go", "jemalloc", "kube-rs"], false),
        Ok(vec!["pilothouse"])
    );
    assert!(names(&["unknown"], false).is_err_and(|text| text.contains("client-go JSON")));
    assert_eq!(
        names(&["pilothouse", "kube-rs"], true),
        Err("--without: nobody is left".to_owned())
    );
}
