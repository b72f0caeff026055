use std::time::Duration;

use tokio::time::Instant;

use super::{Event, Snapshot, random::Random};
use crate::resource::{Object, ObjectKey};

/// When a listener is told again what is there: each object once in each pass, and the passes evenly over
/// their time. Synchronous; it is told the time.
///
/// Nobody is told all at once (client-go tells all in one go), and listeners that began together do not
/// stay together: the times of passes differ by up to a tenth.
#[derive(Debug)]
pub(super) struct Resync {
    period: Duration,
    random: Random,
    pass: Option<Pass>,
}

#[derive(Debug)]
struct Pass {
    /// What is left of it.
    keys: std::vec::IntoIter<ObjectKey>,
    total: usize,
    begins: Instant,
    lasts: Duration,
    /// Not before this is more told.
    next: Instant,
}

impl Resync {
    /// As client-go.
    const SHORTEST: Duration = Duration::from_secs(1);
    /// So many objects are told at once, at most.
    pub(super) const AT_ONCE: usize = 100;
    /// The pause after them, at least.
    const PAUSE: Duration = Duration::from_millis(10);

    pub(super) fn every(period: Duration) -> Self {
        Self {
            period: period.max(Self::SHORTEST),
            random: Random::new(),
            pass: None,
        }
    }

    /// The listener knows what is there: the first pass begins a period later.
    pub(super) fn begin(&mut self, now: Instant) {
        let lasts = self.duration();
        self.pass = Some(Pass::waiting(now, lasts));
    }

    /// When [`take`](Self::take) is to be called next; `None` before it has begun.
    pub(super) fn due(&self) -> Option<Instant> {
        self.pass.as_ref().map(Pass::due)
    }

    /// What is to be told at `now`, as it is there now.
    pub(super) fn take<K: Object>(&mut self, now: Instant, present: &Snapshot<K>) -> Vec<Event<K>> {
        let lasts = self.duration();
        let Some(pass) = &mut self.pass else {
            return Vec::new();
        };
        if pass.is_over(now) {
            let keys: Vec<_> = present.iter().map(|(key, _)| key.clone()).collect();
            *pass = Pass {
                total: keys.len(),
                keys: keys.into_iter(),
                begins: now,
                lasts,
                next: now,
            };
        }
        let keys = pass.take(now);
        let entries = keys.filter_map(|key| present.entry(&key));
        let objects = entries.filter_map(|entry| entry.object().ok());
        objects.map(|object| Event::Resync { object }).collect()
    }

    fn duration(&mut self) -> Duration {
        self.random.duration(self.period.mul_f64(0.9)..self.period)
    }
}

impl Pass {
    /// One of nothing: the time before the first.
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
        let told = self.total - self.keys.len();
        let share = match self.total {
            0 => 1.0,
            total => told as f64 / total as f64,
        };
        self.next.max(self.begins + self.lasts.mul_f64(share))
    }

    fn is_over(&self, now: Instant) -> bool {
        self.keys.len() == 0 && now >= self.begins + self.lasts
    }

    /// The keys whose time has come.
    fn take(&mut self, now: Instant) -> impl Iterator<Item = ObjectKey> {
        let share = (now - self.begins).div_duration_f64(self.lasts).min(1.0);
        let due = (self.total as f64 * share) as usize + 1;
        let told = self.total - self.keys.len();
        let count = due.saturating_sub(told).min(Resync::AT_ONCE);
        self.next = now + Resync::PAUSE;
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

    /// What is told within `time`, and when, of a resync that is asked as soon as it is due.
    fn told(
        resync: &mut Resync,
        store: &Store<ConfigMap>,
        time: Duration,
    ) -> Vec<(Instant, usize)> {
        let start = Instant::now();
        resync.begin(start);
        let mut told = Vec::new();
        while let Some(due) = resync.due().filter(|due| *due < start + time) {
            told.push((due, resync.take(due, store.working()).len()));
        }
        told
    }

    #[test]
    fn each_object_is_told_once_per_period_and_never_many_at_once() {
        let (store, mut resync) = (store(50), Resync::every(PERIOD));
        let mut times = BTreeMap::<String, Vec<Instant>>::new();
        let start = Instant::now();
        resync.begin(start);
        while let Some(due) = resync.due().filter(|due| *due < start + PERIOD * 10) {
            let events = resync.take(due, store.working());
            assert!(events.len() <= 1, "nothing waits: they come one by one");
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
    fn those_that_begin_together_do_not_stay_together() {
        let store = store(3);
        let firsts = (0..5).map(|_| told(&mut Resync::every(PERIOD), &store, PERIOD * 2)[0].0);
        let mut firsts: Vec<_> = firsts.collect();
        firsts.sort();
        firsts.dedup();
        assert_eq!(firsts.len(), 5);
    }

    #[test]
    fn more_than_fits_into_the_period_takes_longer_and_comes_no_faster() {
        let store = store(1000);
        let mut resync = Resync::every(Duration::ZERO);
        let start = Instant::now();
        resync.begin(start);
        // It was kept waiting for an hour.
        let mut now = start + Duration::from_secs(3600);
        let (mut all, mut turns) = (0, 0);
        while all < 1000 {
            now = now.max(resync.due().unwrap());
            let count = resync.take(now, store.working()).len();
            assert!(count <= Resync::AT_ONCE);
            now += Duration::from_secs(1);
            (all, turns) = (all + count, turns + 1);
        }
        assert!(turns >= 10, "{turns}");
    }

    #[test]
    fn nothing_to_tell_costs_one_look_per_period() {
        let told = told(&mut Resync::every(PERIOD), &store(0), PERIOD * 10);
        assert!((9..=12).contains(&told.len()), "{}", told.len());
    }
}
