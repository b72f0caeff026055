//! What this process has used so far, and the line that it ends with.

use std::{fs, time::Duration};

use rustix::time::{ClockId, clock_gettime};

/// Processor time of user and system, of all threads, in seconds.
pub fn cpu() -> f64 {
    nanoseconds(ClockId::ProcessCPUTime) as f64 / 1e9
}

/// The monotonic clock: the same for all processes of the machine.
pub fn now() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A line of `/proc/self/status`, in bytes.
pub fn memory(line: &str) -> f64 {
    line_of("/proc/self/status", line) * 1024.0
}

/// How often this thread has gone to sleep: each wait for a lock is one, and being interrupted is none.
pub fn sleeps() -> f64 {
    line_of("/proc/thread-self/status", "voluntary_ctxt_switches")
}

fn line_of(file: &str, name: &str) -> f64 {
    let status = fs::read_to_string(file).unwrap_or_default();
    let line = status.lines().find_map(|text| text.strip_prefix(name));
    let number = line.map(|rest| rest.trim_start_matches(':').trim().trim_end_matches(" kB"));
    number.and_then(|number| number.parse().ok()).unwrap_or(0.0)
}

/// The peak of memory is that of what follows.
pub fn forget_peak() -> std::io::Result<()> {
    fs::write("/proc/self/clear_refs", "5")
}

/// A number that the harness has set.
pub fn setting(name: &str) -> u64 {
    let text = std::env::var(name).unwrap_or_default();
    text.parse()
        .unwrap_or_else(|_| panic!("{name} is to be a number, and is {text:?}"))
}

/// What is measured, under the names by which the harness reads it.
pub struct Results(Vec<(&'static str, f64)>);

impl Results {
    /// What is used before anything is done.
    pub fn begin() -> Self {
        Self(vec![("rss_start", memory("VmRSS"))])
    }

    /// Something was measured.
    pub fn set(&mut self, name: &'static str, value: f64) {
        self.0.push((name, value));
    }

    /// Everything is in the cache, after `time`, and the peer has rested. The harness is to be told next.
    pub fn synced(&mut self, objects: usize, time: Duration, cpu: f64) {
        self.set("objects", objects as f64);
        self.set("sync_seconds", time.as_secs_f64());
        self.set("sync_cpu", cpu);
        self.set("rss_sync", memory("VmRSS"));
        self.set("peak_sync", memory("VmHWM"));
    }

    /// The line that says it all.
    pub fn print(mut self) {
        self.set("peak", memory("VmHWM"));
        let fields = self.0.iter();
        let fields: Vec<_> = fields
            .map(|(name, value)| format!("\"{name}\":{value}"))
            .collect();
        println!("{{{}}}", fields.join(","));
    }
}
