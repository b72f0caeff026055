//! Checks that the sandbox answers like a real API server: both run the same scenarios, and the program compares their answers
//! except for names, times and versions that differ between any two servers. Scenarios send requests or call kubectl. Each named
//! part of a scenario is a case, with its own result (see [`cases`]).
//!
//! If cases of a few scenarios fail, these scenarios run once more, on new servers, and a case fails only if it fails there, too:
//! with thousands of requests beside each other, some answer always depends on the moment. The program prints what failed once.
//!
//! The real server is the one of `tests/cluster`, whose program `PILOTHOUSE_CLUSTER_BINARY` names, or any cluster whose
//! kubeconfig `PILOTHOUSE_CLUSTER` names. Without both variables the cases are skipped, and the program says so.
//!
//! `cargo test … --test conformance -- kubectl-get` runs the cases whose names contain `kubectl-get`; `--list` lists them.
//! `PILOTHOUSE_CONFORMANCE_KEPT` names a folder for the real server's answers. If that folder has the answers of a scenario,
//! only the sandbox runs it.

#![recursion_limit = "512"]

mod arguments;
mod cases;
mod cbor;
mod comparison;
#[path = "../gallery/mod.rs"]
mod gallery;
mod judge;
mod known_differences;
mod kubectl;
mod printed;
mod run;
mod scenarios;
mod servers;
mod stored_answers;
#[allow(dead_code, unreachable_pub, missing_docs)]
#[path = "../../../examples/website/src/main.rs"]
mod website;

use std::{collections::BTreeSet, env, process::ExitCode};

use arguments::Arguments;

fn main() -> ExitCode {
    let arguments = match Arguments::parse(env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
    };
    if cases::are_updated() && !arguments.select_all() {
        eprintln!("UPDATE_CASES=1 needs all cases: leave out the filters");
        return ExitCode::FAILURE;
    }
    let mut selected = cases::listed();
    selected.retain(|case| arguments.select(case));
    if arguments.list {
        list(&selected);
        return ExitCode::SUCCESS;
    }
    println!("\nrunning {} cases", selected.len());
    if selected.is_empty() && !cases::are_updated() {
        return ExitCode::SUCCESS;
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    match runtime.block_on(judge::run(&selected)) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn list(cases: &BTreeSet<String>) {
    for case in cases {
        println!("{case}: test");
    }
}
