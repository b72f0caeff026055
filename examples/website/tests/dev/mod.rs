//! The operator as its user starts it: `website dev` as a process of its own.

// Each test program uses its own part of it.
#![allow(dead_code)]

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

/// How long anything may take before the test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running `website dev`; it is killed when dropped.
pub struct Dev {
    child: Option<Child>,
    home: TempDir,
    /// What it said until it was ready.
    pub banner: String,
    pub kubeconfig: PathBuf,
    /// Where its own listener is.
    pub metrics: SocketAddr,
}

impl Dev {
    /// Starts it on free ports, and waits until it says that it runs.
    pub fn start() -> Self {
        Self::start_with(&[], &[])
    }

    /// The same with more on its command line and in its environment.
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
                // The test may have seen enough.
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
        dev.kubeconfig = dev.told("kubeconfig").into();
        let metrics = dev.told("metrics");
        let metrics = metrics
            .trim_start_matches("https://")
            .trim_start_matches("http://")
            .trim_end_matches("/metrics");
        dev.metrics = metrics.parse().unwrap();
        dev
    }

    /// What stands behind a word of the banner.
    fn told(&self, word: &str) -> String {
        let line = self
            .banner
            .lines()
            .find(|line| line.trim_start().starts_with(word));
        let line = line.unwrap_or_else(|| panic!("no {word} in:\n{}", self.banner));
        line.split_whitespace().last().unwrap().to_owned()
    }

    /// What it logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.home.path().join("log")).unwrap()
    }

    /// A folder that kubectl may use as its home.
    pub fn home(&self) -> PathBuf {
        self.home.path().to_owned()
    }

    /// Status line and body of a GET from its own listener.
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

    /// Presses Ctrl-C and waits for the end.
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

/// Status line and body of a GET. HTTP/1.0: the body ends with the connection.
pub fn get(address: SocketAddr, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

/// Waits until `glance` gives a value. The operator is another process: only looking again tells.
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
