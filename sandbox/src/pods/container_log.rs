use jiff::Timestamp;
use parking_lot::Mutex;
use std::collections::VecDeque;
use tokio::sync::watch;

/// A kubelet keeps 10 MiB of a container's log by default. The oldest lines go first.
const MAX_BYTES: usize = 10 * 1024 * 1024;

/// The log of a container.
#[derive(Debug)]
pub(crate) struct ContainerLog {
    lines: Mutex<Lines>,
    /// The number of lines. Readers wait for it to change.
    written: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Lines {
    kept: VecDeque<LogLine>,
    bytes: usize,
    /// The number of the first line that is kept.
    first: u64,
    ended: bool,
}

/// The stream that a line was written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogStream {
    Stdout,
    Stderr,
}

/// One line, with its line break.
#[derive(Clone, Debug)]
pub(crate) struct LogLine {
    pub(crate) time: Timestamp,
    pub(crate) source: LogStream,
    pub(crate) text: String,
}

impl ContainerLog {
    pub(crate) fn new() -> Self {
        Self {
            lines: Mutex::default(),
            written: watch::Sender::new(0),
        }
    }

    pub(crate) fn write(&self, time: Timestamp, source: LogStream, text: &str) {
        {
            let mut lines = self.lines.lock();
            for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
                let text = format!("{line}\n");
                lines.bytes += text.len();
                lines.kept.push_back(LogLine { time, source, text });
            }
            while lines.bytes > MAX_BYTES {
                let Some(gone) = lines.kept.pop_front() else {
                    break;
                };
                lines.bytes -= gone.text.len();
                lines.first += 1;
            }
        }
        self.written.send_modify(|count| *count += 1);
    }

    /// Ends the log: no more lines follow.
    pub(crate) fn end(&self) {
        self.lines.lock().ended = true;
        self.written.send_modify(|count| *count += 1);
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.lines.lock().ended
    }

    /// Waits until the log has ended.
    pub(crate) async fn ended(&self) {
        let mut changes = self.changes();
        while !self.has_ended() && changes.changed().await.is_ok() {}
    }

    /// The number of the next line.
    pub(crate) fn next(&self) -> u64 {
        let lines = self.lines.lock();
        lines.first + lines.kept.len() as u64
    }

    /// The lines from number `from` on, the number after them, and whether the log ends there.
    pub(crate) fn from(&self, from: u64) -> (Vec<LogLine>, u64, bool) {
        let lines = self.lines.lock();
        let skipped = usize::try_from(from.saturating_sub(lines.first)).unwrap_or(usize::MAX);
        let found = lines.kept.iter().skip(skipped).cloned().collect();
        (found, lines.first + lines.kept.len() as u64, lines.ended)
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.written.subscribe()
    }
}
