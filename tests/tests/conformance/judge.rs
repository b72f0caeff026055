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
    let mut failed = BTreeMap::new();
    for case in &selected {
        match cases::scenario(case, &names) {
            Some(scenario) => drop(
                of_scenario
                    .entry(scenario)
                    .or_default()
                    .insert(case.clone()),
            ),
            None => drop(failed.insert(case.clone(), "no scenario has this case".to_owned())),
        }
    }
    let everything = cases::are_updated();
    let selected_scenarios: Vec<Scenario> = all
        .into_iter()
        .filter(|scenario| everything || of_scenario.contains_key(&scenario.name))
        .collect();
    let mut servers = BTreeMap::new();
    for beside in Beside::ALL {
        let mut with = selected_scenarios
            .iter()
            .filter(|one| one.beside() == beside)
            .peekable();
        if with.peek().is_none() {
            continue;
        }
        let needs_real = with.any(|one| stored_answers::read(&one.name).is_none());
        let Some(started) = Servers::start(beside, needs_real).await else {
            return true;
        };
        servers.insert(beside, started);
    }

    let (alone, together): (Vec<_>, Vec<_>) = selected_scenarios
        .iter()
        .partition(|scenario| scenario.affects_others());
    let compare = |scenario: &'_ Scenario| {
        let servers = &servers[&scenario.beside()];
        let (name, scenario) = (scenario.name.clone(), scenario.clone());
        async move { (name, servers.compare(&scenario).await) }
    };
    let mut finished = Box::pin(
        stream::iter(together.into_iter().map(compare))
            .buffer_unordered(AT_ONCE)
            .chain(stream::iter(alone.into_iter().map(compare)).buffered(1)),
    );
    let (mut passed, mut known, mut found) = (0, 0, BTreeSet::new());
    let mut used = BTreeSet::new();
    while let Some((scenario, result)) = finished.next().await {
        let cases = of_scenario.remove(&scenario).unwrap_or_default();
        if let Ok(compared) = &result {
            found.extend(cases::of_answers(&scenario, &compared.answers));
        }
        let differences = result.iter().flat_map(|compared| &compared.differences);
        for row in differences.filter_map(|(_, difference)| known_differences::row(difference)) {
            known += 1;
            used.insert(std::ptr::from_ref(row));
        }
        let verdicts = verdicts(&scenario, &cases, result);
        for (case, why) in verdicts {
            println!(
                "test {case} ... {}",
                why.as_ref().map_or("ok", |_| "FAILED")
            );
            match why {
                Some(why) => drop(failed.insert(case, why)),
                None => passed += 1,
            }
        }
    }
    if everything {
        cases::update(&found);
    }
    // What did not run, or did not finish, says nothing.
    if failed.is_empty() && (everything || selected == cases::listed()) {
        let unused =
            known_differences::rows().filter(|row| !used.contains(&std::ptr::from_ref(*row)));
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
        "\ntest result: {}. {passed} passed; {} failed; {known} known differences; finished in {:.2}s\n",
        if failed.is_empty() { "ok" } else { "FAILED" },
        failed.len(),
        began.elapsed().as_secs_f64()
    );
    failed.is_empty()
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
