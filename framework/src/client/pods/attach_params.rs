use super::exec_params::Streams;
use crate::client::url::Query;

/// Which streams of a container's own process to join (PodAttachOptions).
///
/// Output and error unless switched off; the input and the terminal only if the container's
/// definition has them (`stdin`, `tty`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachParams {
    /// The container; needed when the Pod has more than one.
    pub container: Option<String>,
    /// Whether to write its input.
    pub stdin: bool,
    /// Whether to read its output.
    pub stdout: bool,
    /// Whether to read its error output; on a terminal both are one.
    pub stderr: bool,
    /// Whether it runs on a terminal.
    pub tty: bool,
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
    /// To this container.
    #[must_use]
    pub fn container(mut self, name: impl Into<String>) -> Self {
        self.container = Some(name.into());
        self
    }

    /// With its input.
    #[must_use]
    pub fn stdin(mut self) -> Self {
        self.stdin = true;
        self
    }

    /// To its terminal: error output comes among the output, and the size can be changed.
    #[must_use]
    pub fn tty(mut self) -> Self {
        self.tty = true;
        self
    }

    /// Whether to read its output.
    #[must_use]
    pub fn stdout(mut self, on: bool) -> Self {
        self.stdout = on;
        self
    }

    /// Whether to read its error output.
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
