use std::{fmt, io, sync::Arc};

use bytes::Bytes;
use futures_util::future::poll_fn;
use tokio::sync::mpsc;

use super::{
    Exit, ProcessInput, ProcessOutput,
    exec_params::Streams,
    session::{Plan, Session, SessionEnds},
    websocket::Socket,
};
use crate::client::{Error, ErrorKind, rest::Call};

/// [`Process::output`] fails for a longer output.
const MAX_OUTPUT: usize = 64 * 1024 * 1024;

/// A process in a container, started by `Api::exec` or attached to by `Api::attach`.
///
/// Take its streams out as from tokio's `Child`. The connection closes when the process and all its streams are
/// dropped. Then the input of the process ends, and writing its output fails; the rest depends on the container
/// runtime.
pub struct Process {
    /// The input, if it was requested.
    pub stdin: Option<ProcessInput>,
    /// The output, if it was requested.
    pub stdout: Option<ProcessOutput>,
    /// The error output, if it was requested and there is no terminal.
    pub stderr: Option<ProcessOutput>,
    control: mpsc::Sender<Bytes>,
    session: Arc<Session>,
    verb: &'static str,
    target: String,
    tty: bool,
}

/// The result of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How the process ended.
    pub exit: Exit,
    /// The output of the process.
    pub stdout: Vec<u8>,
    /// The error output of the process. On a terminal it is a part of the output.
    pub stderr: Vec<u8>,
}

impl Process {
    pub(super) fn new(
        call: &Call<'_>,
        socket: Socket,
        streams: Streams,
        can_end_input: bool,
    ) -> Self {
        let plan = Plan {
            outputs: &[1, 2],
            error: 3,
            skip: 0,
            can_end_input: can_end_input && streams.stdin,
        };
        let SessionEnds {
            session,
            input,
            outputs,
            control,
        } = Session::start(socket, plan);
        let mut outputs = outputs.into_iter();
        Self {
            stdin: streams.stdin.then_some(input),
            stdout: outputs.next().filter(|_| streams.stdout),
            stderr: outputs.next().filter(|_| streams.stderr),
            control,
            session,
            verb: call.verb,
            target: call.target(),
            tty: streams.tty,
        }
    }

    /// Changes the size of the terminal.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if there is no terminal. [`ErrorKind::Transport`] if the connection has ended.
    pub async fn resize(&self, columns: u16, rows: u16) -> Result<(), Error> {
        if !self.tty {
            return Err(Error::new(
                self.verb,
                self.target.clone(),
                ErrorKind::Invalid {
                    reason: "there is no terminal to resize: ask for one with `tty()`".into(),
                },
            ));
        }
        let size = format!("\u{4}{{\"Width\":{columns},\"Height\":{rows}}}");
        let sent = self.control.send(size.into()).await;
        sent.map_err(|_| self.broke(io::ErrorKind::BrokenPipe.into()))
    }

    /// Waits until the process ends. Closes the input and discards the output, unless they were taken out.
    ///
    /// For an attached container, the end is that of its output, and the code is always 0.
    ///
    /// # Errors
    /// [`ErrorKind::Api`] if the process never ran: the program does not exist, or the container is gone.
    /// [`ErrorKind::Transport`] if the connection broke before the server reported the end.
    pub async fn wait(mut self) -> Result<Exit, Error> {
        drop((self.stdin.take(), self.stdout.take(), self.stderr.take()));
        self.exit().await
    }

    /// Closes the input, reads both outputs to their end, and waits until the process ends.
    ///
    /// # Errors
    /// As for [`wait`](Self::wait). Also if an output is longer than 64 MiB.
    pub async fn output(mut self) -> Result<Finished, Error> {
        drop(self.stdin.take());
        let (stdout, stderr) = (self.stdout.take(), self.stderr.take());
        let read = futures_util::future::try_join(all(stdout), all(stderr)).await;
        let (stdout, stderr) = read.map_err(|error| self.broke(error))?;
        let exit = self.exit().await?;
        Ok(Finished {
            exit,
            stdout,
            stderr,
        })
    }

    async fn exit(&self) -> Result<Exit, Error> {
        let said = self.session.ended().await;
        let said = said.map_err(|error| self.broke(error))?;
        if said.is_empty() {
            return Err(self.broke(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "it was closed before the server reported the end of the process",
            )));
        }
        Exit::read(self.verb, &self.target, &said)
    }

    fn broke(&self, error: io::Error) -> Error {
        Error::new(
            self.verb,
            self.target.clone(),
            ErrorKind::Transport(error.into()),
        )
    }
}

async fn all(output: Option<ProcessOutput>) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    let Some(mut output) = output else {
        return Ok(all);
    };
    while let Some(piece) = poll_fn(|cx| output.poll_piece(cx)).await? {
        if all.len() + piece.len() > MAX_OUTPUT {
            return Err(io::Error::other(format!(
                "an output is longer than {MAX_OUTPUT} bytes: read it from `stdout` and `stderr`"
            )));
        }
        all.extend_from_slice(&piece);
    }
    Ok(all)
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Process({} {})", self.verb, self.target)
    }
}
