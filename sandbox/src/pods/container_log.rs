use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::watch;

/// A kubelet keeps 10 MiB of a container's log unless told otherwise; the oldest lines go first.
const MOST_BYTES: usize = 10 * 1024 * 1024;

/// What a container wrote.
#[derive(Debug)]
pub(crate) struct ContainerLog {
    lines: Mutex<Lines>,
    /// Counts the lines; readers wait for it to change.
    written: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Lines {
    kept: VecDeque<Entry>,
    bytes: usize,
    /// The number of the first line that is kept.
    first: u64,
    ended: bool,
}

/// Where a line was written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Stdout,
    Stderr,
}

/// One line, with its line break.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) time: Timestamp,
    pub(crate) source: Source,
    pub(crate) text: String,
}

impl ContainerLog {
    pub(crate) fn new() -> Self {
        Self {
            lines: Mutex::default(),
            written: watch::Sender::new(0),
        }
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self, time: Timestamp, source: Source, text: &str) {
        {
            let mut lines = self.lines();
            for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
                let text = format!("{line}\n");
                lines.bytes += text.len();
                lines.kept.push_back(Entry { time, source, text });
            }
            while lines.bytes > MOST_BYTES {
                let Some(gone) = lines.kept.pop_front() else {
                    break;
                };
                lines.bytes -= gone.text.len();
                lines.first += 1;
            }
        }
        self.written.send_modify(|count| *count += 1);
    }

    /// Nothing more will be written.
    pub(crate) fn end(&self) {
        self.lines().ended = true;
        self.written.send_modify(|count| *count += 1);
    }

    /// Number of the next line to be written.
    pub(crate) fn next(&self) -> u64 {
        let lines = self.lines();
        lines.first + lines.kept.len() as u64
    }

    /// The lines from number `from` on, the number after them, and whether it ends there.
    pub(crate) fn from(&self, from: u64) -> (Vec<Entry>, u64, bool) {
        let lines = self.lines();
        let skipped = usize::try_from(from.saturating_sub(lines.first)).unwrap_or(usize::MAX);
        let found = lines.kept.iter().skip(skipped).cloned().collect();
        (found, lines.first + lines.kept.len() as u64, lines.ended)
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.written.subscribe()
    }
}
