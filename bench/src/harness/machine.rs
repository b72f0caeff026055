//! What the machine does, as the kernel counts it.

use std::{fs, io, time::Instant};

/// The kernel's ticks, 100 in a second on every Linux.
const TICKS: f64 = 100.0;

/// Processor seconds until now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    when: Instant,
    /// Of everyone, and what the host took away.
    all: f64,
    /// Of this process and of its children that have ended.
    own: f64,
    server: f64,
}

impl Moment {
    /// Now; with the server, if there is one.
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

    /// Processor seconds of this process and of its children that have ended since then.
    pub(super) fn own_since(&self, then: &Self) -> f64 {
        self.own - then.own
    }

    /// Processor seconds of the server since then.
    pub(super) fn server_since(&self, then: &Self) -> f64 {
        self.server - then.server
    }

    /// The share of `cores` that went to others since then.
    pub(super) fn foreign_since(&self, then: &Self, cores: usize) -> f64 {
        let known = self.own_since(then) + self.server_since(then);
        let foreign = (self.all - then.all - known).max(0.0);
        foreign / (self.when.duration_since(then.when).as_secs_f64() * cores as f64).max(1e-9)
    }
}

/// User, nice, system and stolen time of all processors. Interrupts are left out: loopback's are ours.
pub(super) fn busy(stat: &str) -> f64 {
    let line = stat.lines().next().unwrap_or_default();
    let fields: Vec<f64> = line
        .split_whitespace()
        .skip(1)
        .filter_map(|field| field.parse().ok())
        .collect();
    [0, 1, 2, 7]
        .iter()
        .filter_map(|place| fields.get(*place))
        .sum::<f64>()
        / TICKS
}

/// The first of the four times of a process: user and system, its own and those of its children.
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

/// A line for the report: processor, memory, kernel.
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
