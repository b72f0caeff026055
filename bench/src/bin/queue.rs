//! Measures the operations of a workqueue and compares them with a plain queue of sets behind a lock.
//!
//! The plain queue is client-go's without delays, priorities, groups, metrics and waiting workers: a
//! mutex around a set of dirty keys, a set of running keys, and a FIFO. Delayed keys are compared
//! with a sorted map and a hash map, with one deadline per key, behind a mutex.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    hint::black_box,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use pilothouse::queue::WorkQueue;

type Key = Arc<str>;

const KEYS: usize = 100_000;
const ROUNDS: usize = 15;

#[derive(Default)]
struct Plain {
    dirty: HashSet<Key>,
    running: HashSet<Key>,
    line: VecDeque<Key>,
}

impl Plain {
    fn add(&mut self, key: Key) {
        if self.dirty.insert(key.clone()) && !self.running.contains(&key) {
            self.line.push_back(key);
        }
    }

    fn get(&mut self) -> Option<Key> {
        let key = self.line.pop_front()?;
        self.running.insert(key.clone());
        self.dirty.remove(&key);
        Some(key)
    }

    fn done(&mut self, key: &Key) {
        self.running.remove(key);
        if self.dirty.contains(key) {
            self.line.push_back(key.clone());
        }
    }
}

/// Returns the nanoseconds per key.
fn timed(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64 / KEYS as f64
}

/// Measures add, add again, get and done, each once per key.
fn plain(keys: &[Key]) -> [f64; 4] {
    let queue = Mutex::new(Plain::default());
    let lock = || queue.lock().unwrap_or_else(|error| error.into_inner());
    let add = timed(|| keys.iter().for_each(|key| lock().add(key.clone())));
    let again = timed(|| keys.iter().for_each(|key| lock().add(key.clone())));
    let mut taken = Vec::with_capacity(KEYS);
    let get = timed(|| {
        while let Some(key) = { lock().get() } {
            taken.push(key);
        }
    });
    let done = timed(|| taken.iter().for_each(|key| lock().done(key)));
    [add, again, get, done]
}

fn ours(queue: &WorkQueue<Key>, keys: &[Key]) -> [f64; 4] {
    let add = timed(|| keys.iter().for_each(|key| queue.add(key.clone())));
    let again = timed(|| keys.iter().for_each(|key| queue.add(key.clone())));
    let mut taken = Vec::with_capacity(KEYS);
    let get = timed(|| {
        while let Some(Some(work)) = queue.get().now_or_never() {
            taken.push(work);
        }
    });
    let done = timed(|| taken.into_iter().for_each(|work| work.done()));
    [add, again, get, done]
}

fn plain_delayed(keys: &[Key]) -> f64 {
    let line = Mutex::new((BTreeMap::new(), HashMap::new()));
    timed(|| {
        for (number, key) in keys.iter().enumerate() {
            let when = Instant::now() + delay(number);
            let mut line = line.lock().unwrap_or_else(|error| error.into_inner());
            line.1.entry(key.clone()).or_insert((when, number));
            line.0.insert((when, number), key.clone());
        }
        black_box(&line);
    })
}

fn ours_delayed(queue: &WorkQueue<Key>, keys: &[Key]) -> f64 {
    timed(|| {
        for (number, key) in keys.iter().enumerate() {
            queue.add_after(key.clone(), delay(number));
        }
    })
}

fn namespace(key: &Key) -> &str {
    key.split('/').next().unwrap_or_default()
}

/// Returns a delay of up to an hour, in no particular order.
fn delay(number: usize) -> Duration {
    Duration::from_millis(60_000 + number as u64 * 7_919 % 3_540_000)
}

fn report(what: &str, plain: f64, ours: f64) {
    println!("| {what} | {plain:.0} | {ours:.0} | {:.2} |", ours / plain);
}

fn main() {
    let keys: Vec<Key> = (0..KEYS)
        .map(|number| format!("team-{}/application-{number}", number % 50).into())
        .collect();
    let one_group = WorkQueue::new;
    let fifty_groups = || WorkQueue::builder().group_by(namespace).build();

    // The rounds alternate and the best of each counts, because other work on the machine only adds time.
    let mut best = [[f64::MAX; 4]; 3];
    let mut delayed = [f64::MAX; 2];
    for _ in 0..ROUNDS {
        let round = [
            plain(&keys),
            ours(&one_group(), &keys),
            ours(&fifty_groups(), &keys),
        ];
        for (best, times) in best.iter_mut().flatten().zip(round.iter().flatten()) {
            *best = best.min(*times);
        }
        let round = [plain_delayed(&keys), ours_delayed(&one_group(), &keys)];
        for (best, time) in delayed.iter_mut().zip(round) {
            *best = best.min(time);
        }
    }
    println!("| {KEYS} keys, ns each | plain | pilothouse | ratio |\n| --- | --- | --- | --- |");
    let [plain, one, fifty] = best;
    for (groups, ours) in [("one group", one), ("50 groups", fifty)] {
        let operations = ["add", "add again", "get", "done"];
        for (operation, (plain, ours)) in operations.iter().zip(plain.into_iter().zip(ours)) {
            report(&format!("{operation}, {groups}"), plain, ours);
        }
        let sum = |times: [f64; 4]| times.iter().sum();
        report(&format!("all four, {groups}"), sum(plain), sum(ours));
    }
    report("add after a delay", delayed[0], delayed[1]);
}
