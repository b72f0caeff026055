//! Tests the shutdown of an operator in a separate process (R12).
#![cfg(unix)]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

use tempfile::TempDir;

/// The time after which the test gives up waiting. It is longer than the 29 s in which an operator stops.
const PATIENCE: Duration = Duration::from_secs(60);

/// `stubborn dev`, whose reconciles never end. It is killed when dropped.
struct Stubborn {
    child: Child,
    lines: Receiver<String>,
    said: Vec<String>,
    _home: TempDir,
}

impl Stubborn {
    /// Starts it, and waits until it runs and a reconcile of it hangs.
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_stubborn"))
            .args(["dev", "--metrics-address", "127.0.0.1:0"])
            .env("XDG_CACHE_HOME", home.path())
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        pass_on(child.stdout.take().unwrap(), sender.clone());
        pass_on(child.stderr.take().unwrap(), sender);
        let mut stubborn = Self {
            child,
            lines,
            said: Vec::new(),
            _home: home,
        };
        stubborn.until("Ctrl-C stops it");
        stubborn.until("reconciling default");
        stubborn
    }

    /// Waits for a line with this text on either of its two outputs. An earlier line counts too.
    fn until(&mut self, text: &str) -> String {
        loop {
            if let Some(line) = self.said.iter().find(|line| line.contains(text)) {
                return line.clone();
            }
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.said.push(line),
                Err(error) => panic!("no `{text}`: {error}\n{}", self.said.join("\n")),
            }
        }
    }

    /// Returns the address of one of its servers, which the banner prints after this word.
    fn address(&mut self, word: &str) -> String {
        let line = self.until(word);
        let url = line.split("://").nth(1).unwrap();
        url.split('/').next().unwrap().to_owned()
    }

    fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &kill]).status().unwrap();
        assert!(status.success());
    }

    /// Waits until it has ended, which closes its outputs.
    fn end(&mut self) -> ExitStatus {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.said.push(line),
                Err(RecvTimeoutError::Disconnected) => return self.child.wait().unwrap(),
                Err(RecvTimeoutError::Timeout) => {
                    panic!("it does not end:\n{}", self.said.join("\n"))
                }
            }
        }
    }
}

impl Drop for Stubborn {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn pass_on(output: impl Read + Send + 'static, lines: Sender<String>) {
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // The receiver may be gone, because the test has seen enough.
            let _ = lines.send(line);
        }
    });
}

/// Sends a GET and returns the status line and the body.
fn get(address: &str, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

#[test]
fn a_stopping_operator_is_live_but_not_ready_and_a_second_signal_ends_it_at_once() {
    let mut operator = Stubborn::start();
    let http = operator.address("  metrics  ");
    assert_eq!(get(&http, "/readyz").0, "HTTP/1.1 200 OK");
    operator.signal("TERM");
    operator.until("stopping: a second signal ends the process at once");
    // The stop reaches readiness separately from the log line, so not at the same moment.
    let ready = loop {
        let answer = get(&http, "/readyz");
        if answer.0 != "HTTP/1.1 200 OK" {
            break answer;
        }
        thread::yield_now();
    };
    assert!(ready.1.contains("the operator is stopping"), "{ready:?}");
    assert_eq!(get(&http, "/healthz").0, "HTTP/1.1 200 OK");
    operator.signal("INT");
    assert_eq!(operator.end().code(), Some(130), "{:?}", operator.said);
}

#[test]
fn hanging_reconciles_and_connections_do_not_delay_the_exit() {
    let mut operator = Stubborn::start();
    // These connections never send anything.
    let _silent = ["  API server  ", "  metrics  "].map(|word| {
        let address = operator.address(word);
        TcpStream::connect(address).unwrap()
    });
    operator.signal("TERM");
    operator.until("it is cancelled");
    assert_eq!(operator.end().code(), Some(0), "{:?}", operator.said);
}
