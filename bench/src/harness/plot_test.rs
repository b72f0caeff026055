use super::{
    part::Part,
    plot::{Line, Panel, short, step, svg},
    slopes,
    tests::row,
    trial::Trial,
    workload::Workload,
};
use crate::generator::Kind;

#[test]
fn each_table_with_several_object_counts_gets_a_plot() {
    let trial = |workload, objects, percent| {
        let rows = vec![
            row("ours", true, &[objects as f64]),
            row("a < b", false, &[]),
        ];
        let trial = Trial {
            percent,
            ..Trial::new(workload, objects, 0)
        };
        (trial, rows)
    };
    let of_nodes = |objects| {
        let (trial, rows) = trial(Workload::Cache, objects, 0);
        let kind = Some(Kind::Node);
        (Trial { kind, ..trial }, rows)
    };
    let measured = [
        trial(Workload::Cache, 10, 0),
        trial(Workload::Relist, 10, 0),
        trial(Workload::Relist, 10, 10),
        trial(Workload::Cache, 50, 0),
        trial(Workload::Relist, 50, 0),
        trial(Workload::Relist, 50, 10),
        trial(Workload::Latency, 7, 0),
        of_nodes(10),
        of_nodes(50),
    ];
    let parts = [Part::Sync, Part::Latency, Part::Relist];
    let pictures = slopes::pictures(&parts, &measured);
    let names: Vec<_> = pictures
        .iter()
        .map(|picture| picture.name.as_str())
        .collect();
    assert_eq!(names, ["sync", "sync-nodes", "relist", "relist-10"]);
    assert!(pictures[0].svg.contains("a &lt; b"), "a legend for all");

    let folder = tempfile::tempdir().expect("a folder");
    let text = slopes::write(&pictures[..1], &folder.path().join("my report.md"));
    assert!(text.is_ok_and(|text| text.contains("![Cold sync of Pods](<my report-sync.svg>)")));
    let written = std::fs::read_to_string(folder.path().join("my report-sync.svg"));
    assert_eq!(written.ok().as_ref(), Some(&pictures[0].svg));
    assert_eq!(slopes::write(&[], folder.path()), Ok(String::new()));
}

#[test]
fn a_plot_line_connects_its_points_and_the_axis_starts_at_zero() {
    let panel = Panel {
        title: "measure".to_owned(),
        lines: vec![Line {
            peer: "peer".to_owned(),
            ours: true,
            points: vec![(50.0, 2.0), (100.0, 4.0)],
        }],
    };
    let svg = svg("title", &[panel]);
    // The axes go from (64, 226) to (410, 34), which is 100 objects and 4.
    assert!(svg.contains("d=\"M237.0 130.0 L410.0 34.0\""), "{svg}");
    assert!(svg.contains("stroke-width=\"3.5\""), "{svg}");
}

#[test]
fn ticks_are_round_numbers() {
    assert_eq!(
        [0.0, 4.0, 17.0, 230.0, 600.0].map(step),
        [1.0, 1.0, 5.0, 50.0, 200.0]
    );
    assert_eq!(
        [0.0, 0.25, 12.5, 999.0, 10_000.0, 316_420.0, 2.5e6].map(short),
        ["0", "0.25", "12.5", "999", "10k", "316k", "2.5M"]
    );
}
