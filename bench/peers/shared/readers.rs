//! Somebody who reads from a cache all the time.

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

/// A thread that gets random objects, and takes the time of each. After each it does nothing for as long: what that takes
/// longer is the machine's doing, and no cache's.
pub struct Reader {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Result<Times, String>>,
}

/// What the thread has seen.
#[derive(Default)]
struct Times {
    gets: Histogram,
    /// To look at the clock until as much time has passed as the get before took.
    idle: Histogram,
    /// How often the thread slept.
    sleeps: f64,
}

/// So long it does nothing at most, in nanoseconds: after a get that was interrupted it would else be as long by itself.
const LONGEST_IDLE: u64 = 10_000;

impl Reader {
    /// Gets by these keys. That one finds nothing is an error: all objects are there all the time.
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
                    return Err(format!("{key:?} is not there"));
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

    /// All has been listed again.
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

/// A resource version as a number.
pub fn version(text: Option<&str>) -> u64 {
    let text = text.unwrap_or_default();
    text.parse()
        .unwrap_or_else(|_| panic!("a resource version that is no number: {text:?}"))
}
