use crate::client::request::url::Query;

/// Which process to start in a container, and with which streams (PodExecOptions).
///
/// By default output and error output, but no input and no terminal. No shell is involved. To run a line of a shell,
/// use `["sh", "-c", line]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecParams {
    pub(crate) command: Vec<String>,
    pub(crate) container: Option<String>,
    pub(crate) stdin: bool,
    pub(crate) stdout: bool,
    pub(crate) stderr: bool,
    pub(crate) tty: bool,
}

impl ExecParams {
    /// Starts this program with these arguments.
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

    /// Starts the process in this container. Required if the Pod has several.
    #[must_use]
    pub fn container(mut self, name: impl Into<String>) -> Self {
        self.container = Some(name.into());
        self
    }

    /// Gives the process an input.
    #[must_use]
    pub fn stdin(mut self) -> Self {
        self.stdin = true;
        self
    }

    /// Gives the process a terminal. Error output is then a part of the output, and the size can be changed.
    #[must_use]
    pub fn tty(mut self) -> Self {
        self.tty = true;
        self
    }

    /// Whether to read the output of the process. True by default.
    #[must_use]
    pub fn stdout(mut self, on: bool) -> Self {
        self.stdout = on;
        self
    }

    /// Whether to read the error output of the process. True by default. On a terminal it is a part of the output.
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
