use super::exec_params::Streams;
use crate::client::request::url::Query;

/// Which streams of a container's main process to attach to (PodAttachOptions).
///
/// By default output and error output. The input and the terminal work only if the definition of the container has them
/// (`stdin`, `tty`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachParams {
    pub(crate) container: Option<String>,
    pub(crate) stdin: bool,
    pub(crate) stdout: bool,
    pub(crate) stderr: bool,
    pub(crate) tty: bool,
}

impl Default for AttachParams {
    fn default() -> Self {
        Self {
            container: None,
            stdin: false,
            stdout: true,
            stderr: true,
            tty: false,
        }
    }
}

impl AttachParams {
    /// Attaches to this container. Required if the Pod has several.
    #[must_use]
    pub fn container(mut self, name: impl Into<String>) -> Self {
        self.container = Some(name.into());
        self
    }

    /// Attaches to the input.
    #[must_use]
    pub fn stdin(mut self) -> Self {
        self.stdin = true;
        self
    }

    /// Attaches to the terminal. Error output is then a part of the output, and the size can be changed.
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
