use std::{
    fmt, io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};

use super::{
    ProcessInput, ProcessOutput,
    session::{Plan, Session},
    websocket::Socket,
};
use crate::client::rest::Call;

/// A connection to a port of a Pod.
///
/// It ends when the other side closes it. The protocol cannot close one direction alone: shutting down only flushes,
/// and dropping closes. If nothing listens on the port, reading fails with the text of the kubelet.
pub struct PortStream {
    input: ProcessInput,
    output: ProcessOutput,
    what: String,
}

impl PortStream {
    pub(super) fn new(call: &Call<'_>, port: u16, socket: Socket) -> Self {
        let plan = Plan {
            outputs: &[0],
            error: 1,
            // Each channel begins with the number of the port.
            skip: 2,
            can_end_input: false,
        };
        let mut ends = Session::start(socket, plan);
        // The plan has one output.
        let output = ends.outputs.swap_remove(0);
        Self {
            input: ends.input,
            output,
            what: format!("{} {} port {port}", call.verb, call.target()),
        }
    }

    /// The error that the other side sent before it closed the connection.
    fn refusal(&self) -> io::Result<()> {
        let said = self.output.session().said();
        if said.is_empty() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&said);
        Err(io::Error::other(format!("{}: {}", self.what, said.trim())))
    }
}

impl AsyncRead for PortStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let piece = ready!(Pin::new(&mut self.output).poll_fill_buf(cx))?;
        let taken = piece.len().min(buf.remaining());
        let ended = piece.is_empty();
        buf.put_slice(piece.get(..taken).unwrap_or_default());
        Pin::new(&mut self.output).consume(taken);
        Poll::Ready(if ended { self.refusal() } else { Ok(()) })
    }
}

impl AsyncWrite for PortStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.input).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.input).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

impl fmt::Debug for PortStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PortStream({})", self.what)
    }
}
