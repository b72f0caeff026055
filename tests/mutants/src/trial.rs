use std::{
    fmt,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    sync::{
        Mutex,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{Outcome, tests::Tests};

/// What the tests say of a change.
pub(crate) enum Verdict {
    /// The test that failed first.
    Caught(String),
    /// The tests did not end in time, or their program died. A developer notices that, too.
    Ended(&'static str),
    Missed,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caught(test) => write!(f, "caught by {test}"),
            Self::Ended(how) => write!(f, "caught, {how}"),
            Self::Missed => f.write_str("missed"),
        }
    }
}

/// What the tests say of each change, in the order of the changes. No run takes longer than the limit.
pub(crate) fn of_all(
    tests: &Tests,
    changes: &[String],
    limit: Duration,
) -> Outcome<Vec<(String, Verdict)>> {
    let next = Mutex::new(changes.iter().enumerate());
    let found = Mutex::new(Vec::new());
    let work = || {
        let one = || next.lock().ok()?.next();
        while let Some((place, change)) = one() {
            let began = Instant::now();
            let verdict = of(tests, change, limit);
            let seconds = began.elapsed().as_secs_f32();
            match &verdict {
                Ok(verdict) => println!("{change}: {verdict}, in {seconds:.1} s"),
                Err(error) => println!("{change}: {error}"),
            }
            if let Ok(mut found) = found.lock() {
                found.push((place, verdict));
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        // Tests also wait, for timers and each other.
        for _ in 0..2 * cores {
            scope.spawn(work);
        }
    });
    let mut found = found.into_inner().unwrap_or_default();
    found.sort_by_key(|(place, _)| *place);
    let verdicts = found.into_iter();
    let named = |(place, verdict): (usize, Result<_, std::io::Error>)| {
        Ok((changes[place].clone(), verdict?))
    };
    verdicts.map(named).collect()
}

fn of(tests: &Tests, change: &str, limit: Duration) -> std::io::Result<Verdict> {
    for run in tests.runs(change) {
        let verdict = first_failure(run, limit)?;
        if !matches!(verdict, Verdict::Missed) {
            return Ok(verdict);
        }
    }
    Ok(Verdict::Missed)
}

/// Runs tests until the first one fails.
fn first_failure(mut tests: Command, limit: Duration) -> std::io::Result<Verdict> {
    let mut child = tests.stdout(Stdio::piped()).spawn()?;
    let (failed, first) = mpsc::channel();
    if let Some(output) = child.stdout.take() {
        // It ends with the output, which a process that a test has left may keep open.
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if let Some(test) = line.strip_suffix(" ... FAILED") {
                    let _ = failed.send(test.trim_start_matches("test ").to_owned());
                }
            }
        });
    }
    let first = first.recv_timeout(limit);
    if first != Err(RecvTimeoutError::Disconnected) {
        let _ = child.kill();
    }
    let status = child.wait()?;
    Ok(match first {
        Ok(test) => Verdict::Caught(test),
        Err(RecvTimeoutError::Timeout) => Verdict::Ended("the tests do not end"),
        Err(_) if status.success() => Verdict::Missed,
        Err(_) => Verdict::Ended("the program of the tests dies"),
    })
}
