#[cfg(feature = "slow")]
use std::net::SocketAddr;
use std::{
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

/// The time after which a test gives up waiting for a process.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// A process of an operator. It is killed when dropped.
pub(super) struct Replica {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Replica {
    /// Starts a program with these arguments. Its cache is in the folder `home`.
    pub(super) fn start(program: &str, arguments: &[&str], home: &Path) -> Self {
        let mut child = Command::new(program)
            .args(arguments)
            .env("XDG_CACHE_HOME", home)
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        read(child.stdout.take().unwrap(), lines.clone());
        read(child.stderr.take().unwrap(), lines.clone());
        Self { child, lines }
    }

    /// Waits for a line with this text on either of its outputs, and returns it. An earlier line counts, too.
    pub(super) async fn line(&mut self, text: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let found = self
                .lines
                .lock()
                .iter()
                .find(|one| one.contains(text))
                .cloned();
            if let Some(line) = found {
                return line;
            }
            let ended = self.child.try_wait().unwrap();
            if ended.is_some() || Instant::now() > end {
                panic!("no `{text}`, {ended:?}:\n{}", self.lines.lock().join("\n"));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The address that a line names after this text and `://`.
    #[cfg(feature = "slow")]
    pub(super) async fn address(&mut self, text: &str) -> SocketAddr {
        let line = self.line(text).await;
        let url = line.split("://").nth(1).unwrap();
        let address = url.split(['/', ' ']).next().unwrap();
        address.parse().unwrap()
    }

    pub(super) fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &kill]).status().unwrap();
        assert!(status.success());
    }

    /// Waits until it has ended.
    pub(super) async fn end(&mut self) -> ExitStatus {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "{}", self.lines.lock().join("\n"));
            tokio::time::sleep(PAUSE).await;
        }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(output: impl Read + Send + 'static, lines: Arc<Mutex<Vec<String>>>) {
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            lines.lock().push(line);
        }
    });
}
