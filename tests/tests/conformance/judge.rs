//! Runs the scenarios of the selected cases, and judges and reports each case.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use futures_util::{StreamExt, stream};
use pilothouse_tests::real::RealServer;

use crate::{
    cases,
    comparison::Difference,
    known_differences,
    scenarios::{self, Scenario},
    servers::{Beside, Compared, Servers},
    stored_answers,
};

/// How many failed scenarios are repeated. More do not fail by chance.
const REPEATED: usize = 5;

/// How many scenarios run at once. Most of their time they wait for a server or for the end of a watch.
const AT_ONCE: usize = 8;

/// Runs the cases, and prints a line for each. Returns whether all passed.
pub(crate) async fn run(selected: &BTreeSet<String>) -> bool {
    let began = Instant::now();
    let mut all = scenarios::all();
    let names: BTreeSet<String> = all.iter().map(|scenario| scenario.name.clone()).collect();
    let mut selected = selected.clone();
    if RealServer::is_given() {
        println!("skipped: the cases kubelet-…: only our own server has a node for them");
        all.retain(|scenario| scenario.beside() != Beside::Kubelet);
        selected.retain(|case| !case.starts_with("kubelet-"));
    }
    let mut of_scenario = BTreeMap::<String, BTreeSet<String>>::new();
    let mut report = Report::default();
    for case in &selected {
        match cases::scenario(case, &names) {
            Some(scenario) => drop(
                of_scenario
                    .entry(scenario)
                    .or_default()
                    .insert(case.clone()),
            ),
            None => drop(
                report
                    .failed
                    .insert(case.clone(), "no scenario has this case".to_owned()),
            ),
        }
    }
    let everything = cases::are_updated();
    let selected_scenarios: Vec<Scenario> = all
        .into_iter()
        .filter(|scenario| everything || of_scenario.contains_key(&scenario.name))
        .collect();
    let Some(servers) = start(&selected_scenarios).await else {
        return true;
    };
    let (alone, together): (Vec<_>, Vec<_>) = selected_scenarios
        .iter()
        .partition(|scenario| scenario.affects_others());
    let compare = |scenario: &'_ Scenario| {
        let servers = &servers[&scenario.beside()];
        let scenario = scenario.clone();
        async move {
            let result = servers.compare(&scenario).await;
            (scenario, result)
        }
    };
    let mut finished = Box::pin(
        stream::iter(together.into_iter().map(compare))
            .buffer_unordered(AT_ONCE)
            .chain(stream::iter(alone.into_iter().map(compare)).buffered(1)),
    );
    let (mut found, mut differed) = (BTreeSet::new(), Vec::new());
    while let Some((scenario, result)) = finished.next().await {
        let cases = of_scenario.remove(&scenario.name).unwrap_or_default();
        if let Ok(compared) = &result {
            found.extend(cases::of_answers(&scenario.name, &compared.answers));
        }
        let failed = report.take(&scenario.name, &cases, result);
        if !failed.is_empty() {
            differed.push(Differed {
                scenario,
                cases: &cases & &failed,
                failed,
            });
        }
    }
    drop(finished);
    drop(servers);
    if everything {
        cases::update(&found);
    } else if !RealServer::is_given() && (1..=REPEATED).contains(&differed.len()) {
        repeat(differed, &mut report).await;
    }
    let Report {
        passed,
        known,
        mut failed,
    } = report;
    // What did not run, or did not finish, says nothing.
    if failed.is_empty() && (everything || selected == cases::listed()) {
        let unused =
            known_differences::rows().filter(|row| !known.contains_key(&std::ptr::from_ref(*row)));
        for row in unused {
            let (row, why) = (row.steps.join(", "), row.why);
            failed.insert(
                format!("known difference of {row}"),
                format!("nothing differs any more: remove the row ({why})"),
            );
        }
    }
    if !failed.is_empty() {
        println!("\nfailures:");
    }
    for (case, why) in &failed {
        println!("\n---- {case} ----\n{why}");
    }
    println!(
        "\ntest result: {}. {passed} passed; {} failed; {} known differences; finished in {:.2}s\n",
        if failed.is_empty() { "ok" } else { "FAILED" },
        failed.len(),
        known.values().sum::<usize>(),
        began.elapsed().as_secs_f64()
    );
    failed.is_empty()
}

/// Starts the servers that the scenarios need. Returns `None` if the environment names no real server.
async fn start(scenarios: &[Scenario]) -> Option<BTreeMap<Beside, Servers>> {
    let mut servers = BTreeMap::new();
    for beside in Beside::ALL {
        let mut with = scenarios
            .iter()
            .filter(|one| one.beside() == beside)
            .peekable();
        if with.peek().is_none() {
            continue;
        }
        let needs_real = with.any(|one| stored_answers::read(&one.name).is_none());
        servers.insert(beside, Servers::start(beside, needs_real).await?);
    }
    Some(servers)
}

/// Repeats scenarios of which cases failed, one after the other on new servers. A case that passes now depends on the moment
/// on one of the servers: it passes, and its first failure is printed. Stored answers of the real server are not asked again.
async fn repeat(differed: Vec<Differed>, report: &mut Report) {
    let scenarios: Vec<Scenario> = differed.iter().map(|one| one.scenario.clone()).collect();
    println!("\nrepeating what failed, on new servers");
    let Some(servers) = start(&scenarios).await else {
        return;
    };
    for Differed {
        scenario,
        cases,
        failed,
    } in differed
    {
        let first: BTreeMap<String, String> = failed
            .iter()
            .filter_map(|case| report.failed.remove_entry(case))
            .collect();
        let result = servers[&scenario.beside()].compare(&scenario).await;
        report.take(&scenario.name, &cases, result);
        for (case, why) in first {
            if !report.failed.contains_key(&case) {
                println!("\n---- {case} failed once, and passed then ----\n{why}");
            }
        }
    }
}

/// A scenario that failed.
struct Differed {
    scenario: Scenario,
    /// The selected cases that failed.
    cases: BTreeSet<String>,
    /// The same, and what is not selected or not listed.
    failed: BTreeSet<String>,
}

/// What is known of the cases that ran.
#[derive(Default)]
struct Report {
    passed: usize,
    /// How often each row of known differences was needed.
    known: BTreeMap<*const known_differences::Row, usize>,
    /// The cases that failed, with the reason.
    failed: BTreeMap<String, String>,
}

impl Report {
    /// Judges the cases of a scenario, and prints a line for each. Returns those that failed.
    fn take(
        &mut self,
        scenario: &str,
        cases: &BTreeSet<String>,
        result: Result<Compared, String>,
    ) -> BTreeSet<String> {
        let differences = result.iter().flat_map(|compared| &compared.differences);
        for row in differences.filter_map(|(_, difference)| known_differences::row(difference)) {
            *self.known.entry(row).or_default() += 1;
        }
        let mut failed = BTreeSet::new();
        for (case, why) in verdicts(scenario, cases, result) {
            let Some(why) = why else {
                println!("test {case} ... ok");
                self.passed += 1;
                continue;
            };
            println!("test {case} ... FAILED");
            failed.insert(case.clone());
            self.failed.insert(case, why);
        }
        failed
    }
}

/// Returns why each case of a scenario fails, or `None` if it passes.
fn verdicts(
    scenario: &str,
    selected: &BTreeSet<String>,
    result: Result<Compared, String>,
) -> BTreeMap<String, Option<String>> {
    let compared = match result {
        Ok(compared) => compared,
        Err(why) => {
            // The scenario itself, too, because no case may be listed yet.
            let failed = selected.iter().cloned().chain([scenario.to_owned()]);
            let failed = failed.map(|case| (case, Some(format!("did not finish: {why}"))));
            return failed.collect();
        }
    };
    let found = cases::of_answers(scenario, &compared.answers);
    let differences = compared.differences.into_iter();
    let unknown =
        differences.filter(|(_, difference)| known_differences::row(difference).is_none());
    let mut of_case = BTreeMap::<String, Vec<Difference>>::new();
    for (case, difference) in unknown {
        of_case.entry(case).or_default().push(difference);
    }
    let listed = cases::listed();
    let unlisted = found.iter().filter(|case| !listed.contains(*case));
    let mut verdicts: BTreeMap<_, _> = unlisted
        .map(|case| {
            let why = "cases.txt does not list this case: run all cases with UPDATE_CASES=1";
            (case.clone(), Some(why.to_owned()))
        })
        .collect();
    for case in selected {
        let why = match of_case.get(case) {
            Some(differences) => {
                let texts: Vec<String> = differences.iter().map(ToString::to_string).collect();
                Some(texts.join("\n"))
            }
            None if !found.contains(case) => {
                Some("no step belongs to this case: run all cases with UPDATE_CASES=1".to_owned())
            }
            None => None,
        };
        verdicts.insert(case.clone(), why);
    }
    verdicts
}
