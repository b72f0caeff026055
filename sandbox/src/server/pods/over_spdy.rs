//! Processes over SPDY, in the protocol `v4.channel.k8s.io`: a stream for each of the client's streams, one for the status, and one for the sizes of a
//! terminal.

use std::io;
use std::time::Duration;

use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream,
};
use tokio::sync::mpsc;

use super::handshake::CLOSE_TIMEOUT;
use super::process::{Output, Run, STDOUT, Streams, size, status, write};
use super::spdy::{self, SpdyStream};
use crate::pods::ClientEnds;

/// How long a client may take to open its streams.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest text with the size of a terminal.
const LONGEST_SIZE: u64 = 1024;

/// The streams of a client.
#[derive(Default)]
struct Opened {
    error: Option<DuplexStream>,
    stdin: Option<DuplexStream>,
    outputs: Outputs,
    resize: Option<DuplexStream>,
}

#[derive(Default)]
struct Outputs {
    stdout: Option<DuplexStream>,
    stderr: Option<DuplexStream>,
}

impl Output for Outputs {
    async fn put(&mut self, channel: u8, bytes: &[u8]) -> io::Result<()> {
        let to = match channel {
            STDOUT => &mut self.stdout,
            _ => &mut self.stderr,
        };
        match to {
            Some(to) => to.write_all(bytes).await,
            None => Ok(()),
        }
    }
}

/// Runs a program for a client until one of them ends.
pub(super) async fn serve(
    io: impl AsyncRead + AsyncWrite,
    streams: Streams,
    run: Run,
) -> io::Result<()> {
    let (accepted, opened) = mpsc::channel(8);
    tokio::select! {
        // The client has disconnected, and the program ends with it.
        ended = spdy::serve(io, accepted) => ended,
        ended = process(opened, streams, run) => ended,
    }
}

async fn process(
    mut opened: mpsc::Receiver<SpdyStream>,
    streams: Streams,
    run: Run,
) -> io::Result<()> {
    let all = tokio::time::timeout(OPEN_TIMEOUT, collect(&mut opened, streams)).await;
    // Nobody reads further streams: they end at once, and do not hold up the others.
    drop(opened);
    let Opened {
        error,
        stdin,
        mut outputs,
        resize,
    } = all.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?;
    let ended = match run {
        Err(why) => Err(why),
        Ok((running, ends)) => {
            let ClientEnds {
                stdin: mut to,
                stdout,
                stderr,
                sizes,
            } = ends;
            let input = async {
                if let Some(mut stdin) = stdin {
                    // A program that closed its input gets no more bytes.
                    let _ = tokio::io::copy(&mut stdin, &mut to).await;
                }
                drop(to);
            };
            let resized = async {
                let Some(resize) = resize else { return };
                let mut resize = BufReader::new(resize);
                let mut line = Vec::new();
                while (&mut resize)
                    .take(LONGEST_SIZE)
                    .read_until(b'\n', &mut line)
                    .await
                    .is_ok_and(|length| length > 0)
                {
                    if let Some(size) = size(&line) {
                        // A program that does not read the sizes misses some.
                        let _ = sizes.try_send(size);
                    }
                    line.clear();
                }
            };
            let inputs = async {
                tokio::join!(input, resized);
                std::future::pending::<()>().await;
            };
            tokio::select! {
                code = write(&mut outputs, streams, running, stdout, stderr) => Ok(code?),
                () = inputs => return Ok(()),
            }
        }
    };
    if let Some(mut error) = error {
        error
            .write_all(status(ended).to_string().as_bytes())
            .await?;
    }
    drop(outputs);
    // The streams have ended, and the client closes the connection.
    tokio::time::sleep(CLOSE_TIMEOUT).await;
    Ok(())
}

/// Waits until the client has opened all streams that its request names.
async fn collect(opened: &mut mpsc::Receiver<SpdyStream>, streams: Streams) -> Opened {
    let mut all = Opened::default();
    let is_complete = |all: &Opened| {
        all.error.is_some()
            && all.stdin.is_some() >= streams.stdin
            && all.outputs.stdout.is_some() >= streams.stdout
            && all.outputs.stderr.is_some() >= streams.stderr
            && all.resize.is_some() >= streams.tty
    };
    while !is_complete(&all)
        && let Some(stream) = opened.recv().await
    {
        let place = match stream.header("streamtype") {
            "error" => &mut all.error,
            "stdin" => &mut all.stdin,
            "stdout" => &mut all.outputs.stdout,
            "stderr" => &mut all.outputs.stderr,
            "resize" => &mut all.resize,
            _ => continue,
        };
        *place = Some(stream.io);
    }
    all
}
