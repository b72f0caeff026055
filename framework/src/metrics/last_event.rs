use std::{
    collections::HashMap,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use parking_lot::Mutex;
use prometheus::Gauge;

/// For each kind, when each of its informers last received something from the API server.
#[derive(Clone, Debug, Default)]
pub(super) struct LastEvents {
    kinds: Arc<Mutex<HashMap<String, Times>>>,
}

/// The times of the informers of one kind, by a number for each informer.
type Times = HashMap<u64, f64>;

impl LastEvents {
    pub(super) fn of(&self, kind: &str, gauge: &Gauge) -> LastEvent {
        let id = {
            let mut kinds = self.kinds.lock();
            let times = kinds.entry(kind.to_owned()).or_default();
            let id = (0..).find(|id| !times.contains_key(id)).unwrap_or_default();
            times.insert(id, f64::INFINITY);
            id
        };
        LastEvent {
            all: self.clone(),
            gauge: gauge.clone(),
            kind: kind.to_owned(),
            id,
        }
    }
}

/// Records when one informer last received something from the API server. The gauge of a kind shows
/// the oldest time of its informers, so that no informer hides a silent one. When the value is dropped,
/// its informer does not count any more.
#[derive(Debug)]
pub(crate) struct LastEvent {
    all: LastEvents,
    gauge: Gauge,
    kind: String,
    id: u64,
}

impl LastEvent {
    /// Records that an event, a bookmark or a list arrived now.
    pub(crate) fn record_now(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        self.record(now.map(|since| since.as_secs_f64()).unwrap_or_default());
    }

    fn record(&self, time: f64) {
        let mut kinds = self.all.kinds.lock();
        if let Some(times) = kinds.get_mut(&self.kind) {
            times.insert(self.id, time);
            self.show(times);
        }
    }

    fn show(&self, times: &Times) {
        // An informer that has received nothing yet counts as infinitely late. Readiness reports it.
        let oldest = times.values().copied().fold(f64::INFINITY, f64::min);
        if oldest.is_finite() {
            self.gauge.set(oldest);
        }
    }
}

impl Drop for LastEvent {
    fn drop(&mut self) {
        let mut kinds = self.all.kinds.lock();
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
    fn the_gauge_shows_the_informer_with_the_oldest_event() {
        let gauge = Gauge::new("last_events", "When").unwrap();
        let last_events = LastEvents::default();
        let (one, other) = (
            last_events.of("pods", &gauge),
            last_events.of("pods", &gauge),
        );
        one.record(10.0);
        other.record(20.0);
        other.record(30.0);
        assert_eq!(gauge.get(), 10.0);
        last_events
            .of("nodes", &Gauge::new("other", "When").unwrap())
            .record(1.0);
        drop(one);
        assert_eq!(gauge.get(), 30.0);
        drop(other);
        assert!(last_events.kinds.lock().is_empty());
    }
}
