//! The sandbox answers as a real API server does: both go through the same scenarios, and their answers are compared
//! but for names, times and versions that no two servers share.
//!
//! The real server is the one of `tests/cluster`, whose program `PILOTHOUSE_CLUSTER_BINARY` names, or any cluster whose
//! kubeconfig `PILOTHOUSE_CLUSTER` names. Without both there is nothing to compare with, and the test says so.
//!
//! `PILOTHOUSE_SCENARIO` picks the scenarios whose names contain it. `PILOTHOUSE_CONFORMANCE_KEPT` names a folder in which the real
//! server's answers are kept: a scenario whose answers are there is asked of the sandbox alone.

#![recursion_limit = "512"]

#[path = "../gallery/mod.rs"]
mod gallery;
mod kept;
mod known;
mod normal;
mod real;
mod run;
mod scenarios;
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
async fn the_sandbox_answers_as_a_real_api_server() {
    let mut real = None;
    let sandbox = Cluster::with(Sandbox::builder().rbac(true)).unwrap();
    let only = std::env::var("PILOTHOUSE_SCENARIO").unwrap_or_default();
    let mut differences = Vec::new();
    let mut broken = Vec::new();
    for (name, scenario) in scenarios::all() {
        if !name.contains(&only) {
            continue;
        }
        let kept = match kept::read(name) {
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
                    kept::write(name, answers);
                }
                answers
            }
        };
        let answers = answers(sandbox.client(), name, scenario).await;
        let (Some(real), Some(sandbox)) = (kept, answers) else {
            broken.push(name);
            continue;
        };
        differences.extend(normal::differences(name, &sandbox, &real));
        println!("{name}: {} answers", real.len());
    }
    let (known, unknown): (Vec<_>, Vec<_>) = differences.into_iter().partition(known::is_known);
    println!("{} known differences", known.len());
    let unknown: Vec<String> = unknown.iter().map(ToString::to_string).collect();
    assert!(
        unknown.is_empty() && broken.is_empty(),
        "not gone through: {broken:?}; {} differences:\n{}",
        unknown.len(),
        unknown.join("\n")
    );
}

/// What a server answers to a scenario, or none when it could not be gone through.
async fn answers(client: &Client, name: &str, scenario: Scenario) -> Option<Vec<Answer>> {
    let run = Run::start(client.clone(), &format!("conformance-{name}")).await;
    let run = AssertUnwindSafe(scenario(run)).catch_unwind().await;
    run.ok().map(|run| run.answers)
}
