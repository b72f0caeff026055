use crate::client::url::Query;

/// Which process to start in a container, and with which streams (PodExecOptions).
///
/// Output and error come back unless switched off; there is no input and no terminal unless asked
/// for. No shell is involved: a line for one is `["sh", "-c", line]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecParams {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The container; needed when the Pod has more than one.
    pub container: Option<String>,
    /// Whether the process has an input.
    pub stdin: bool,
    /// Whether its output comes back.
    pub stdout: bool,
    /// Whether its error output comes back; on a terminal both are one.
    pub stderr: bool,
    /// Whether it runs on a terminal.
    pub tty: bool,
}

impl ExecParams {
    /// This program with these arguments.
    pub fn new(command: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            container: None,
            stdin: false,
            stdout: true,
            stderr: true,
            tty: false,
        }
    }

    /// In this container.
    #[must_use]
    pub fn container(mut self, name: impl Into<String>) -> Self {
        self.container = Some(name.into());
        self
    }

    /// With an input.
    #[must_use]
    pub fn stdin(mut self) -> Self {
        self.stdin = true;
        self
    }

    /// On a terminal: error output comes among the output, and the size can be changed.
    #[must_use]
    pub fn tty(mut self) -> Self {
        self.tty = true;
        self
    }

    /// Whether its output comes back.
    #[must_use]
    pub fn stdout(mut self, on: bool) -> Self {
        self.stdout = on;
        self
    }

    /// Whether its error output comes back.
    #[must_use]
    pub fn stderr(mut self, on: bool) -> Self {
        self.stderr = on;
        self
    }

    pub(super) fn write(&self, query: &mut Query) {
        for part in &self.command {
            query.text("command", Some(part));
        }
        self.streams().write(query, self.container.as_deref());
    }

    pub(super) fn streams(&self) -> Streams {
        Streams {
            stdin: self.stdin,
            stdout: self.stdout,
            stderr: self.stderr && !self.tty,
            tty: self.tty,
        }
    }
}

/// The streams of a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Streams {
    pub(super) stdin: bool,
    pub(super) stdout: bool,
    pub(super) stderr: bool,
    pub(super) tty: bool,
}

impl Streams {
    pub(super) fn write(self, query: &mut Query, container: Option<&str>) {
        query.text("container", container);
        query.flag("stdin", self.stdin);
        query.flag("stdout", self.stdout);
        query.flag("stderr", self.stderr);
        query.flag("tty", self.tty);
    }

    pub(super) fn is_none(self) -> bool {
        !(self.stdin || self.stdout || self.stderr)
    }
}
