//! The server, as a process of its own.

use std::{
    error::Error,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

/// Runs until it is dropped.
pub(super) struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    address: String,
}

impl Server {
    pub(super) fn start(
        seed: u64,
        objects: u64,
        tls: bool,
        kubeconfig: &Path,
    ) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .arg("serve")
            .args(["--seed", &seed.to_string(), "--pods", &objects.to_string()]);
        command.arg("--kubeconfig").arg(kubeconfig);
        if tls {
            command.arg("--tls");
        }
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

    /// From now on every watch sends so many events.
    pub(super) fn modify(&mut self, events: u64) -> Result<(), Box<dyn Error>> {
        self.tell(&format!("modify {events}"))
    }

    pub(super) fn reset(&mut self) -> Result<(), Box<dyn Error>> {
        self.tell("reset")
    }

    fn tell(&mut self, command: &str) -> Result<(), Box<dyn Error>> {
        writeln!(self.input, "{command}")?;
        self.input.flush()?;
        match self.line()?.as_str() {
            "ok" => Ok(()),
            other => Err(format!("{command}: the server said {other:?}").into()),
        }
    }

    fn line(&mut self) -> Result<String, Box<dyn Error>> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
