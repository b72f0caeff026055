use std::{
    ffi::OsString,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, Command},
    sync::oneshot,
    time::timeout,
};

use crate::{error::Error, terminal::say};

/// An operator that is asked to end gives its reconciles this time.
const GRACE: Duration = Duration::from_secs(10);

/// An operator without work ends within this time. If it does not, the user reads why.
const QUICK: Duration = Duration::from_secs(1);

/// The most lines that are kept until an operator is ready.
const MOST_LEFT: usize = 1000;

/// The line of an operator that waits until it may work. The framework writes it.
const INSTALLED: &str = "The definitions are installed.";

/// A process of the operator. It works when it is told so, and ends when its standard input ends.
pub(super) struct Operator {
    process: Child,
    input: Option<ChildStdin>,
    installed: Option<oneshot::Receiver<()>>,
    ready: Option<oneshot::Receiver<()>>,
}

/// Whether the operator shows its first text, with the addresses and commands, or only that it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Banner {
    Shown,
    Left,
}

/// What an operator does by itself.
#[derive(Debug)]
pub(super) enum Event {
    /// Its definitions are installed, and it waits.
    Installed,
    /// It works.
    Ready,
    Ended(ExitStatus),
}

impl Operator {
    /// Starts the program with the API server of the kubeconfig. `folder` is for what the next process needs to know.
    pub(super) fn start(
        program: &Path,
        kubeconfig: &Path,
        folder: &Path,
        arguments: &[OsString],
        banner: Banner,
    ) -> Result<Self, Error> {
        let mut command = Command::new(program);
        command
            .arg("dev")
            .arg("--api-server-kubeconfig")
            .arg(kubeconfig)
            .arg("--handover")
            .arg(folder)
            .args(arguments);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        // Ctrl-C reaches this program, which then ends the operator.
        command.process_group(0);
        let mut process = command.spawn().map_err(|source| Error::Program {
            program: program.into(),
            source,
        })?;
        let (tell_installed, installed) = oneshot::channel();
        let (tell, ready) = oneshot::channel();
        if let Some(output) = process.stdout.take() {
            tokio::spawn(async move {
                let mut lines = BufReader::new(output).split(b'\n');
                // Its first text ends with this line, which is not true here: the tool ends the server, too.
                let last = "Ctrl-C stops it";
                let (mut tell, mut is_shown) = (Some(tell), banner == Banner::Shown);
                let mut tell_installed = Some(tell_installed);
                // What is not shown. If the operator ends before it is ready, this says why.
                let mut left = Vec::new();
                while let Ok(Some(line)) = lines.next_segment().await {
                    let line = String::from_utf8_lossy(&line);
                    if line == INSTALLED
                        && let Some(tell) = tell_installed.take()
                    {
                        let _ = tell.send(());
                    } else if line.starts_with(last)
                        && let Some(tell) = tell.take()
                    {
                        is_shown = true;
                        // Nobody may wait for it.
                        let _ = tell.send(());
                    } else if is_shown || is_endpoint(&line) {
                        say(&line);
                    } else if left.len() < MOST_LEFT && !is_progress(&line) {
                        left.push(line.into_owned());
                    }
                }
                if tell.is_some() {
                    left.iter().for_each(|line| say(line));
                }
            });
        }
        Ok(Self {
            input: process.stdin.take(),
            process,
            installed: Some(installed),
            ready: Some(ready),
        })
    }

    /// Returns when the operator's definitions are installed, when its caches are complete, and then when its process has ended by itself.
    pub(super) async fn event(&mut self) -> Result<Event, Error> {
        tokio::select! {
            biased;
            () = told(&mut self.installed) => {
                self.installed = None;
                Ok(Event::Installed)
            }
            () = told(&mut self.ready) => {
                self.ready = None;
                Ok(Event::Ready)
            }
            status = self.process.wait() => Ok(Event::Ended(status?)),
        }
    }

    /// Lets the operator work.
    pub(super) async fn work(&mut self) {
        if let Some(input) = &mut self.input {
            // If it has ended, that is the next event.
            let _ = input.write_all(b"\n").await;
        }
    }

    /// Asks the operator to end, and ends it after 10 s.
    pub(super) async fn stop(mut self) -> Result<(), Error> {
        // Not a signal: with it, the operator would speak of a second one.
        self.input = None;
        let quick = timeout(QUICK, self.process.wait()).await;
        let ended = match quick {
            Err(_) => {
                say(&format!(
                    "The operator has not ended yet: reconciles that still run get {} s …",
                    GRACE.as_secs()
                ));
                timeout(GRACE.saturating_sub(QUICK), self.process.wait()).await
            }
            ended => ended,
        };
        match ended {
            Ok(status) => drop(status?),
            Err(_) => self.process.kill().await?,
        }
        Ok(())
    }
}

/// Returns when the operator has said it. If it ends before, its status tells.
async fn told(said: &mut Option<oneshot::Receiver<()>>) {
    let is_said = match said {
        Some(said) => said.await.is_ok(),
        None => false,
    };
    if !is_said {
        *said = None;
        std::future::pending::<()>().await;
    }
}

/// Whether the line only tells what the operator does until it works.
fn is_progress(line: &str) -> bool {
    [
        "kubectl can use it from now on: ",
        "Installing ",
        "Starting ",
    ]
    .iter()
    .any(|begin| line.starts_with(begin))
}

/// Whether the line names an endpoint of the operator: its port is another one after each start.
fn is_endpoint(line: &str) -> bool {
    ["  metrics ", "  health ", "  debug ", "  route "]
        .iter()
        .any(|label| line.starts_with(label))
}
