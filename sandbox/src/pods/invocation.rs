use tokio::io::DuplexStream;
use tokio::sync::mpsc;

/// The buffer of each stream of a program, in bytes.
const BUFFER: usize = 64 * 1024;

/// One call of a program in a container: its arguments and its streams.
///
/// A stream that the client did not ask for exists all the same: its input has ended, and its output is discarded. If
/// the client disconnects, the program is dropped.
#[derive(Debug)]
#[non_exhaustive]
pub struct Invocation {
    /// Namespace of the Pod.
    pub namespace: String,
    /// Name of the Pod.
    pub pod: String,
    /// Name of the container.
    pub container: String,
    /// The program and its arguments. Empty for the container's own process.
    pub command: Vec<String>,
    /// Whether the client asked for a terminal. The sandbox has none: it passes bytes on unchanged.
    pub tty: bool,
    /// Standard input. It ends when the client closes its input.
    pub stdin: DuplexStream,
    /// Standard output.
    pub stdout: DuplexStream,
    /// Standard error. With a terminal it is part of the output.
    pub stderr: DuplexStream,
    /// Columns and rows of the terminal, whenever they change.
    pub sizes: mpsc::Receiver<(u16, u16)>,
}

/// The other ends of a program's streams.
pub(crate) struct ClientEnds {
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
) -> (Invocation, ClientEnds) {
    let (stdin, their_stdin) = tokio::io::duplex(BUFFER);
    let (stdout, their_stdout) = tokio::io::duplex(BUFFER);
    let (stderr, their_stderr) = tokio::io::duplex(BUFFER);
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
    let ends = ClientEnds {
        stdin,
        stdout,
        stderr,
        sizes,
    };
    (invocation, ends)
}
