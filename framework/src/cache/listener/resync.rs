use std::time::Duration;

use tokio::time::Instant;

use crate::{
    backoff::Jitter,
    cache::{Event, Snapshot},
    resource::{Object, ObjectKey},
};

/// When a listener receives unchanged objects again: each object once in each pass, spread evenly over the time of
/// the pass. Synchronous; the caller passes the time.
///
/// The objects never come all at once, as they do in client-go. Listeners that begin together do not stay together:
/// the lengths of passes differ by up to a tenth.
#[derive(Debug)]
pub(in crate::cache) struct ResyncSchedule {
    period: Duration,
    jitter: Jitter,
    pass: Option<ResyncPass>,
}

#[derive(Debug)]
struct ResyncPass {
    /// The objects that are left.
    keys: std::vec::IntoIter<ObjectKey>,
    total: usize,
    begins: Instant,
    lasts: Duration,
    /// Nothing is delivered before this time.
    next: Instant,
}

impl ResyncSchedule {
    /// The minimum of client-go.
    const SHORTEST: Duration = Duration::from_secs(1);
    /// At most this many objects are delivered at once.
    pub(super) const AT_ONCE: usize = 100;
    /// The minimum pause after them.
    const PAUSE: Duration = Duration::from_millis(10);

    pub(super) fn every(period: Duration) -> Self {
        Self {
            period: period.max(Self::SHORTEST),
            jitter: Jitter::random(),
            pass: None,
        }
    }

    /// The listener has received all objects: the first pass begins one period later.
    pub(super) fn begin(&mut self, now: Instant) {
        let lasts = self.duration();
        self.pass = Some(ResyncPass::waiting(now, lasts));
    }

    /// When [`take`](Self::take) must be called next; `None` before [`begin`](Self::begin).
    pub(super) fn due(&self) -> Option<Instant> {
        self.pass.as_ref().map(ResyncPass::due)
    }

    /// The events that are due at `now`, with the objects as they are now.
    pub(super) fn take<K: Object>(&mut self, now: Instant, present: &Snapshot<K>) -> Vec<Event<K>> {
        let lasts = self.duration();
        let Some(pass) = &mut self.pass else {
            return Vec::new();
        };
        if pass.is_over(now) {
            let keys: Vec<_> = present.iter().map(|(key, _)| key.clone()).collect();
            *pass = ResyncPass {
                total: keys.len(),
                keys: keys.into_iter(),
                begins: now,
                lasts,
                next: now,
            };
        }
        let keys = pass.take(now);
        let entries = keys.filter_map(|key| present.entry(&key));
        let decodable = entries.filter(|entry| entry.undecodable().is_none());
        let objects = decodable.cloned();
        objects.map(|object| Event::Resync { object }).collect()
    }

    fn duration(&mut self) -> Duration {
        self.jitter.between(self.period.mul_f64(0.9)..self.period)
    }
}

impl ResyncPass {
    /// A pass without objects: the time before the first pass.
    fn waiting(now: Instant, lasts: Duration) -> Self {
        Self {
            keys: Vec::new().into_iter(),
            total: 0,
            begins: now,
            lasts,
            next: now,
        }
    }

    fn due(&self) -> Instant {
        let delivered = self.total - self.keys.len();
        let share = match self.total {
            0 => 1.0,
            total => delivered as f64 / total as f64,
        };
        self.next.max(self.begins + self.lasts.mul_f64(share))
    }

    fn is_over(&self, now: Instant) -> bool {
        self.keys.len() == 0 && now >= self.begins + self.lasts
    }

    /// The keys that are due.
    fn take(&mut self, now: Instant) -> impl Iterator<Item = ObjectKey> {
        let share = (now - self.begins).div_duration_f64(self.lasts).min(1.0);
        let due = (self.total as f64 * share) as usize + 1;
        let delivered = self.total - self.keys.len();
        let count = due.saturating_sub(delivered).min(ResyncSchedule::AT_ONCE);
        self.next = now + ResyncSchedule::PAUSE;
        self.keys.by_ref().take(count)
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;
    use crate::cache::{Store, fake::object};

    const PERIOD: Duration = Duration::from_secs(100);

    fn store(objects: u64) -> Store<ConfigMap> {
        let mut store = Store::new();
        for number in 0..objects {
            let object = object("default", &format!("o{number}"), "u", number, &[]);
            store.insert(object.key(), Arc::new(object));
        }
        store
    }

    /// When events are due within `time`, and how many, if each part is taken as soon as it is due.
    fn deliveries(
        resync: &mut ResyncSchedule,
        store: &Store<ConfigMap>,
        time: Duration,
    ) -> Vec<(Instant, usize)> {
        let start = Instant::now();
        resync.begin(start);
        let mut delivered = Vec::new();
        while let Some(due) = resync.due().filter(|due| *due < start + time) {
            delivered.push((due, resync.take(due, store.working()).len()));
        }
        delivered
    }

    #[test]
    fn each_object_is_delivered_once_per_period_and_never_many_at_once() {
        let (store, mut resync) = (store(50), ResyncSchedule::every(PERIOD));
        let mut times = BTreeMap::<String, Vec<Instant>>::new();
        let start = Instant::now();
        resync.begin(start);
        while let Some(due) = resync.due().filter(|due| *due < start + PERIOD * 10) {
            let events = resync.take(due, store.working());
            assert!(
                events.len() <= 1,
                "nothing delays them: they come one by one"
            );
            for event in events {
                times.entry(event.key().to_string()).or_default().push(due);
            }
        }
        assert_eq!(times.len(), 50);
        for times in times.values() {
            assert!(times[0] >= start + PERIOD.mul_f64(0.9));
            assert!((8..=10).contains(&times.len()), "{}", times.len());
            for pair in times.windows(2) {
                let apart = (pair[1] - pair[0]).div_duration_f64(PERIOD);
                assert!((0.8..1.1).contains(&apart), "{apart}");
            }
        }
    }

    #[test]
    fn schedules_that_begin_together_do_not_stay_together() {
        let store = store(3);
        let firsts =
            (0..5).map(|_| deliveries(&mut ResyncSchedule::every(PERIOD), &store, PERIOD * 2)[0].0);
        let mut firsts: Vec<_> = firsts.collect();
        firsts.sort();
        firsts.dedup();
        assert_eq!(firsts.len(), 5);
    }

    #[test]
    fn more_objects_than_fit_into_the_period_take_longer_and_come_no_faster() {
        let store = store(1000);
        let mut resync = ResyncSchedule::every(Duration::ZERO);
        let start = Instant::now();
        resync.begin(start);
        // The caller was an hour late.
        let mut now = start + Duration::from_secs(3600);
        let (mut all, mut turns) = (0, 0);
        while all < 1000 {
            now = now.max(resync.due().unwrap());
            let count = resync.take(now, store.working()).len();
            assert!(count <= ResyncSchedule::AT_ONCE);
            now += Duration::from_secs(1);
            (all, turns) = (all + count, turns + 1);
        }
        assert!(turns >= 10, "{turns}");
    }

    #[test]
    fn an_empty_cache_costs_one_check_per_period() {
        let delivered = deliveries(&mut ResyncSchedule::every(PERIOD), &store(0), PERIOD * 10);
        assert!((9..=12).contains(&delivered.len()), "{}", delivered.len());
    }
}
