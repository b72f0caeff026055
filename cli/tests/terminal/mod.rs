//! A program on a terminal, which the program `script` of util-linux gives it.

use std::{
    io::{self, Read, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    time::{Duration, Instant},
};

/// Enough for a build beside other tests.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running program, with what it has shown.
pub(super) struct Terminal {
    process: Child,
    keyboard: ChildStdin,
    screen: Receiver<Vec<u8>>,
    shown: Vec<u8>,
    /// Up to there it was read.
    read: usize,
}

impl Terminal {
    /// Starts a program with these words. Returns `None` if there is no `script`.
    pub(super) fn start(program: &Command) -> Option<Self> {
        let is_there = Command::new("script").arg("--version").output();
        if !is_there.is_ok_and(|said| said.status.success()) {
            // Not `eprintln!`, because the harness hides the output of a passing test.
            let _ = io::stderr().write_all(b"skipped: script of util-linux: none found\n");
            return None;
        }
        let words = [program.get_program()].into_iter();
        let words = words.chain(program.get_args()).map(|word| {
            let word = word.to_str().expect("a path of UTF-8");
            format!("'{}'", word.replace('\'', "'\\''"))
        });
        // Without a shell between them, which Ctrl-C would end, too.
        let line = format!("exec {}", words.collect::<Vec<_>>().join(" "));
        let mut script = Command::new("script");
        script
            .args(["--quiet", "--return", "--command", &line, "/dev/null"])
            .env("SHELL", "/bin/sh");
        for (name, value) in program.get_envs() {
            script.env(name, value.expect("no variable is removed"));
        }
        if let Some(folder) = program.get_current_dir() {
            script.current_dir(folder);
        }
        script.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = script.spawn().unwrap();
        let mut output = process.stdout.take().unwrap();
        let (send, screen) = mpsc::channel();
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut part) {
                let _ = send.send(part[..count].to_vec());
            }
        });
        Some(Self {
            keyboard: process.stdin.take().unwrap(),
            process,
            screen,
            shown: Vec::new(),
            read: 0,
        })
    }

    /// Waits until the text is shown, after what was waited for before. Returns what stands between both.
    pub(super) fn until(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let new = &self.shown[self.read..];
            let found = new.windows(text.len()).position(|at| at == text.as_bytes());
            if let Some(at) = found {
                let between = String::from_utf8_lossy(&new[..at]).into_owned();
                self.read += at + text.len();
                return between;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(part) = self.screen.recv_timeout(left) else {
                let shown = String::from_utf8_lossy(&self.shown);
                panic!("`{text}` was not shown, but:\n{shown}");
            };
            self.shown.extend(part);
        }
    }

    /// Types this. A line ends with `\n`, and Ctrl-C is `\x03`.
    pub(super) fn types(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    /// Waits for the end of the program, which has to be in order. Returns what it has shown last.
    pub(super) fn end(mut self) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.screen.recv_timeout(left) {
                Ok(part) => self.shown.extend(part),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => panic!("the program does not end"),
            }
        }
        let shown = String::from_utf8_lossy(&self.shown[self.read..]).into_owned();
        assert!(self.process.wait().unwrap().success(), "{shown}");
        shown
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended. Otherwise its program gets a hangup.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
