//! The sandbox answers as a real API server does: both go through the same scenarios, and their answers are compared
//! but for names, times and versions that no two servers share.
//!
//! The real server is the one of `tests/cluster`, whose program `PILOTHOUSE_CLUSTER_BINARY` names, or any cluster whose
//! kubeconfig `PILOTHOUSE_CLUSTER` names. Without both there is nothing to compare with, and the test says so.
//!
//! `PILOTHOUSE_SCENARIO` picks the scenarios whose names contain it. `PILOTHOUSE_CONFORMANCE_OPEN` names a file to write the
//! steps to that differ: what `open.txt` is made with.

#![recursion_limit = "512"]

#[path = "../gallery/mod.rs"]
mod gallery;
mod known;
mod normal;
mod real;
mod run;
mod scenarios;
#[allow(dead_code, unreachable_pub, missing_docs)]
#[path = "../../../examples/website/src/main.rs"]
mod website;

use std::{collections::BTreeSet, io::Write, panic::AssertUnwindSafe};

use futures_util::FutureExt;
use pilothouse::testing::Cluster;
use pilothouse_sandbox::Sandbox;
use real::Real;
use run::Run;

#[tokio::test(flavor = "multi_thread")]
async fn the_sandbox_answers_as_a_real_api_server() {
    let Some(real) = Real::from_environment().await else {
        // What a passing test prints is swallowed by its harness.
        let _ = std::io::stderr().write_all(Real::skipped().as_bytes());
        return;
    };
    let sandbox = Cluster::with(Sandbox::builder()).unwrap();
    let only = std::env::var("PILOTHOUSE_SCENARIO").unwrap_or_default();
    let mut differences = Vec::new();
    let mut broken = Vec::new();
    for (name, scenario) in scenarios::all() {
        if !name.contains(&only) {
            continue;
        }
        let namespace = format!("conformance-{name}");
        let mut answers = Vec::new();
        for client in [sandbox.client(), &real.client] {
            let run = Run::start(client.clone(), &namespace).await;
            let run = AssertUnwindSafe(scenario(run)).catch_unwind().await;
            answers.push(run.map(|run: Run| run.answers));
        }
        let (Ok(real), Ok(sandbox)) = (answers.pop().unwrap(), answers.pop().unwrap()) else {
            broken.push(name);
            continue;
        };
        differences.extend(normal::differences(name, &sandbox, &real));
        println!("{name}: {} answers", real.len());
    }
    let open = known::open();
    if let Some(file) = std::env::var_os("PILOTHOUSE_CONFORMANCE_OPEN") {
        let steps: BTreeSet<&str> = differences
            .iter()
            .filter(|difference| !known::is_known(difference, &BTreeSet::new()))
            .map(|difference| difference.step.as_str())
            .collect();
        let lines: Vec<&str> = steps.into_iter().collect();
        std::fs::write(file, lines.join("\n") + "\n").unwrap();
    }
    let known = |difference: &normal::Difference| known::is_known(difference, &open);
    let (known, unknown): (Vec<_>, Vec<_>) = differences.into_iter().partition(known);
    println!("{} known differences", known.len());
    let unknown: Vec<String> = unknown.iter().map(ToString::to_string).collect();
    assert!(
        unknown.is_empty() && broken.is_empty(),
        "not gone through: {broken:?}; {} differences:\n{}",
        unknown.len(),
        unknown.join("\n")
    );
}
