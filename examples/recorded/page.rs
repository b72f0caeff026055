//! The commands of the page about an example, run as they stand there.

use std::{
    collections::BTreeSet,
    env, fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::objects::tool;

/// How long an output may need until it is that of the page.
const LIMIT: Duration = Duration::from_secs(60);
/// How long a command with `--watch` runs.
const WATCH: u32 = 3;

/// A command of a page, and the lines that the page shows after it.
struct Step {
    command: String,
    shown: Vec<String>,
}

/// The commands of the blocks `console`, but for the one that starts the operator.
fn steps(page: &str) -> Vec<Step> {
    let mut found: Vec<Step> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        if let Some(language) = line.strip_prefix("```") {
            inside = !inside && language == "console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            found.push(Step {
                command: command.to_owned(),
                shown: Vec::new(),
            });
        } else if let Some(step) = found.last_mut().filter(|_| inside) {
            step.shown.push(line.to_owned());
        }
    }
    found.retain(|step| !step.command.starts_with("cargo run "));
    found
}

/// The words of each line, with the same word for each age.
fn words(line: &str) -> Vec<&str> {
    let is_age = |word: &&str| {
        word.starts_with(|letter: char| letter.is_ascii_digit())
            && word.ends_with(['s', 'm'])
            && word
                .chars()
                .all(|letter| letter.is_ascii_digit() || "sm".contains(letter))
    };
    let shown = |word| if is_age(&word) { "AGE" } else { word };
    line.split_whitespace().map(shown).collect()
}

/// The program's `dev` in a folder in which the examples are, too.
struct Dev {
    process: Child,
    folder: tempfile::TempDir,
    kubeconfig: String,
}

impl Dev {
    fn start(program: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        symlink(
            examples.canonicalize().unwrap(),
            folder.path().join("examples"),
        )
        .unwrap();
        let log = folder.path().join("log");
        let process = Command::new(program)
            .arg("dev")
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .env_remove("XDG_CACHE_HOME")
            .stdin(Stdio::null())
            .stdout(fs::File::create(&log).unwrap())
            .stderr(fs::File::create(folder.path().join("errors")).unwrap())
            .spawn()
            .unwrap();
        let mut dev = Self {
            process,
            folder,
            kubeconfig: String::new(),
        };
        let began = Instant::now();
        loop {
            let text = fs::read_to_string(&log).unwrap();
            if text.contains(" is running.") {
                let kubeconfig = text.split_once("export KUBECONFIG=").unwrap().1;
                dev.kubeconfig = kubeconfig.lines().next().unwrap().to_owned();
                return dev;
            }
            assert!(
                began.elapsed() < LIMIT,
                "`dev` does not start:\n{}",
                dev.errors()
            );
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn errors(&self) -> String {
        fs::read_to_string(self.folder.path().join("errors")).unwrap_or_default()
    }

    fn run(&self, command: &str, kubectl: &Path) -> Output {
        let path = env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", kubectl.parent().unwrap().display());
        let mut shell = Command::new("sh");
        match command.contains(" --watch") {
            true => shell.args(["-c", &format!("timeout {WATCH} {command}")]),
            false => shell.args(["-c", command]),
        };
        shell
            .current_dir(self.folder.path())
            .env("PATH", path)
            .env("HOME", self.folder.path())
            .env("KUBECONFIG", &self.kubeconfig)
            .stdin(Stdio::null());
        shell.output().unwrap()
    }

    /// Runs a command until its output is that of the page. What changes something runs once.
    fn walk(&self, step: &Step, kubectl: &Path) {
        let Step { command, shown } = step;
        if let Some(kubeconfig) = command.strip_prefix("export KUBECONFIG=") {
            let home = self.folder.path().display().to_string();
            assert_eq!(kubeconfig.replacen('~', &home, 1), self.kubeconfig);
            return;
        }
        let began = Instant::now();
        loop {
            let output = self.run(command, kubectl);
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            // `timeout` ends with 124 if it ended the command.
            let code = if command.contains(" --watch") { 124 } else { 0 };
            let works = output.status.code() == Some(code);
            // Events of one second have no order.
            let lines = |text: &str| {
                let lines = text.lines().map(|line| words(line).join(" "));
                lines.collect::<BTreeSet<_>>()
            };
            let (printed, expected) = (lines(&text), lines(&shown.join("\n")));
            if works && (expected.is_empty() || printed == expected) {
                return;
            }
            let reads = ["kubectl get ", "ls "]
                .iter()
                .any(|start| command.starts_with(start));
            assert!(
                reads && began.elapsed() < LIMIT,
                "{command}\nThe page shows:\n{}\nThe command printed:\n{text}{}\n{}",
                shown.join("\n"),
                String::from_utf8_lossy(&output.stderr),
                self.errors()
            );
            thread::sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        // Without effect after the end in order.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs the commands of a page of the repository with the `dev` of a program. Each has to succeed, and to print what the page shows.
pub fn check_page(program: &str, page: &str) {
    let Some(kubectl) = tool("PILOTHOUSE_KUBECTL") else {
        return;
    };
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(page);
    let steps = steps(&fs::read_to_string(file).unwrap());
    assert!(!steps.is_empty(), "{page}");
    let mut dev = Dev::start(program);
    for step in &steps {
        dev.walk(step, &kubectl);
    }
    let id = dev.process.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(
        dev.process.wait().unwrap().code(),
        Some(0),
        "{}",
        dev.errors()
    );
}
