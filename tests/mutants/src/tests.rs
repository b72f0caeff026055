use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use pilothouse_sabotage::SWITCH;

use crate::Outcome;

/// A change that never stops growing must not take the machine's memory: KiB of addresses.
const MEMORY: &str = "8388608";
/// Tests that take longer run only if the others have passed.
const QUICK: Duration = Duration::from_secs(1);

/// Unit tests of a package, in the program that has been built of them.
pub(crate) struct Tests {
    program: PathBuf,
    folder: PathBuf,
    /// Parts of their names.
    names: Vec<String>,
    /// Those that take long.
    slow: Vec<String>,
    /// How long all of them take without a change.
    pub(crate) duration: Duration,
}

impl Tests {
    /// Runs them without a change. They must pass.
    pub(crate) fn new(program: PathBuf, folder: PathBuf, names: &[String]) -> Outcome<Self> {
        let mut tests = Self {
            program,
            folder,
            names: names.to_vec(),
            slow: Vec::new(),
            duration: Duration::ZERO,
        };
        let began = Instant::now();
        let mut child = tests.all().stdout(Stdio::piped()).spawn()?;
        let (mut passed, mut failed) = (Vec::new(), Vec::new());
        let output = child.stdout.take().ok_or("the tests have no output")?;
        for line in BufReader::new(output).lines() {
            match line?
                .strip_prefix("test ")
                .and_then(|line| line.split_once(" ... "))
            {
                Some((test, "ok")) => {
                    if began.elapsed() > QUICK {
                        tests.slow.push(test.to_owned());
                    }
                    passed.push(test.to_owned());
                }
                Some((test, "FAILED")) => failed.push(test.to_owned()),
                _ => {}
            }
        }
        tests.duration = began.elapsed();
        if !child.wait()?.success() {
            return Err(format!("tests fail without a change: {}", failed.join(" ")).into());
        }
        let is_there = |part: &&String| passed.iter().any(|test| test.contains(*part));
        match names.iter().find(|part| !is_there(part)) {
            Some(part) => Err(format!("there is no test `{part}`").into()),
            None => Ok(tests),
        }
    }

    /// The tests in two runs, the quick ones first, with a change switched on.
    pub(crate) fn runs(&self, change: &str) -> Vec<Command> {
        let mut quick = self.all();
        for test in &self.slow {
            quick.args(["--skip", test]);
        }
        let mut runs = vec![quick];
        if !self.slow.is_empty() {
            let mut slow = self.command();
            slow.arg("--exact").args(&self.slow);
            runs.push(slow);
        }
        for run in &mut runs {
            run.env(SWITCH, change);
        }
        runs
    }

    fn all(&self) -> Command {
        let mut all = self.command();
        all.args(&self.names);
        all
    }

    fn command(&self) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -v {MEMORY} && exec \"$0\" \"$@\"")]);
        command.arg(&self.program).args(["--test-threads", "4"]);
        command.current_dir(&self.folder);
        command.env("CARGO_MANIFEST_DIR", &self.folder);
        command.env_remove(SWITCH).stderr(Stdio::null());
        command
    }
}
