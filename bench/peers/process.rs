// What this process has used so far, and the line that it ends with. Shared by the peers in Rust.

use std::{fs, time::Duration};

/// Processor time of user and system, in seconds.
pub fn cpu() -> f64 {
    // The kernel counts in nanoseconds, but tells of the whole process only in ticks of 10 ms.
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default();
    let ticks: u64 = fields
        .split(' ')
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    ticks as f64 / 100.0
}

/// A line of `/proc/self/status`, in bytes.
pub fn memory(line: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|text| text.strip_prefix(line));
    let kibibytes = line.and_then(|rest| rest.trim_start_matches(':').trim().strip_suffix(" kB"));
    kibibytes
        .and_then(|number| number.trim().parse().ok())
        .unwrap_or(0_u64)
        * 1024
}

/// A number that the harness has set.
pub fn setting(name: &str) -> u64 {
    let text = std::env::var(name).unwrap_or_default();
    text.parse()
        .unwrap_or_else(|_| panic!("{name} is to be a number, and is {text:?}"))
}

/// What is measured, field by field as the harness reads it.
#[derive(Default)]
pub struct Results {
    pub objects: u64,
    pub sync_seconds: f64,
    pub sync_cpu: f64,
    pub rss_start: u64,
    pub rss_sync: u64,
    pub peak_sync: u64,
    pub events: u64,
    pub events_seconds: f64,
    pub events_cpu: f64,
    pub rss_events: u64,
    pub peak: u64,
}

impl Results {
    /// What is used before anything is done.
    pub fn begin() -> Self {
        Self {
            rss_start: memory("VmRSS"),
            ..Self::default()
        }
    }

    /// Everything is in the cache, after `time`. Tells the harness, which asks the server for events then.
    pub fn synced(&mut self, objects: usize, time: Duration, cpu: f64) {
        self.objects = objects as u64;
        self.sync_seconds = time.as_secs_f64();
        self.sync_cpu = cpu;
        self.rss_sync = memory("VmRSS");
        self.peak_sync = memory("VmHWM");
        println!("synced");
    }

    /// The line that says it all.
    pub fn print(mut self) {
        self.rss_events = memory("VmRSS");
        self.peak = memory("VmHWM");
        println!(
            "{{\"objects\":{},\"sync_seconds\":{},\"sync_cpu\":{},\"rss_start\":{},\"rss_sync\":{},\
             \"peak_sync\":{},\"events\":{},\"events_seconds\":{},\"events_cpu\":{},\"rss_events\":{},\"peak\":{}}}",
            self.objects,
            self.sync_seconds,
            self.sync_cpu,
            self.rss_start,
            self.rss_sync,
            self.peak_sync,
            self.events,
            self.events_seconds,
            self.events_cpu,
            self.rss_events,
            self.peak
        );
    }
}
