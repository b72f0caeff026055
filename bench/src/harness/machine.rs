//! Reads the kernel's counters of processor time.

use std::{fs, io, time::Instant};

/// The kernel's ticks per second, 100 on every Linux.
const TICKS: f64 = 100.0;

/// Processor seconds up to a moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    when: Instant,
    /// The time of all processes, and the time that the host took away.
    all: f64,
    /// The time of this process and of its children that have ended.
    own: f64,
    server: f64,
}

impl Moment {
    /// Reads the counters now, including those of the server if there is one.
    pub(super) fn now(server: Option<u32>) -> io::Result<Self> {
        let server = match server {
            Some(id) => used(&fs::read_to_string(format!("/proc/{id}/stat"))?, 2),
            None => 0.0,
        };
        Ok(Self {
            when: Instant::now(),
            all: busy(&fs::read_to_string("/proc/stat")?),
            own: used(&fs::read_to_string("/proc/self/stat")?, 4),
            server,
        })
    }

    /// Returns the processor seconds since then of this process and of its children that have ended.
    pub(super) fn own_since(&self, then: &Self) -> f64 {
        self.own - then.own
    }

    /// Returns the processor seconds of the server since then.
    pub(super) fn server_since(&self, then: &Self) -> f64 {
        self.server - then.server
    }

    /// Returns the share of `cores` that other processes and the host took since then.
    pub(super) fn foreign_since(&self, then: &Self, cores: usize) -> f64 {
        let known = self.own_since(then) + self.server_since(then);
        let foreign = (self.all - then.all - known).max(0.0);
        foreign / (self.when.duration_since(then.when).as_secs_f64() * cores as f64).max(1e-9)
    }
}

/// Returns the user, nice, system and stolen time of all processors. Interrupts are excluded, because those of the
/// loopback device are ours.
pub(super) fn busy(stat: &str) -> f64 {
    let line = stat.lines().next().unwrap_or_default();
    let fields: Vec<f64> = line
        .split_whitespace()
        .skip(1)
        .filter_map(|field| field.parse().ok())
        .collect();
    [0, 1, 2, 7]
        .iter()
        .filter_map(|index| fields.get(*index))
        .sum::<f64>()
        / TICKS
}

/// Sums the first `times` of the four times of a process: user and system of the process, user and system of its children.
pub(super) fn used(stat: &str, times: usize) -> f64 {
    let fields = stat.rsplit(") ").next().unwrap_or_default();
    fields
        .split(' ')
        .skip(11)
        .take(times)
        .filter_map(|field| field.parse::<f64>().ok())
        .sum::<f64>()
        / TICKS
}

/// Returns a line for the report: processor, memory, kernel.
pub(super) fn describe() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let value = |text: &str, name: &str| {
        let line = text
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_default();
        line.split_once(':')
            .map_or_else(String::new, |(_, value)| value.trim().to_owned())
    };
    let memory: f64 = value(&read("/proc/meminfo"), "MemTotal")
        .trim_end_matches(" kB")
        .parse()
        .unwrap_or(0.0);
    format!(
        "{} cores, {}, {:.0} GiB, Linux {}",
        cores(),
        value(&read("/proc/cpuinfo"), "model name"),
        memory / 1024.0 / 1024.0,
        read("/proc/sys/kernel/osrelease").trim()
    )
}

pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
