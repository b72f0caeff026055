use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// The processes of the operator. They are restarted when they end, as a Deployment does.
pub(crate) struct Programs {
    folder: PathBuf,
    running: Vec<Child>,
    /// The number of starts.
    pub(crate) starts: usize,
    /// The largest resident memory of a process in KiB.
    pub(crate) most_memory: u64,
}

impl Programs {
    /// Starts this many processes. `folder` contains the file `config` and gets their output.
    pub(crate) fn start(number: usize, folder: &Path) -> Self {
        let mut programs = Self {
            folder: folder.to_owned(),
            running: Vec::new(),
            starts: 0,
            most_memory: 0,
        };
        for _ in 0..number {
            let child = programs.spawn();
            programs.running.push(child);
        }
        programs
    }

    fn spawn(&mut self) -> Child {
        self.starts += 1;
        let log = self.folder.join(format!("program-{}", self.starts));
        let log = File::create(log).unwrap();
        Command::new(env!("CARGO_BIN_EXE_soaker"))
            .args(["run", "--metrics-address", "127.0.0.1:0"])
            .args(["--lease-duration", "5s", "--renew-deadline", "3s"])
            .args(["--retry-period", "1s", "--lease-namespace", "default"])
            .arg("--kubeconfig")
            .arg(self.folder.join("config"))
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap()
    }

    /// Restarts ended processes, and records the memory of the others.
    pub(crate) fn keep_running(&mut self) {
        for number in 0..self.running.len() {
            let pid = self.running[number].id();
            if self.running[number].try_wait().unwrap().is_some() {
                self.running[number] = self.spawn();
            } else {
                self.most_memory = self.most_memory.max(resident(pid));
            }
        }
    }

    /// Sends a signal to one of them.
    pub(crate) fn signal(&self, number: usize, name: &str) {
        let pid = self.running[number % self.running.len()].id().to_string();
        // The process may have ended just now.
        let _ = Command::new("kill")
            .args([&format!("-{name}"), &pid])
            .stderr(Stdio::null())
            .status();
    }

    pub(crate) fn count(&self) -> usize {
        self.running.len()
    }

    /// Returns the last lines that each process printed, for error messages.
    pub(crate) fn logs(&self) -> String {
        let tail = |number| {
            let text = fs::read_to_string(self.folder.join(format!("program-{number}")));
            let text = text.unwrap_or_default();
            let lines: Vec<_> = text.lines().rev().take(15).collect();
            format!(
                "program {number}:\n{}\n",
                lines.into_iter().rev().collect::<Vec<_>>().join("\n")
            )
        };
        (1..=self.starts).rev().take(4).map(tail).collect()
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        for child in &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns the resident memory of a process in KiB, or zero if it cannot be read.
fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
