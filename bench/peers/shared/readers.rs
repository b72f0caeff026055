//! A thread that reads from a cache all the time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

use super::{
    histogram::Histogram,
    process::{Results, forget_peak, memory, now, sleeps},
};

/// A thread that gets random objects and measures the time of each get. After each get it runs an idle loop of the same
/// length. The machine causes the delays of that loop, not the cache.
pub struct Reader {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Result<Times, String>>,
}

/// The times that the thread measured.
#[derive(Default)]
struct Times {
    gets: Histogram,
    /// The durations of the idle loops, which look at the clock for as long as the get before took.
    idle: Histogram,
    /// How often the thread slept.
    sleeps: f64,
}

/// The longest idle loop in nanoseconds. Without a limit, the loop after an interrupted get would be just as long.
const LONGEST_IDLE: u64 = 10_000;

impl Reader {
    /// Starts to get these keys. A get that finds nothing is an error, because all objects exist all the time.
    pub fn start<K: Send + std::fmt::Debug + 'static>(
        keys: Vec<K>,
        get: impl Fn(&K) -> bool + Send + 'static,
    ) -> std::io::Result<Self> {
        forget_peak()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let thread = std::thread::spawn(move || {
            let (mut times, mut random) = (Times::default(), 1_u64);
            let slept = sleeps();
            let mut before = now();
            while !over.load(Ordering::Relaxed) {
                // xorshift64
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let key = &keys[(random % keys.len() as u64) as usize];
                if !get(key) {
                    return Err(format!("the cache has no {key:?}"));
                }
                let got = now();
                times.gets.add(got - before);
                let enough = got + (got - before).min(LONGEST_IDLE);
                before = now();
                while before < enough {
                    before = now();
                }
                times.idle.add(before - got);
            }
            times.sleeps = sleeps() - slept;
            Ok(times)
        });
        Ok(Self { is_over, thread })
    }

    /// Stops the reader after the relist and reports its times.
    pub fn end(self, results: &mut Results) -> Result<(), String> {
        results.set("peak_relist", memory("VmHWM"));
        self.is_over.store(true, Ordering::Relaxed);
        let times = self.thread.join().map_err(|_| "the reader panicked")??;
        results.set("read_sleeps", times.sleeps);
        results.set("reads", times.gets.count() as f64);
        results.set("read_p50", times.gets.microseconds(0.5));
        results.set("read_p99", times.gets.microseconds(0.99));
        results.set("read_p9999", times.gets.microseconds(0.9999));
        results.set("read_max", times.gets.microseconds(1.0));
        results.set("idle_p9999", times.idle.microseconds(0.9999));
        Ok(())
    }
}

/// Returns a resource version as a number.
pub fn version(text: Option<&str>) -> u64 {
    let text = text.unwrap_or_default();
    text.parse()
        .unwrap_or_else(|_| panic!("the resource version is not a number: {text:?}"))
}
