use std::io;

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::future::BoxFuture;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use http::Response;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::handshake::{Socket, close};
use super::over_spdy;
use super::{PodRequest, refused};
use crate::error::ApiError;
use crate::meta;
use crate::pods::{self, ClientEnds, ContainerLog, Invocation, LogStream};
use crate::server::respond::Body;

const STDIN: u8 = 0;
pub(super) const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ERROR: u8 = 3;
const RESIZE: u8 = 4;
/// In `v5.channel.k8s.io`: closes the channel in the next byte.
const CLOSE: u8 = 255;
/// The most bytes in one message: the size of a kubelet's copies.
const MAX_MESSAGE: usize = 32 * 1024;

/// The exit code of a process that is killed with its container: by SIGKILL.
const KILLED: i32 = 128 + 9;

const V5: &str = "v5.channel.k8s.io";
const V4: &str = "v4.channel.k8s.io";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessKind {
    Exec,
    Attach,
}

/// The streams that the client asked for.
#[derive(Clone, Copy)]
pub(super) struct Streams {
    pub(super) stdin: bool,
    pub(super) stdout: bool,
    pub(super) stderr: bool,
    pub(super) tty: bool,
    ends_input: bool,
}

pub(super) fn handle(
    mut request: PodRequest<'_>,
    what: ProcessKind,
) -> Result<Response<Body>, ApiError> {
    let container = request.container()?;
    request.must_have_node()?;
    let Some(upgrade) = request.upgrade.take() else {
        return Err(ApiError::bad_request("Upgrade request required"));
    };
    let tty = request.query.flag("tty");
    let is_spdy = upgrade.is_spdy();
    let streams = |ends_input| Streams {
        stdin: request.query.flag("stdin"),
        stdout: request.query.flag("stdout"),
        stderr: request.query.flag("stderr") && !tty,
        tty,
        ends_input,
    };
    // If the client offers both, kube-apiserver takes the one that it translates.
    let first = upgrade.agree(&[V5]);
    let protocol = match is_spdy {
        true => V4,
        false => first.or_else(|_| upgrade.agree(&[V5, V4]))?,
    };
    let streams = streams(protocol == V5);
    if !(streams.stdin || streams.stdout || streams.stderr) {
        let why = "you must specify at least 1 of stdin, stdout, stderr";
        return Ok(refused(400, why));
    }
    if !request.is_running(&container) {
        let (name, namespace) = (&request.name, &request.namespace);
        let why = match what {
            ProcessKind::Exec => format!("container not found ({container:?})"),
            ProcessKind::Attach => {
                format!("container {container} not found in pod {name}_{namespace}")
            }
        };
        return Ok(refused(500, why));
    }
    let run = request.run(what, &container, tty);
    if is_spdy {
        let (response, io) = upgrade.accept_spdy(V4)?;
        request.core.spawn(async move {
            let Some(io) = io.await else { return };
            if let Err(error) = over_spdy::serve(io, streams, run).await {
                tracing::debug!(%error, "a stream of the sandbox ended");
            }
        });
        return Ok(response);
    }
    let (response, socket) = upgrade.accept(protocol);
    request.core.spawn(async move {
        let Some(socket) = socket.await else { return };
        if let Err(error) = serve(socket, streams, run).await {
            tracing::debug!(%error, "a stream of the sandbox ended");
        }
    });
    Ok(response)
}

/// A program that runs, or why none does.
pub(super) type Run = Result<(BoxFuture<'static, i32>, ClientEnds), String>;

impl PodRequest<'_> {
    /// Starts the program.
    fn run(&self, what: ProcessKind, container: &str, tty: bool) -> Run {
        let containers = &self.core.containers;
        let command: Vec<String> = match what {
            ProcessKind::Exec => self.query.all("command").map(String::from).collect(),
            ProcessKind::Attach => Vec::new(),
        };
        let program = match (what, command.first()) {
            (ProcessKind::Attach, _) => containers.main(),
            (ProcessKind::Exec, Some(name)) => match containers.program(name) {
                Some(program) => Some(program),
                None => return Err(no_such_program(name)),
            },
            (ProcessKind::Exec, None) => {
                return Err("you must specify at least one command".to_owned());
            }
        };
        let (called, ends) = pods::start(&self.namespace, &self.name, container, command, tty);
        let log = containers.log(meta::uid(&self.pod), container);
        let running: BoxFuture<'static, i32> = match program {
            // A process ends with its container.
            Some(program) => Box::pin(async move {
                let program = program(called);
                tokio::select! {
                    code = program => code,
                    () = log.ended() => match what {
                        ProcessKind::Exec => KILLED,
                        ProcessKind::Attach => 0,
                    },
                }
            }),
            None => {
                let next = log.next();
                Box::pin(async move { show(&log, next, called).await.unwrap_or(0) })
            }
        };
        Ok((running, ends))
    }
}

/// The error of containerd and runc for a missing program, with a hint how a test registers it.
fn no_such_program(name: &str) -> String {
    let what = match name.contains('/') {
        true => format!("stat {name}: no such file or directory"),
        false => "executable file not found in $PATH".to_owned(),
    };
    format!(
        "error executing command in container: failed to exec in container: OCI runtime exec failed: exec failed: unable to \
         start container process: exec: {name:?}: {what} (a container of the sandbox has no shell and no tar, but the programs that were registered: in Rust with `Sandbox::pods`, over HTTP with `POST /sandbox/programs`)"
    )
}

/// A client that attaches sees what is written from now on.
async fn show(log: &ContainerLog, mut next: u64, mut called: Invocation) -> std::io::Result<i32> {
    let mut changes = log.changes();
    let input = async {
        // The input is discarded, so its end means nothing.
        let _ = tokio::io::copy(&mut called.stdin, &mut tokio::io::sink()).await;
        std::future::pending::<()>().await;
    };
    let output = async {
        loop {
            let (entries, then, ended) = log.from(next);
            next = then;
            for entry in entries {
                let to = match entry.source {
                    LogStream::Stdout => &mut called.stdout,
                    LogStream::Stderr => &mut called.stderr,
                };
                to.write_all(entry.text.as_bytes()).await?;
            }
            // The sender lives as long as the log.
            if ended || changes.changed().await.is_err() {
                return Ok(0);
            }
        }
    };
    tokio::select! {
        ended = output => ended,
        () = input => Ok(0),
    }
}

async fn serve(socket: Socket, streams: Streams, run: Run) -> io::Result<()> {
    let (mut sink, mut stream) = socket.split();
    let lowest = match (streams.stdout, streams.stderr) {
        (true, _) => STDOUT,
        (_, true) => STDERR,
        _ => ERROR,
    };
    // With this message a kubelet says that the streams are open.
    Output::put(&mut sink, lowest, &[]).await?;
    let ended = match run {
        Err(why) => Err(why),
        Ok((running, ends)) => {
            let ClientEnds {
                stdin,
                stdout,
                stderr,
                sizes,
            } = ends;
            let stdin = streams.stdin.then_some(stdin);
            let read = read(&mut stream, streams, stdin, sizes);
            tokio::select! {
                code = write(&mut sink, streams, running, stdout, stderr) => Ok(code?),
                // The client has disconnected, and the program ends with it.
                () = read => return Ok(()),
            }
        }
    };
    let status = match streams.ends_input {
        true => translated_status(ended),
        false => status(ended),
    };
    Output::put(&mut sink, ERROR, status.to_string().as_bytes()).await?;
    close(sink, stream).await.map_err(io::Error::other)
}

/// The status of a program that has ended with an exit code, or did not run, as a container runtime sends it.
pub(super) fn status(ended: Result<i32, String>) -> Value {
    match ended {
        Ok(0) => json!({"status": "Success"}),
        Ok(code) => failure(code, &format!("exit status {code}")),
        Err(why) => internal_error(&why),
    }
}

/// The same in `v5.channel.k8s.io`, which a kubelet translates.
fn translated_status(ended: Result<i32, String>) -> Value {
    let mut status = match ended {
        Ok(code @ 1..) => failure(code, &format!("command terminated with exit code {code}")),
        Ok(_) => status(ended),
        Err(why) => {
            let why = format!("Internal error occurred: {why}");
            let mut status = internal_error(&why);
            status["details"] = json!({"causes": [{"message": why}]});
            status
        }
    };
    status["metadata"] = json!({});
    status
}

fn internal_error(why: &str) -> Value {
    json!({
        "status": "Failure",
        "message": format!("Internal error occurred: {why}"),
        "reason": "InternalError",
        "code": 500,
    })
}

fn failure(code: i32, why: &str) -> Value {
    json!({
        "status": "Failure",
        "message": format!("command terminated with non-zero exit code: {why}"),
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": code.to_string()}]},
    })
}

type Sink = SplitSink<Socket, Message>;

async fn send(sink: &mut Sink, channel: u8, bytes: &[u8]) -> Result<(), Error> {
    let mut message = BytesMut::with_capacity(1 + bytes.len());
    message.put_u8(channel);
    message.put_slice(bytes);
    sink.send(Message::Binary(message.freeze())).await
}

/// Where the output of a program goes.
pub(super) trait Output {
    /// Sends bytes to a channel: [`STDOUT`] or [`STDERR`].
    fn put(&mut self, channel: u8, bytes: &[u8]) -> impl Future<Output = io::Result<()>> + Send;
}

impl Output for Sink {
    async fn put(&mut self, channel: u8, bytes: &[u8]) -> io::Result<()> {
        send(self, channel, bytes).await.map_err(io::Error::other)
    }
}

/// Sends what a program writes. Returns its exit code when it has ended and everything is sent.
pub(super) async fn write(
    output: &mut impl Output,
    streams: Streams,
    mut running: BoxFuture<'static, i32>,
    mut stdout: DuplexStream,
    mut stderr: DuplexStream,
) -> io::Result<i32> {
    let mut code = None;
    let (mut out, mut err) = (vec![0; MAX_MESSAGE], vec![0; MAX_MESSAGE]);
    let (mut out_open, mut err_open) = (true, true);
    // A terminal has one output.
    let (stderr_to, stderr_shown) = match streams.tty {
        true => (STDOUT, streams.stdout),
        false => (STDERR, streams.stderr),
    };
    loop {
        // A cancelled read takes no bytes, and the future of the program is polled again.
        let (channel, shown, piece) = tokio::select! {
            ended = &mut running, if code.is_none() => {
                code = Some(ended);
                continue;
            }
            length = stdout.read(&mut out), if out_open => {
                let length = length.unwrap_or(0);
                out_open = length > 0;
                (STDOUT, streams.stdout, out.get(..length))
            }
            length = stderr.read(&mut err), if err_open => {
                let length = length.unwrap_or(0);
                err_open = length > 0;
                (stderr_to, stderr_shown, err.get(..length))
            }
            // Linux keeps the lowest byte of an exit code.
            else => return Ok(code.unwrap_or(0) & 0xff),
        };
        let piece = piece.unwrap_or_default();
        if shown && !piece.is_empty() {
            output.put(channel, piece).await?;
        }
    }
}

/// Gives a program what the client sends, until the client disconnects.
async fn read(
    stream: &mut SplitStream<Socket>,
    streams: Streams,
    mut stdin: Option<DuplexStream>,
    sizes: tokio::sync::mpsc::Sender<(u16, u16)>,
) {
    while let Some(Ok(message)) = stream.next().await {
        let mut message: Bytes = match message {
            Message::Binary(bytes) => bytes,
            Message::Text(text) => text.into(),
            Message::Close(_) => return,
            _ => continue,
        };
        if message.is_empty() {
            continue;
        }
        let channel = message.split_to(1);
        match channel.first().copied().unwrap_or_default() {
            STDIN => {
                // A program that closed its input gets no more bytes.
                if let Some(to) = &mut stdin
                    && to.write_all(&message).await.is_err()
                {
                    stdin = None;
                }
            }
            CLOSE if streams.ends_input && *message == [STDIN] => stdin = None,
            RESIZE => {
                if let Some(size) = size(&message) {
                    // A program that does not read the sizes misses some.
                    let _ = sizes.try_send(size);
                }
            }
            _ => {}
        }
    }
}

pub(super) fn size(message: &[u8]) -> Option<(u16, u16)> {
    let size: Value = serde_json::from_slice(message).ok()?;
    let number = |name: &str| size[name].as_u64()?.try_into().ok();
    Some((number("Width")?, number("Height")?))
}
