use std::{
    ffi::OsString,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    sync::oneshot,
    time::timeout,
};

use crate::{error::Error, terminal::say};

/// An operator that is asked to end gives its reconciles this time.
const GRACE: Duration = Duration::from_secs(10);

/// The most lines that are kept until an operator is ready.
const MOST_LEFT: usize = 1000;

/// A process of the operator.
pub(super) struct Operator {
    process: Child,
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
    Ready,
    Ended(ExitStatus),
}

impl Operator {
    /// Starts the program with the API server of the kubeconfig.
    pub(super) fn start(
        program: &Path,
        kubeconfig: &Path,
        arguments: &[OsString],
        banner: Banner,
    ) -> Result<Self, Error> {
        let mut command = Command::new(program);
        command
            .arg("dev")
            .arg("--api-server-kubeconfig")
            .arg(kubeconfig)
            .args(arguments);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        // Ctrl-C reaches this program, which then ends the operator.
        command.process_group(0);
        let mut process = command.spawn().map_err(|source| Error::Program {
            program: program.into(),
            source,
        })?;
        let (tell, ready) = oneshot::channel();
        if let Some(output) = process.stdout.take() {
            tokio::spawn(async move {
                let mut lines = BufReader::new(output).split(b'\n');
                // Its first text ends with this line, which is not true here: the tool ends the server, too.
                let last = "Ctrl-C stops it";
                let (mut tell, mut is_shown) = (Some(tell), banner == Banner::Shown);
                // What is not shown. If the operator ends before it is ready, this says why.
                let mut left = Vec::new();
                while let Ok(Some(line)) = lines.next_segment().await {
                    let line = String::from_utf8_lossy(&line);
                    if line.starts_with(last)
                        && let Some(tell) = tell.take()
                    {
                        is_shown = true;
                        // Nobody may wait for it.
                        let _ = tell.send(());
                    } else if is_shown || is_endpoint(&line) {
                        say(&line);
                    } else if left.len() < MOST_LEFT {
                        left.push(line.into_owned());
                    }
                }
                if tell.is_some() {
                    left.iter().for_each(|line| say(line));
                }
            });
        }
        Ok(Self {
            process,
            ready: Some(ready),
        })
    }

    /// Returns when the operator's caches are complete, and then when its process has ended by itself.
    pub(super) async fn event(&mut self) -> Result<Event, Error> {
        let ready = async {
            let Some(ready) = &mut self.ready else {
                return std::future::pending().await;
            };
            // An operator that ends before is told by its status.
            if ready.await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            status = self.process.wait() => Ok(Event::Ended(status?)),
            () = ready => {
                self.ready = None;
                Ok(Event::Ready)
            }
        }
    }

    /// Asks the operator to end, and ends it after 10 s.
    pub(super) async fn stop(mut self) -> Result<(), Error> {
        let id = self.process.id().and_then(|id| i32::try_from(id).ok());
        if let Some(id) = id.and_then(Pid::from_raw) {
            // It may have ended just now.
            let _ = kill_process(id, Signal::TERM);
        }
        match timeout(GRACE, self.process.wait()).await {
            Ok(status) => drop(status?),
            Err(_) => self.process.kill().await?,
        }
        Ok(())
    }
}

/// Whether the line names an endpoint of the operator: its port is another one after each start.
fn is_endpoint(line: &str) -> bool {
    ["  metrics ", "  health ", "  debug ", "  route "]
        .iter()
        .any(|label| line.starts_with(label))
}
