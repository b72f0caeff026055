//! Counts how many small changes of the sources the unit tests notice. `tests/mutants/run` calls it.
//!
//! All changes are put into the sources together, each behind a switch, and the unit tests of the package are built
//! once. Then the tests of the subject run once for each change.

mod binary;
mod change;
mod request;
mod results;
mod subject;
mod tests;
mod trial;

use std::{env, error::Error, path::Path, process::ExitCode, time::Duration};

use pilothouse_sabotage::Weaver;

use crate::{binary::Binary, request::Request, results::Results, subject::Work};

/// A change with which the tests take longer counts as noticed.
const TIMEOUT: Duration = Duration::from_secs(60);

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let Some(request) = Request::of(env::args().skip(1)) else {
        eprint!("{}", request::USAGE);
        return ExitCode::from(2);
    };
    match run(&request) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("mutants: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether enough was caught.
fn run(request: &Request) -> Outcome<bool> {
    let mut is_enough = true;
    // Subjects of one package share a build.
    for works in request.works()?.chunk_by(|a, b| a.package == b.package) {
        for results in of_package(&request.sources, works)? {
            print!("{results}");
            is_enough &= results.is_enough() || request.folder.is_some();
        }
    }
    Ok(is_enough)
}

fn of_package(sources: &Path, works: &[Work]) -> Outcome<Vec<Results>> {
    let mut weaver = Weaver::new(sources);
    let mut all = Vec::new();
    for work in works {
        let mut results = Results::new(&work.name);
        for change in &work.changes {
            match weaver.add(&change.name, &change.files) {
                Ok(()) => results.woven.push(change.name.clone()),
                Err(reason) => results.left_out.push((change.name.clone(), reason)),
            }
        }
        all.push(results);
    }
    let (binary, broken) = Binary::build(sources, &works[0].package, &mut weaver)?;
    for (work, results) in works.iter().zip(&mut all) {
        let is_broken = |name: &mut String| broken.contains(name);
        results.broken = results.woven.extract_if(.., is_broken).collect();
        let tests = binary.tests(&work.tests)?;
        println!(
            "{}: {} changes; without one the tests pass in {:.1} s",
            work.name,
            results.woven.len(),
            tests.duration.as_secs_f32()
        );
        // On a busy machine more than a minute.
        let limit = TIMEOUT.max(10 * tests.duration);
        results.verdicts = trial::of_all(&tests, &results.woven, limit)?;
    }
    Ok(all)
}
