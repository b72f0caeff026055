use std::{fs, time::Duration};

use prometheus::{
    Counter, Gauge,
    core::{Collector, Desc},
    proto::MetricFamily,
};

/// The `process_…` metrics of this process, read from `/proc` at each scrape.
///
/// A value that cannot be read keeps its last value. Registered on Linux only.
pub(super) struct ProcessCollector {
    cpu: Counter,
    received: Counter,
    transmitted: Counter,
    open_files: Gauge,
    max_files: Gauge,
    resident: Gauge,
    virtual_size: Gauge,
    virtual_max: Gauge,
    start: Gauge,
}

/// Ticks per second of the times in `/proc/self/stat`. The number is part of Linux' ABI, not of its
/// configuration.
const TICKS: f64 = 100.0;

impl ProcessCollector {
    pub(super) fn new() -> Self {
        Self {
            cpu: counter(
                "process_cpu_seconds_total",
                "User and system CPU time of the process, in seconds.",
            ),
            received: counter(
                "process_network_receive_bytes_total",
                "Bytes that the process received over the network.",
            ),
            transmitted: counter(
                "process_network_transmit_bytes_total",
                "Bytes that the process sent over the network.",
            ),
            open_files: gauge("process_open_fds", "Open file descriptors."),
            max_files: gauge("process_max_fds", "The limit of open file descriptors."),
            resident: gauge("process_resident_memory_bytes", "Resident memory in bytes."),
            virtual_size: gauge("process_virtual_memory_bytes", "Virtual memory in bytes."),
            virtual_max: gauge(
                "process_virtual_memory_max_bytes",
                "The limit of virtual memory in bytes.",
            ),
            start: gauge(
                "process_start_time_seconds",
                "When the process started, in seconds since 1970.",
            ),
        }
    }

    fn read(&self) {
        if let Ok(stat) = fs::read_to_string("/proc/self/stat")
            && let Some(stat) = parse_stat(&stat)
        {
            raise(&self.cpu, stat.cpu.as_secs_f64());
            if let Some(boot) = field(
                &fs::read_to_string("/proc/stat").unwrap_or_default(),
                "btime",
            ) {
                self.start.set(boot + stat.started.as_secs_f64());
            }
        }
        if let Ok(status) = fs::read_to_string("/proc/self/status") {
            set(
                &self.resident,
                field(&status, "VmRSS:").map(|kib| kib * 1024.0),
            );
            set(
                &self.virtual_size,
                field(&status, "VmSize:").map(|kib| kib * 1024.0),
            );
        }
        if let Ok(limits) = fs::read_to_string("/proc/self/limits") {
            set(&self.max_files, limit(&limits, "Max open files"));
            set(&self.virtual_max, limit(&limits, "Max address space"));
        }
        if let Ok(files) = fs::read_dir("/proc/self/fd") {
            // One of the entries is the directory handle itself.
            self.open_files.set(files.count().saturating_sub(1) as f64);
        }
        if let Ok(network) = fs::read_to_string("/proc/self/net/netstat")
            && let Some((received, transmitted)) = parse_netstat(&network)
        {
            raise(&self.received, received);
            raise(&self.transmitted, transmitted);
        }
    }

    fn collectors(&self) -> [&dyn Collector; 9] {
        [
            &self.cpu,
            &self.received,
            &self.transmitted,
            &self.open_files,
            &self.max_files,
            &self.resident,
            &self.virtual_size,
            &self.virtual_max,
            &self.start,
        ]
    }
}

impl Collector for ProcessCollector {
    fn desc(&self) -> Vec<&Desc> {
        self.collectors()
            .into_iter()
            .flat_map(Collector::desc)
            .collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.read();
        self.collectors()
            .into_iter()
            .flat_map(Collector::collect)
            .collect()
    }
}

fn counter(name: &str, help: &str) -> Counter {
    Counter::new(name, help).expect("the names of our metrics are valid")
}

fn gauge(name: &str, help: &str) -> Gauge {
    Gauge::new(name, help).expect("the names of our metrics are valid")
}

fn raise(counter: &Counter, value: f64) {
    let more = value - counter.get();
    if more > 0.0 {
        counter.inc_by(more);
    }
}

fn set(gauge: &Gauge, value: Option<f64>) {
    if let Some(value) = value {
        gauge.set(value);
    }
}

#[derive(Debug, PartialEq)]
struct Stat {
    cpu: Duration,
    /// Time between the boot and the start of the process.
    started: Duration,
}

/// Parses fields 14, 15 and 22 of `/proc/self/stat`. The process name before them may contain blanks
/// and brackets.
fn parse_stat(text: &str) -> Option<Stat> {
    let fields: Vec<_> = text
        .get(text.rfind(')')? + 1..)?
        .split_whitespace()
        .collect();
    let ticks = |field: usize| fields.get(field - 3)?.parse::<f64>().ok();
    Some(Stat {
        cpu: Duration::from_secs_f64((ticks(14)? + ticks(15)?) / TICKS),
        started: Duration::from_secs_f64(ticks(22)? / TICKS),
    })
}

/// The number after `name` at the start of a line.
fn field(text: &str, name: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The soft limit `name`. `unlimited` becomes the largest 64-bit number, as in Go's collector.
fn limit(text: &str, name: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    match rest.split_whitespace().next()? {
        "unlimited" => Some(u64::MAX as f64),
        number => number.parse().ok(),
    }
}

/// Parses `InOctets` and `OutOctets` of `IpExt:`, which has one line of names and one of numbers.
fn parse_netstat(text: &str) -> Option<(f64, f64)> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("IpExt:"));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let value = |name: &str| {
        let place = names.split_whitespace().position(|other| other == name)?;
        numbers.split_whitespace().nth(place)?.parse().ok()
    };
    Some((value("InOctets")?, value("OutOctets")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_with_brackets_does_not_shift_the_fields() {
        let text = "7 (a (b) c) S 1 7 7 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 1 0 4200 1000 20 0";
        let expected = Stat {
            cpu: Duration::from_secs(2),
            started: Duration::from_secs(42),
        };
        assert_eq!(parse_stat(text), Some(expected));
        assert_eq!(parse_stat("7 (a"), None);
    }

    #[test]
    fn limits_and_network_bytes_are_read() {
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax open files  1024  4096  files\nMax address space  unlimited  unlimited  bytes\n";
        assert_eq!(limit(limits, "Max open files"), Some(1024.0));
        assert_eq!(limit(limits, "Max address space"), Some(u64::MAX as f64));
        let netstat =
            "TcpExt: A\nTcpExt: 1\nIpExt: InNoRoutes InOctets OutOctets\nIpExt: 0 12 34\n";
        assert_eq!(parse_netstat(netstat), Some((12.0, 34.0)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_open_files_and_start_time_of_this_process_are_read() {
        let collector = ProcessCollector::new();
        collector.read();
        for gauge in [&collector.resident, &collector.open_files, &collector.start] {
            assert!(gauge.get() > 0.0);
        }
    }
}
