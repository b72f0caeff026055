//! Measures gets from a full cache that nothing changes.

use super::{
    histogram::Histogram,
    process::{Results, now},
};

/// The number of objects that are read again and again, and how often.
const AGAIN: usize = 100;
const TIMES: usize = 100_000;

/// Gets each key once, and then a few of them again and again.
pub fn measure<K: std::fmt::Debug>(
    results: &mut Results,
    mut keys: Vec<K>,
    get: impl Fn(&K) -> bool,
) -> Result<(), String> {
    let count = once(results, ["asleep_p50", "asleep_p99"], &mut keys, &get)?;
    results.set("gets", count as f64);
    keys.truncate(AGAIN);
    let again = gets(keys.iter().cycle().take(TIMES), &get)?;
    results.set("awake_p50", again.microseconds(0.5));
    results.set("awake_p99", again.microseconds(0.99));
    Ok(())
}

/// Gets each key once, in a random order, and reports the median and the 99th percentile under these names. Returns the number of gets. A get that
/// finds nothing is an error.
pub fn once<K: std::fmt::Debug>(
    results: &mut Results,
    [median, high]: [&'static str; 2],
    keys: &mut [K],
    get: &impl Fn(&K) -> bool,
) -> Result<u64, String> {
    shuffle(keys);
    let times = gets(keys.iter(), get)?;
    results.set(median, times.microseconds(0.5));
    results.set(high, times.microseconds(0.99));
    Ok(times.count())
}

fn gets<'a, K: std::fmt::Debug + 'a>(
    keys: impl Iterator<Item = &'a K>,
    get: &impl Fn(&K) -> bool,
) -> Result<Histogram, String> {
    let mut times = Histogram::default();
    for key in keys {
        let before = now();
        let found = get(key);
        times.add(now() - before);
        if !found {
            return Err(format!("the cache has no {key:?}"));
        }
    }
    Ok(times)
}

fn shuffle<K>(keys: &mut [K]) {
    let mut random = 1_u64;
    for place in (1..keys.len()).rev() {
        // xorshift64
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        keys.swap(place, (random % (place as u64 + 1)) as usize);
    }
}
