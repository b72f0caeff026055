//! The operator as its user starts it: `website dev` as a process of its own.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// How long the test waits for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running `website dev`. It is killed when dropped.
pub struct Dev {
    child: Option<Child>,
    home: TempDir,
    /// The output until the operator was ready.
    pub banner: String,
    pub kubeconfig: PathBuf,
    /// The address of its listener for metrics and health.
    pub metrics: SocketAddr,
}

impl Dev {
    /// Starts the process on free ports, and waits until it is ready.
    pub fn start() -> Self {
        Self::start_with(&[], &[])
    }

    /// As [`start`](Self::start), with more arguments and environment variables.
    pub fn start_with(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_website"))
            .arg("dev")
            .args(arguments)
            .env("XDG_CACHE_HOME", home.path())
            .env_remove("RUST_LOG")
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(home.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        let output = child.stdout.take().unwrap();
        let (lines, said) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                // The test may have dropped the receiver.
                let _ = lines.send(line);
            }
        });
        let mut dev = Self {
            child: Some(child),
            home,
            banner: String::new(),
            kubeconfig: PathBuf::new(),
            metrics: SocketAddr::from(([0; 4], 0)),
        };
        while !dev.banner.contains("Ctrl-C stops it") {
            match said.recv_timeout(PATIENCE) {
                Ok(line) => dev.banner.push_str(&format!("{line}\n")),
                Err(error) => panic!("{error}; it said:\n{}{}", dev.banner, dev.log()),
            }
        }
        dev.kubeconfig = dev.banner_entry("kubeconfig").into();
        let metrics = dev.banner_entry("metrics");
        let metrics = metrics
            .trim_start_matches("https://")
            .trim_start_matches("http://")
            .trim_end_matches("/metrics");
        dev.metrics = metrics.parse().unwrap();
        dev
    }

    /// The text after a word of the banner.
    pub fn banner_entry(&self, word: &str) -> String {
        let line = self
            .banner
            .lines()
            .find(|line| line.trim_start().starts_with(word));
        let line = line.unwrap_or_else(|| panic!("no {word} in:\n{}", self.banner));
        line.split_whitespace().last().unwrap().to_owned()
    }

    /// The log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.home.path().join("log")).unwrap()
    }

    /// A folder for kubectl's `HOME`.
    pub fn home(&self) -> PathBuf {
        self.home.path().to_owned()
    }

    /// Status line and body of a GET from the operator's listener.
    pub fn get(&self, path: &str) -> (String, String) {
        get(self.metrics, path)
    }

    /// The sum of a metric's samples whose line contains `labels`.
    pub fn metric(&self, name: &str, labels: &str) -> f64 {
        self.get("/metrics")
            .1
            .lines()
            .filter(|line| line.starts_with(name) && line.contains(labels))
            .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
            .sum()
    }

    /// Sends SIGINT, as Ctrl-C does, and waits until the process has ended.
    pub fn interrupt(mut self) -> ExitStatus {
        let mut child = self.child.take().unwrap();
        let kill = format!("kill -INT {}", child.id());
        assert!(
            Command::new("sh")
                .args(["-c", &kill])
                .status()
                .unwrap()
                .success()
        );
        let (ended, end) = mpsc::channel();
        thread::spawn(move || ended.send(child.wait().unwrap()));
        end.recv_timeout(PATIENCE)
            .unwrap_or_else(|error| panic!("it does not stop: {error}\n{}", self.log()))
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Status line and body of a GET with HTTP/1.0, in which the body ends with the connection.
pub fn get(address: SocketAddr, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

/// Polls until `glance` returns a value. The operator is another process, so the test cannot be notified.
pub fn eventually<T>(what: &str, mut glance: impl FnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match glance() {
            Ok(value) => return value,
            Err(seen) if Instant::now() > deadline => {
                panic!("waited for {what}; seen last: {seen}")
            }
            Err(_) => thread::sleep(Duration::from_millis(50)),
        }
    }
}
