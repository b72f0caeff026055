//! The resources that this process has used, and the last line that it prints.

use std::{fs, time::Duration};

use rustix::time::{ClockId, clock_gettime};

/// Returns the user and system time of all threads in seconds.
pub fn cpu() -> f64 {
    nanoseconds(ClockId::ProcessCPUTime) as f64 / 1e9
}

/// Returns the monotonic clock, which is the same for all processes of the machine.
pub fn now() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the value of a line of `/proc/self/status` in bytes.
pub fn memory(line: &str) -> f64 {
    line_of("/proc/self/status", line) * 1024.0
}

/// Returns how often this thread went to sleep. A wait for a lock counts, an interruption does not.
pub fn sleeps() -> f64 {
    line_of("/proc/thread-self/status", "voluntary_ctxt_switches")
}

/// Returns how often the present threads of this process went to sleep.
pub fn all_sleeps() -> f64 {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten();
    let files = threads.flatten().map(|thread| thread.path().join("status"));
    files
        .map(|file| line_of(&file.to_string_lossy(), "voluntary_ctxt_switches"))
        .sum()
}

fn line_of(file: &str, name: &str) -> f64 {
    let status = fs::read_to_string(file).unwrap_or_default();
    let line = status.lines().find_map(|text| text.strip_prefix(name));
    let number = line.map(|rest| rest.trim_start_matches(':').trim().trim_end_matches(" kB"));
    number.and_then(|number| number.parse().ok()).unwrap_or(0.0)
}

/// Resets the peak of the resident memory.
pub fn forget_peak() -> std::io::Result<()> {
    fs::write("/proc/self/clear_refs", "5")
}

/// Returns a number that the harness has set in the environment.
pub fn setting(name: &str) -> u64 {
    let text = std::env::var(name).unwrap_or_default();
    text.parse()
        .unwrap_or_else(|_| panic!("{name} must be a number, but is {text:?}"))
}

/// The measured values under the names that the harness reads.
pub struct Results(Vec<(&'static str, f64)>);

impl Results {
    /// Records the resources that are used before the work begins.
    pub fn begin() -> Self {
        Self(vec![("rss_start", memory("VmRSS"))])
    }

    /// Records a measured value.
    pub fn set(&mut self, name: &'static str, value: f64) {
        self.0.push((name, value));
    }

    /// Records that the cache was full after `time` and the peer has waited. The caller tells the harness next.
    pub fn synced(&mut self, objects: usize, time: Duration, cpu: f64) {
        self.set("objects", objects as f64);
        self.set("sync_seconds", time.as_secs_f64());
        self.set("sync_cpu", cpu);
        self.set("rss_sync", memory("VmRSS"));
        self.set("peak_sync", memory("VmHWM"));
    }

    /// Prints the line of results.
    pub fn print(mut self) {
        self.set("peak", memory("VmHWM"));
        let fields = self.0.iter();
        let fields: Vec<_> = fields
            .map(|(name, value)| format!("\"{name}\":{value}"))
            .collect();
        println!("{{{}}}", fields.join(","));
    }
}
