//! The server as a separate process.

use std::{
    error::Error,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use super::run::Counts;
use crate::generator::Kind;

/// The server process, which runs until this is dropped.
pub(super) struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    address: String,
}

impl Server {
    /// Starts the server with these objects, also in protobuf if there are files of them, and with more options.
    pub(super) fn start(
        seed: u64,
        objects: &[(Kind, u64)],
        protobuf: &[(Kind, PathBuf)],
        options: &[&str],
        kubeconfig: &Path,
    ) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("serve").args(arguments(seed, objects));
        command.arg("--kubeconfig").arg(kubeconfig);
        for (kind, file) in protobuf {
            command
                .arg("--protobuf")
                .arg(format!("{}={}", kind.shape(), file.display()));
        }
        command.args(options);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the server has no input and output".into());
        };
        let mut server = Self {
            child,
            input,
            output: BufReader::new(output),
            address: String::new(),
        };
        let line = server.line()?;
        server.address = line
            .strip_prefix("ready ")
            .ok_or_else(|| format!("the server said {line:?}"))?
            .to_owned();
        Ok(server)
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Makes every watch send this many modifications.
    pub(super) fn modify(&mut self, events: u64) -> Result<(), Box<dyn Error>> {
        self.tell(&format!("modify {events}"))
    }

    /// Makes every watch send this many modifications at this rate per second.
    pub(super) fn modify_at(&mut self, rate: u64, events: u64) -> Result<(), Box<dyn Error>> {
        self.tell(&format!("modify {events} {rate}"))
    }

    /// Makes every watch send this many events, alternately deletions and creations.
    pub(super) fn churn(&mut self, events: u64) -> Result<(), Box<dyn Error>> {
        self.tell(&format!("churn {events}"))
    }

    /// Makes every watch send this many stamped events at this rate per second.
    pub(super) fn pace(&mut self, rate: u64, events: u64) -> Result<(), Box<dyn Error>> {
        self.tell(&format!("pace {rate} {events}"))
    }

    /// Changes this percentage of the objects and ends all watches, so that every client lists again.
    pub(super) fn relist(&mut self, percent: u64) -> Result<(), Box<dyn Error>> {
        self.tell(&format!("relist {percent}"))
    }

    pub(super) fn reset(&mut self) -> Result<(), Box<dyn Error>> {
        self.tell("reset")
    }

    /// Returns the counts since the reset.
    pub(super) fn counts(&mut self) -> Result<Counts, Box<dyn Error>> {
        let text = self.ask("counts")?;
        serde_json::from_str(&text)
            .map_err(|error| format!("counts: the server said {text:?}: {error}").into())
    }

    fn tell(&mut self, command: &str) -> Result<(), Box<dyn Error>> {
        self.ask(command).map(drop)
    }

    fn ask(&mut self, command: &str) -> Result<String, Box<dyn Error>> {
        writeln!(self.input, "{command}")?;
        self.input.flush()?;
        let line = self.line()?;
        match line.strip_prefix("ok") {
            Some(answer) => Ok(answer.trim_start().to_owned()),
            None => Err(format!("{command}: the server said {line:?}").into()),
        }
    }

    fn line(&mut self) -> Result<String, Box<dyn Error>> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }
}

/// Returns the arguments for the objects of the server.
pub(super) fn arguments(seed: u64, objects: &[(Kind, u64)]) -> Vec<String> {
    let mut arguments = vec!["--seed".to_owned(), seed.to_string()];
    for (kind, count) in objects {
        arguments.push("--objects".to_owned());
        arguments.push(format!("{}={count}", kind.shape()));
    }
    arguments
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
