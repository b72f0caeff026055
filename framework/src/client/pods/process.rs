use std::{fmt, io, sync::Arc};

use bytes::Bytes;
use futures_util::future::poll_fn;
use tokio::sync::mpsc;

use super::{
    Exit, ProcessInput, ProcessOutput,
    exec_params::Streams,
    session::{Plan, Session, Wires},
    websocket::Socket,
};
use crate::client::{Error, call::Call};

/// Neither output is taken into memory as a whole when it is longer.
const LONGEST_OUTPUT: usize = 64 * 1024 * 1024;

/// A process in a container, started by `Api::exec` or joined by `Api::attach`.
///
/// Its streams are taken out as from tokio's `Child`. The connection closes when the process and
/// everything that was taken from it is dropped; what becomes of the process then is the
/// container runtime's matter: its input ends, and writing its output fails.
pub struct Process {
    /// Its input, if it was asked for.
    pub stdin: Option<ProcessInput>,
    /// Its output, if it was asked for.
    pub stdout: Option<ProcessOutput>,
    /// Its error output, if it was asked for and there is no terminal.
    pub stderr: Option<ProcessOutput>,
    control: mpsc::Sender<Bytes>,
    session: Arc<Session>,
    verb: &'static str,
    target: String,
    tty: bool,
}

/// What a process left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub exit: Exit,
    /// What it wrote to its output.
    pub stdout: Vec<u8>,
    /// What it wrote to its error output; on a terminal that is part of the output.
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
        let Wires {
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

    /// Tells the terminal its size.
    ///
    /// # Errors
    /// There is no terminal, or the connection has ended.
    pub async fn resize(&self, columns: u16, rows: u16) -> Result<(), Error> {
        if !self.tty {
            return Err(Error::Invalid {
                verb: self.verb,
                target: self.target.clone(),
                reason: "there is no terminal to resize: ask for one with `tty()`".into(),
            });
        }
        let size = format!("\u{4}{{\"Width\":{columns},\"Height\":{rows}}}");
        let sent = self.control.send(size.into()).await;
        sent.map_err(|_| self.broke(io::ErrorKind::BrokenPipe.into()))
    }

    /// Waits for the end. The input ends and output is thrown away, unless they were taken out.
    ///
    /// Attached to a container, the end is that of its output, and the code is always 0.
    ///
    /// # Errors
    /// [`Error::Api`] when the process never ran: the program does not exist, the container is gone.
    /// [`Error::Transport`] when the connection broke before the end was told.
    pub async fn wait(mut self) -> Result<Exit, Error> {
        drop((self.stdin.take(), self.stdout.take(), self.stderr.take()));
        self.exit().await
    }

    /// Ends the input, reads both outputs to their end, and waits.
    ///
    /// # Errors
    /// As [`wait`](Self::wait); and when an output is longer than 64 MiB.
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
                "it was closed before the end of the process was told",
            )));
        }
        Exit::read(self.verb, &self.target, &said)
    }

    fn broke(&self, error: io::Error) -> Error {
        Error::Transport {
            verb: self.verb,
            target: self.target.clone(),
            source: error.into(),
        }
    }
}

async fn all(output: Option<ProcessOutput>) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    let Some(mut output) = output else {
        return Ok(all);
    };
    while let Some(piece) = poll_fn(|cx| output.poll_piece(cx)).await? {
        if all.len() + piece.len() > LONGEST_OUTPUT {
            return Err(io::Error::other(format!(
                "an output is longer than {LONGEST_OUTPUT} bytes: read it from `stdout` and `stderr`"
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
