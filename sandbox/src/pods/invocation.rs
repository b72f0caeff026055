use tokio::io::DuplexStream;
use tokio::sync::mpsc;

/// Bytes in flight on each stream of a program.
const PIPE: usize = 64 * 1024;

/// A program that is to run in a container: what it was called with, and its streams.
///
/// A stream that the caller did not ask for is there all the same: its input has ended, its output is thrown away. When the
/// caller goes away the program is dropped.
#[derive(Debug)]
#[non_exhaustive]
pub struct Invocation {
    /// Namespace of the Pod.
    pub namespace: String,
    /// Name of the Pod.
    pub pod: String,
    /// Name of the container.
    pub container: String,
    /// The program and its arguments; nothing for the container's own process.
    pub command: Vec<String>,
    /// Whether it runs on a terminal. There is none in between: bytes are passed on as they are.
    pub tty: bool,
    /// What it reads; at the end of the input there is nothing more.
    pub stdin: DuplexStream,
    /// What it writes.
    pub stdout: DuplexStream,
    /// What it writes of errors; on a terminal that comes among the output.
    pub stderr: DuplexStream,
    /// Columns and rows of the terminal, each time they change.
    pub sizes: mpsc::Receiver<(u16, u16)>,
}

/// The other ends of a program's streams.
pub(crate) struct Ends {
    pub(crate) stdin: DuplexStream,
    pub(crate) stdout: DuplexStream,
    pub(crate) stderr: DuplexStream,
    pub(crate) sizes: mpsc::Sender<(u16, u16)>,
}

pub(crate) fn start(
    namespace: &str,
    pod: &str,
    container: &str,
    command: Vec<String>,
    tty: bool,
) -> (Invocation, Ends) {
    let (stdin, their_stdin) = tokio::io::duplex(PIPE);
    let (stdout, their_stdout) = tokio::io::duplex(PIPE);
    let (stderr, their_stderr) = tokio::io::duplex(PIPE);
    let (sizes, their_sizes) = mpsc::channel(4);
    let invocation = Invocation {
        namespace: namespace.into(),
        pod: pod.into(),
        container: container.into(),
        command,
        tty,
        stdin: their_stdin,
        stdout: their_stdout,
        stderr: their_stderr,
        sizes: their_sizes,
    };
    let ends = Ends {
        stdin,
        stdout,
        stderr,
        sizes,
    };
    (invocation, ends)
}
