//! Checks that the sandbox answers like a real API server: both run the same scenarios, and the test compares their answers
//! except for names, times and versions that differ between any two servers.
//!
//! The real server is the one of `tests/cluster`, whose program `PILOTHOUSE_CLUSTER_BINARY` names, or any cluster whose
//! kubeconfig `PILOTHOUSE_CLUSTER` names. Without both variables the test is skipped and says so.
//!
//! `PILOTHOUSE_SCENARIO` selects the scenarios whose names contain its value. `PILOTHOUSE_CONFORMANCE_KEPT` names a
//! folder for the real server's answers. If that folder has the answers of a scenario, only the sandbox runs it.

#![recursion_limit = "512"]

mod comparison;
#[path = "../gallery/mod.rs"]
mod gallery;
mod known_differences;
mod real;
mod run;
mod scenarios;
mod stored_answers;
#[allow(dead_code, unreachable_pub, missing_docs)]
#[path = "../../../examples/website/src/main.rs"]
mod website;

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use pilothouse::{client::Client, testing::Cluster};
use pilothouse_sandbox::Sandbox;
use real::Real;
use run::{Answer, Run};
use scenarios::Scenario;

#[tokio::test(flavor = "multi_thread")]
async fn the_sandbox_answers_like_a_real_api_server() {
    let mut real = None;
    let sandbox = Cluster::with(Sandbox::builder().rbac(true)).unwrap();
    let only = std::env::var("PILOTHOUSE_SCENARIO").unwrap_or_default();
    let mut differences = Vec::new();
    let mut broken = Vec::new();
    for (name, scenario) in scenarios::all() {
        if !name.contains(&only) {
            continue;
        }
        let stored = match stored_answers::read(name) {
            Some(answers) => Some(answers),
            None => {
                if real.is_none() {
                    real = Real::from_environment().await;
                }
                let Some(real) = &real else {
                    return;
                };
                let answers = answers(&real.client, name, scenario).await;
                if let Some(answers) = &answers {
                    stored_answers::write(name, answers);
                }
                answers
            }
        };
        let answers = answers(sandbox.client(), name, scenario).await;
        let (Some(real), Some(sandbox)) = (stored, answers) else {
            broken.push(name);
            continue;
        };
        differences.extend(comparison::differences(name, &sandbox, &real));
        println!("{name}: {} answers", real.len());
    }
    let (known, unknown): (Vec<_>, Vec<_>) = differences
        .into_iter()
        .partition(known_differences::is_known);
    println!("{} known differences", known.len());
    let unknown: Vec<String> = unknown.iter().map(ToString::to_string).collect();
    assert!(
        unknown.is_empty() && broken.is_empty(),
        "scenarios that did not finish: {broken:?}; {} differences:\n{}",
        unknown.len(),
        unknown.join("\n")
    );
}

/// Returns the answers of a server to a scenario, or `None` if the scenario did not finish.
async fn answers(client: &Client, name: &str, scenario: Scenario) -> Option<Vec<Answer>> {
    let run = Run::start(client.clone(), &format!("conformance-{name}")).await;
    let run = AssertUnwindSafe(scenario(run)).catch_unwind().await;
    run.ok().map(|run| run.answers)
}
