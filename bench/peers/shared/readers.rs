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

/// A thread that gets random objects, one after the other without a pause, and takes the time of each.
pub struct Reader {
    is_over: Arc<AtomicBool>,
    /// How long each took, and how often the thread slept.
    thread: JoinHandle<Result<(Histogram, f64), String>>,
}

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
            let (mut waits, mut random) = (Histogram::default(), 1_u64);
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
                let after = now();
                waits.add(after - before);
                before = after;
            }
            Ok((waits, sleeps() - slept))
        });
        Ok(Self { is_over, thread })
    }

    /// All has been listed again.
    pub fn end(self, results: &mut Results) -> Result<(), String> {
        results.set("peak_relist", memory("VmHWM"));
        self.is_over.store(true, Ordering::Relaxed);
        let (waits, slept) = self.thread.join().map_err(|_| "the reader panicked")??;
        results.set("read_sleeps", slept);
        results.set("reads", waits.count() as f64);
        results.set("read_p50", waits.microseconds(0.5));
        results.set("read_p99", waits.microseconds(0.99));
        results.set("read_p9999", waits.microseconds(0.9999));
        results.set("read_max", waits.microseconds(1.0));
        Ok(())
    }
}

/// A resource version as a number.
pub fn version(text: Option<&str>) -> u64 {
    let text = text.unwrap_or_default();
    text.parse()
        .unwrap_or_else(|_| panic!("a resource version that is no number: {text:?}"))
}
