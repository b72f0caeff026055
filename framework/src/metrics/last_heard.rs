use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use prometheus::Gauge;

/// When each of several informers heard its server, by kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard {
    kinds: Arc<Mutex<HashMap<String, Times>>>,
}

/// By a number for each informer.
type Times = HashMap<u64, f64>;

impl Heard {
    pub(super) fn of(&self, kind: &str, gauge: &Gauge) -> LastHeard {
        let id = {
            let mut kinds = self.lock();
            let times = kinds.entry(kind.to_owned()).or_default();
            let id = (0..).find(|id| !times.contains_key(id)).unwrap_or_default();
            times.insert(id, f64::INFINITY);
            id
        };
        LastHeard {
            all: self.clone(),
            gauge: gauge.clone(),
            kind: kind.to_owned(),
            id,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Times>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When one informer last heard its server. Of those of one kind the gauge shows the one that has heard
/// nothing for longest, so that no other hides it. Dropped, it does not count any more.
#[derive(Debug)]
pub struct LastHeard {
    all: Heard,
    gauge: Gauge,
    kind: String,
    id: u64,
}

impl LastHeard {
    /// The server was heard just now: an event, a bookmark or a list.
    pub fn now(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        self.at(now.map(|since| since.as_secs_f64()).unwrap_or_default());
    }

    fn at(&self, time: f64) {
        let mut kinds = self.all.lock();
        if let Some(times) = kinds.get_mut(&self.kind) {
            times.insert(self.id, time);
            self.show(times);
        }
    }

    fn show(&self, times: &Times) {
        // Who has heard nothing yet counts as infinitely late: readiness tells of it.
        let oldest = times.values().copied().fold(f64::INFINITY, f64::min);
        if oldest.is_finite() {
            self.gauge.set(oldest);
        }
    }
}

impl Drop for LastHeard {
    fn drop(&mut self) {
        let mut kinds = self.all.lock();
        if let Some(times) = kinds.get_mut(&self.kind) {
            times.remove(&self.id);
            self.show(times);
            if times.is_empty() {
                kinds.remove(&self.kind);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_informer_that_hears_nothing_is_not_hidden_by_others_of_its_kind() {
        let gauge = Gauge::new("heard", "When").unwrap();
        let heard = Heard::default();
        let (one, other) = (heard.of("pods", &gauge), heard.of("pods", &gauge));
        one.at(10.0);
        other.at(20.0);
        other.at(30.0);
        assert_eq!(gauge.get(), 10.0);
        heard
            .of("nodes", &Gauge::new("other", "When").unwrap())
            .at(1.0);
        drop(one);
        assert_eq!(gauge.get(), 30.0);
        drop(other);
        assert!(heard.lock().is_empty());
    }
}
