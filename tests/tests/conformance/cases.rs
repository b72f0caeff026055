//! The names of the cases.
//!
//! A scenario is the unit that runs, because its steps depend on each other; a case is the unit that is named, selected and
//! judged. A case is the steps of a scenario whose names begin alike, up to `: `. A scenario whose name has a `/` is one case.
//!
//! `cases.txt` lists the names, because they must be known before a server runs. `UPDATE_CASES=1` writes it anew.

use std::{collections::BTreeSet, env, fs, path::PathBuf};

use crate::run::Answer;

/// Returns the name of the case to which a step of a scenario belongs.
pub(crate) fn of_step(scenario: &str, step: &str) -> String {
    if scenario.contains('/') {
        return scenario.into();
    }
    let part = step.split_once(": ").map_or(step, |(part, _)| part);
    format!("{scenario}/{part}")
}

/// Returns the scenario of a case.
pub(crate) fn scenario(case: &str, scenarios: &BTreeSet<String>) -> Option<String> {
    let (first, _) = case.split_once('/')?;
    let found = [case, first]
        .into_iter()
        .find(|name| scenarios.contains(*name));
    found.map(str::to_owned)
}

/// Returns the cases of a scenario's answers.
pub(crate) fn of_answers(scenario: &str, answers: &[Answer]) -> BTreeSet<String> {
    let steps = answers.iter().map(|answer| of_step(scenario, &answer.step));
    steps.collect()
}

/// Returns the names of all cases.
pub(crate) fn listed() -> BTreeSet<String> {
    let text = fs::read_to_string(file()).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Whether the list is to be written anew.
pub(crate) fn are_updated() -> bool {
    env::var_os("UPDATE_CASES").is_some()
}

/// Writes the list.
pub(crate) fn update(cases: &BTreeSet<String>) {
    let lines = cases.iter().map(|case| format!("{case}\n"));
    fs::write(file(), lines.collect::<String>()).unwrap();
}

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/cases.txt")
}
