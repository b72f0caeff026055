//! The terminals of a reader: a shell that runs one command after the other, and terminals in which a command goes on.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

/// What a command has printed, and its exit code.
#[derive(Debug)]
pub struct Done {
    /// Standard output and standard error.
    pub output: String,
    /// The exit code.
    pub code: i32,
}

/// A shell that keeps its folder and its variables.
#[derive(Debug)]
pub struct Shell {
    process: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    /// The folder after the last command.
    pub folder: PathBuf,
}

/// What ends the output of a command. No command of the tutorial prints it.
const MARK: &str = "-- walked";

impl Shell {
    /// A shell with the environment of `command`, which runs bash.
    ///
    /// # Errors
    /// If bash does not start.
    pub fn start(mut command: Command, folder: &Path) -> io::Result<Self> {
        let mut process = command
            .args(["--noprofile", "--norc"])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let missing = || io::Error::other("a pipe is missing");
        let input = process.stdin.take().ok_or_else(missing)?;
        let lines = lines(process.stdout.take().ok_or_else(missing)?);
        Ok(Self {
            process,
            input,
            lines,
            folder: folder.to_owned(),
        })
    }

    /// Runs a command to its end.
    ///
    /// # Errors
    /// If it does not end in time, or if the shell ends.
    pub fn run(&mut self, line: &str, limit: Duration) -> Result<Done, String> {
        let script =
            format!("{{ {line}\n}} </dev/null 2>&1\nprintf '\\n{MARK} %s %s\\n' \"$?\" \"$PWD\"\n");
        let written = self.input.write_all(script.as_bytes());
        written.map_err(|error| format!("the shell has ended: {error}"))?;
        let (mut output, until) = (String::new(), Instant::now() + limit);
        loop {
            let line = next(&self.lines, until).map_err(|error| format!("{error}: {output}"))?;
            let Some(rest) = line.strip_prefix(MARK) else {
                output.push_str(&line);
                output.push('\n');
                continue;
            };
            let (code, folder) = rest.trim().split_once(' ').unwrap_or_default();
            self.folder = folder.into();
            // The line before the mark may be that of the command, without an end, or an empty one of the shell.
            let output = output.strip_suffix('\n').unwrap_or(&output).to_owned();
            let code = code.parse().map_err(|_| format!("no exit code: {rest}"))?;
            return Ok(Done { output, code });
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        signal("KILL", &self.process);
        let _ = self.process.wait();
    }
}

/// A terminal in which one command goes on.
#[derive(Debug)]
pub struct Terminal {
    process: Child,
    lines: Receiver<String>,
    /// All lines so far.
    pub seen: Vec<String>,
}

impl Terminal {
    /// Begins a command, with the environment of `command`, which runs bash.
    ///
    /// # Errors
    /// If bash does not start.
    pub fn begin(mut command: Command, folder: &Path, line: &str) -> io::Result<Self> {
        let mut process = command
            .args(["--noprofile", "--norc", "-c", &format!("exec 2>&1; {line}")])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let output = process.stdout.take();
        let output = output.ok_or_else(|| io::Error::other("a pipe is missing"))?;
        Ok(Self {
            process,
            lines: lines(output),
            seen: Vec::new(),
        })
    }

    /// Waits until a line appears that fits, after those that were waited for before.
    ///
    /// # Errors
    /// If it does not appear in time, or if a build fails before. The error has the lines that came instead.
    pub fn until(&mut self, fits: impl Fn(&str) -> bool, limit: Duration) -> Result<(), String> {
        let (from, until) = (self.seen.len(), Instant::now() + limit);
        loop {
            let line = next(&self.lines, until)
                .map_err(|error| format!("{error}: {}", self.seen[from..].join("\n")))?;
            let (is_it, has_failed) = (fits(&line), line.starts_with("The build failed"));
            self.seen.push(line);
            if is_it {
                return Ok(());
            }
            if has_failed {
                return Err(self.seen[from..].join("\n"));
            }
        }
    }

    /// Passes the lines that came until now.
    pub fn skip(&mut self) {
        self.seen.extend(self.lines.try_iter());
    }

    /// Sends what Ctrl-C sends, and waits for the end.
    ///
    /// # Errors
    /// If the command does not end in time.
    pub fn interrupt(&mut self, limit: Duration) -> Result<(), String> {
        signal("INT", &self.process);
        let until = Instant::now() + limit;
        loop {
            match next(&self.lines, until) {
                Ok(line) => self.seen.push(line),
                Err(Silence::Ended) => break,
                Err(error) => return Err(error.to_string()),
            }
        }
        self.process.wait().map_err(|error| error.to_string())?;
        Ok(())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A command that has processes of its own ends them.
        if self.interrupt(Duration::from_secs(20)).is_err() {
            signal("KILL", &self.process);
            let _ = self.process.wait();
        }
    }
}

/// Why no line comes.
#[derive(Debug, PartialEq)]
enum Silence {
    Late,
    Ended,
}

impl std::fmt::Display for Silence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Late => "nothing more came in time, after",
            Self::Ended => "it has ended, after",
        })
    }
}

fn next(lines: &Receiver<String>, until: Instant) -> Result<String, Silence> {
    let left = until.saturating_duration_since(Instant::now());
    lines.recv_timeout(left).map_err(|error| match error {
        RecvTimeoutError::Timeout => Silence::Late,
        RecvTimeoutError::Disconnected => Silence::Ended,
    })
}

/// The lines of an output, as they come. The thread ends with the output.
fn lines(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            if sender
                .send(String::from_utf8_lossy(&line).into_owned())
                .is_err()
            {
                break;
            }
        }
    });
    receiver
}

/// Sends a signal to the processes of a terminal.
fn signal(name: &str, process: &Child) {
    let group = format!("-{}", process.id());
    let mut kill = Command::new("kill");
    // The processes may have ended.
    let _ = kill
        .args(["-s", name, "--", &group])
        .stderr(Stdio::null())
        .status();
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(60);

    #[test]
    fn the_shell_keeps_its_folder_and_its_variables() {
        let folder = tempfile::tempdir().unwrap();
        let mut shell = Shell::start(Command::new("bash"), folder.path()).unwrap();
        shell.run("mkdir a && cd a && export ONE=1", SOON).unwrap();
        let done = shell
            .run("printf \"$ONE\"; echo two >&2; false", SOON)
            .unwrap();
        assert_eq!((&*done.output, done.code), ("1two\n", 1));
        assert!(shell.folder.ends_with("a"));
        // A command that reads does not take the next one.
        assert_eq!(shell.run("cat", SOON).unwrap().output, "");
        assert_eq!(shell.run("printf end", SOON).unwrap().output, "end");
    }

    #[test]
    fn a_build_that_fails_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let line = "echo error: none; echo The build failed. Waiting for a change; sleep 600";
        let mut terminal = Terminal::begin(Command::new("bash"), folder.path(), line).unwrap();
        let failed = terminal.until(|line| line == "ready", SOON).unwrap_err();
        assert!(failed.contains("error: none"), "{failed}");
    }

    #[test]
    fn a_terminal_shows_lines_and_ends_with_an_interrupt() {
        let folder = tempfile::tempdir().unwrap();
        // Short sleeps: a shell whose signal comes just before a long one would wait for its end.
        let line = "trap 'echo bye; exit' INT; echo one; echo two; while :; do sleep 0.1; done";
        // A program that a shell started in the background ignores interrupts, and so do its children.
        let mut shell = Command::new("env");
        shell.args(["--default-signal=INT", "bash"]);
        let mut terminal = Terminal::begin(shell, folder.path(), line).unwrap();
        terminal.until(|line| line == "two", SOON).unwrap();
        // What was passed does not come again.
        let late = terminal.until(|line| line == "one", Duration::ZERO);
        assert!(late.unwrap_err().contains("in time"));
        terminal.skip();
        terminal.interrupt(SOON).unwrap();
        assert_eq!(terminal.seen.last().unwrap(), "bye");
        let ended = terminal.until(|_| true, SOON).unwrap_err();
        assert!(ended.contains("it has ended"), "{ended}");
    }
}
