//! The programs of the containers of tests: those of this machine, in a folder for each Pod. Containers of the sandbox run them as those of a
//! [node of the real server](crate::real::RealServer::serve_node), whose kubelet is `tests/cluster/kubelet.go`.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Stdio,
};

use pilothouse_sandbox::{Invocation, Sandbox};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream},
    process::Command,
};

/// The node of the simulator, and the name for a node of the real server.
pub const NODE: &str = "sandbox";
/// The port on which each Pod echoes what it reads. "bye" at the end of a message ends the connection.
pub const ECHO: u16 = 7;
/// The command that writes its arguments as a line to the container's own output.
pub const WRITE_LINE: &str = "write-line";
/// The command that prints the first size of its terminal, such as `80x24`.
pub const PRINT_SIZE: &str = "print-size";

/// Registers the programs with a sandbox. `folder` gets a folder for each Pod.
pub fn register(sandbox: &Sandbox, folder: &Path) {
    let pods = sandbox.pods();
    for name in [
        "cat", "echo", "false", "head", "ls", "mkdir", "sh", "tar", "test", "true",
    ] {
        let folder = folder.to_owned();
        pods.program(name, move |call| program(folder.clone(), call));
    }
    let sandbox_of_lines = sandbox.clone();
    pods.program(WRITE_LINE, move |call| {
        let line = call.command[1..].join(" ") + "\n";
        let pods = sandbox_of_lines.pods();
        let written = pods.write_stdout(&call.namespace, &call.pod, &call.container, &line);
        async move { i32::from(!written) }
    });
    pods.program(PRINT_SIZE, |mut call| async move {
        let (columns, rows) = call.sizes.recv().await.unwrap_or_default();
        let text = format!("{columns}x{rows}");
        i32::from(call.stdout.write_all(text.as_bytes()).await.is_err())
    });
    pods.port(ECHO, echo);
}

/// Lets a client that attaches reach a `cat` of its own. Without this it sees what is written to the log.
pub fn attach_to_cat(sandbox: &Sandbox, folder: &Path) {
    let folder = folder.to_owned();
    sandbox.pods().main(move |mut call| {
        call.command = vec!["cat".into()];
        program(folder.clone(), call)
    });
}

async fn program(folder: PathBuf, call: Invocation) -> i32 {
    let place = folder.join(format!("{}_{}", call.namespace, call.pod));
    run(&place, call).await.unwrap_or(-1)
}

async fn run(place: &Path, mut call: Invocation) -> io::Result<i32> {
    fs::create_dir_all(place)?;
    let mut child = Command::new(&call.command[0])
        .args(&call.command[1..])
        .current_dir(place)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let piped = "a pipe";
    let mut stdin = child.stdin.take().expect(piped);
    let mut stdout = child.stdout.take().expect(piped);
    let mut stderr = child.stderr.take().expect(piped);
    let input = async {
        let _ = tokio::io::copy(&mut call.stdin, &mut stdin).await;
        drop(stdin);
        std::future::pending::<()>().await;
    };
    let ended = async {
        let (_, _, status) = tokio::join!(
            tokio::io::copy(&mut stdout, &mut call.stdout),
            tokio::io::copy(&mut stderr, &mut call.stderr),
            child.wait(),
        );
        status
    };
    // A program that ends does not wait for the end of its input.
    tokio::select! {
        status = ended => Ok(status?.code().unwrap_or(-1)),
        () = input => Ok(-1),
    }
}

async fn echo(mut stream: DuplexStream) {
    let mut piece = [0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut piece).await {
        let said = &piece[..length];
        if stream.write_all(said).await.is_err() || said.ends_with(b"bye") {
            return;
        }
    }
}
