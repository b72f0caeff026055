//! The programs in the containers of the scenarios' Pods, the same on the sandbox and on the stand-in for a kubelet.

use parking_lot::Mutex;
use pilothouse_sandbox::Sandbox;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::mpsc,
};

/// The port on which every Pod echoes its input.
pub(crate) const ECHO: u16 = 7;
pub(crate) const NAMES: &[&str] = &[
    "cat", "echo", "exit", "flood", "sizes", "tar", "test", "wait",
];
/// The file that `tar` has unpacked last: its content as it stands in the archive.
static FILE: Mutex<Vec<u8>> = Mutex::new(Vec::new());
/// The size of the blocks of an archive.
const BLOCK: usize = 512;

/// The streams of a program.
pub(crate) struct Streams<R, W> {
    pub(crate) stdin: R,
    pub(crate) stdout: W,
    pub(crate) stderr: W,
    pub(crate) sizes: mpsc::Receiver<(u16, u16)>,
}

/// Registers the programs with a sandbox.
pub(crate) fn register(sandbox: &Sandbox) {
    for name in NAMES {
        sandbox.pods().program(*name, |called| {
            let streams = Streams {
                stdin: called.stdin,
                stdout: called.stdout,
                stderr: called.stderr,
                sizes: called.sizes,
            };
            run(called.command, streams)
        });
    }
    sandbox.pods().port(ECHO, echo);
}

/// Runs a program and returns its exit code.
pub(crate) async fn run<R, W>(command: Vec<String>, mut streams: Streams<R, W>) -> i32
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let arguments: Vec<&str> = command.iter().map(String::as_str).collect();
    let done = match &arguments[..] {
        // Copies its input to its output.
        ["cat"] => tokio::io::copy(&mut streams.stdin, &mut streams.stdout)
            .await
            .map(|_| 0),
        // Writes its first argument to its output and the second to its errors.
        ["echo", out, err] => {
            async {
                streams.stdout.write_all(out.as_bytes()).await?;
                streams.stderr.write_all(err.as_bytes()).await?;
                Ok(0)
            }
            .await
        }
        ["exit", code] => Ok(code.parse().unwrap()),
        // Writes this many bytes.
        ["flood", bytes] => {
            let bytes = vec![b'x'; bytes.parse().unwrap()];
            streams.stdout.write_all(&bytes).await.map(|()| 0)
        }
        // Writes the first size of its terminal.
        ["sizes"] => {
            let (columns, rows) = streams.sizes.recv().await.unwrap_or_default();
            let text = format!("{columns}x{rows}");
            streams.stdout.write_all(text.as_bytes()).await.map(|()| 0)
        }
        // Whether a folder exists: none does.
        ["test", "-d", _] => Ok(1),
        // Unpacks an archive with one file.
        ["tar", "-xmf", "-", ..] => {
            async {
                let mut archive = Vec::new();
                streams.stdin.read_to_end(&mut archive).await?;
                let size = std::str::from_utf8(&archive[124..135]).unwrap();
                let size = usize::from_str_radix(size, 8).unwrap();
                *FILE.lock() = archive[BLOCK..BLOCK + size].to_vec();
                Ok(0)
            }
            .await
        }
        // Packs the file under another name.
        ["tar", "cf", "-", name] => {
            let archive = packed(name, &FILE.lock());
            streams.stdout.write_all(&archive).await.map(|()| 0)
        }
        // Runs until it is dropped.
        ["wait"] => std::future::pending().await,
        other => panic!("{other:?}"),
    };
    done.unwrap_or(1)
}

fn packed(name: &str, content: &[u8]) -> Vec<u8> {
    let mut head = vec![0; BLOCK];
    let mut put = |at: usize, text: &[u8]| head[at..at + text.len()].copy_from_slice(text);
    put(0, name.trim_start_matches('/').as_bytes());
    put(100, b"0000644");
    put(124, format!("{:011o}", content.len()).as_bytes());
    put(136, b"00000000000");
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    let sum = format!("{sum:06o}\0 ");
    head[148..156].copy_from_slice(sum.as_bytes());
    let padded = content.len().next_multiple_of(BLOCK);
    let mut archive = [&head, content].concat();
    // Two empty blocks end an archive.
    archive.resize(BLOCK + padded + 2 * BLOCK, 0);
    archive
}

/// Echoes its input.
pub(crate) async fn echo(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
        // `bye` ends the connection from this side.
        let said = &buffer[..length];
        if stream.write_all(said).await.is_err() || said.ends_with(b"bye") {
            return;
        }
    }
}
