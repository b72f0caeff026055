use std::{
    io::{self, ErrorKind, IsTerminal},
    process::{ExitStatus, Stdio},
};

use jiff::Timestamp;
use tokio::{
    io::AsyncReadExt,
    process::{Child, Command},
};

use super::{
    Credential,
    info::{Cluster, info},
};
use crate::{
    client::{
        ConfigError,
        config::{ExecConfig, InteractiveMode},
    },
    metrics::{ExecMetrics, ExecOutcome},
};

/// The output may have at most this many bytes.
const LONGEST: u64 = 1024 * 1024;

/// A plugin's command. It can run any number of times.
pub(super) struct Run {
    exec: ExecConfig,
    cluster: Option<Cluster>,
    /// The user of the kubeconfig and the command, for messages.
    shown: String,
}

impl Run {
    pub(super) fn new(exec: ExecConfig, cluster: Option<Cluster>, origin: &str) -> Self {
        let command = exec.command.display();
        Self {
            shown: format!("{origin}: the credential plugin `{command}`"),
            exec,
            cluster,
        }
    }

    /// Runs the command once, and counts the run. Dropping the future kills the process.
    pub(super) async fn run(
        &self,
        metrics: Option<&ExecMetrics>,
    ) -> Result<Credential, ConfigError> {
        let printed = self.printed().await;
        if let Some(metrics) = metrics {
            metrics.call(match &printed {
                Ok(_) => ExecOutcome::Success,
                Err((outcome, _)) => *outcome,
            });
        }
        let printed = printed.map_err(|(_, error)| error)?;
        Credential::parse(&printed, self.exec.version, &self.shown, Timestamp::now())
    }

    async fn printed(&self) -> Result<Vec<u8>, (ExecOutcome, ConfigError)> {
        let not_run = |error| (ExecOutcome::NotRun, error);
        let interactive = self.is_interactive(std::io::stdin().is_terminal());
        let child = self.start(interactive.map_err(not_run)?).map_err(|error| {
            let outcome = match error.kind() {
                ErrorKind::NotFound => ExecOutcome::NotFound,
                _ => ExecOutcome::NotRun,
            };
            (outcome, self.not_started(&error))
        })?;
        let limit = self.exec.timeout;
        let ended = tokio::time::timeout(limit, self.output(child)).await;
        let late = |_| {
            not_run(self.wrong(format!(
                "did not end within {} s and was killed: run it by hand to see what it waits for",
                limit.as_secs_f64()
            )))
        };
        let (printed, status) = ended.map_err(late)?.map_err(not_run)?;
        let wrong = match status.code() {
            Some(0) => return Ok(printed),
            Some(code) => format!(
                "failed with exit code {code}: see its messages on standard error, or run it by hand"
            ),
            None => "was killed by a signal: run it by hand to see why".to_owned(),
        };
        let outcome = ExecOutcome::Failed(status.code().unwrap_or(-1));
        Err((outcome, self.wrong(wrong)))
    }

    fn is_interactive(&self, terminal: bool) -> Result<bool, ConfigError> {
        match self.exec.interactive_mode {
            InteractiveMode::Never => Ok(false),
            InteractiveMode::IfAvailable => Ok(terminal),
            InteractiveMode::Always if terminal => Ok(true),
            InteractiveMode::Always => Err(self.wrong(
                "must ask the user (interactiveMode is Always), but standard input is not a terminal: use other credentials here, or a plugin that does not ask",
            )),
        }
    }

    fn start(&self, interactive: bool) -> io::Result<Child> {
        let info = info(&self.exec, self.cluster.as_ref(), interactive)?;
        let mut command = Command::new(&self.exec.command);
        for (name, value) in &self.exec.env {
            command.env(name, secrecy::ExposeSecret::expose_secret(value));
        }
        command
            .args(&self.exec.args)
            .env("KUBERNETES_EXEC_INFO", info)
            .stdin(if interactive {
                Stdio::inherit()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            // The plugin's errors and questions go to the terminal.
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
    }

    async fn output(&self, mut child: Child) -> Result<(Vec<u8>, ExitStatus), ConfigError> {
        let broken = |error: io::Error| self.wrong(format!("broke off: {}", error.kind()));
        let mut printed = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            let mut stdout = stdout.take(LONGEST + 1);
            stdout.read_to_end(&mut printed).await.map_err(broken)?;
        }
        if printed.len() as u64 > LONGEST {
            return Err(self.wrong(
                "printed more than 1 MiB: check that it prints nothing but credentials to standard output",
            ));
        }
        let status = child.wait().await.map_err(broken)?;
        Ok((printed, status))
    }

    fn not_started(&self, error: &io::Error) -> ConfigError {
        match error.kind() {
            ErrorKind::NotFound => match &self.exec.install_hint {
                Some(hint) => self.wrong(format!("was not found: {}", one_line(hint))),
                None => self
                    .wrong("was not found: install it, check PATH, or correct its `exec.command`"),
            },
            ErrorKind::PermissionDenied => {
                self.wrong("must not be started: make it executable, or correct its `exec.command`")
            }
            kind => self.wrong(format!("cannot be started: {kind}")),
        }
    }

    fn wrong(&self, text: impl AsRef<str>) -> ConfigError {
        ConfigError::new(format!("{} {}", self.shown, text.as_ref()))
    }
}

/// The hint without line breaks and without escape sequences of a terminal.
fn one_line(hint: &str) -> String {
    let mut plain = String::new();
    let mut letters = hint.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' if letters.next_if_eq(&'[').is_some() => {
                // The first letter after the parameters ends the sequence.
                let _ = letters.by_ref().find(|letter| ('@'..='~').contains(letter));
            }
            letter if letter.is_control() => plain.push(' '),
            letter => plain.push(letter),
        }
    }
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(mode: InteractiveMode) -> Run {
        let exec = ExecConfig::new("plugin").interactive_mode(mode);
        Run::new(exec, None, "user \"u\" in k")
    }

    #[test]
    fn an_interactive_plugin_needs_a_terminal() {
        use InteractiveMode::{Always, IfAvailable, Never};
        let table = [
            (Never, [Some(false), Some(false)]),
            (IfAvailable, [Some(false), Some(true)]),
            (Always, [None, Some(true)]),
        ];
        for (mode, expected) in table {
            let outcome = [false, true].map(|terminal| run(mode).is_interactive(terminal).ok());
            assert_eq!(outcome, expected, "{mode:?}");
        }
        assert_eq!(
            run(Always).is_interactive(false).unwrap_err().to_string(),
            "user \"u\" in k: the credential plugin `plugin` must ask the user (interactiveMode is Always), but standard input is not a terminal: use other credentials here, or a plugin that does not ask"
        );
    }

    #[test]
    fn a_hint_becomes_one_plain_line() {
        assert_eq!(
            one_line("\u{1b}[31;1mrun\u{1b}[0m\r\n\tbrew  install\u{7} it\u{1b}"),
            "run brew install it"
        );
    }
}
