use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use super::{reporter::Reporter, target::Target};

/// How many different events one source may record about one object: 25 at once, and one more every
/// 300 s, as client-go has it. What only repeats costs nothing.
#[derive(Debug, Default)]
pub(super) struct SpamLimit {
    /// For each source that has not all of its 25 left: when it will have.
    full_at: HashMap<Arc<Source>, Duration>,
    by_time: BTreeSet<(Duration, Arc<Source>)>,
}

/// Who records about which object.
pub(super) type Source = (Arc<Reporter>, Target);

impl SpamLimit {
    /// How many may come at once.
    pub(super) const BURST: u32 = 25;
    /// How long it takes until one more may come.
    pub(super) const REFILL: Duration = Duration::from_secs(300);
    /// How many sources are remembered; beyond that those are forgotten which have most left.
    const SOURCES: usize = 4096;

    /// Whether `source` may have one more, which is then taken.
    pub(super) fn take(&mut self, now: Duration, source: Source) -> bool {
        while self.by_time.first().is_some_and(|(full, _)| *full <= now) {
            self.forget_fullest();
        }
        let source = Arc::new(source);
        let known = self.full_at.get(&source).copied();
        let full_at = known.unwrap_or(now) + Self::REFILL;
        if full_at > now + Self::REFILL * Self::BURST {
            return false;
        }
        match known {
            Some(known) => drop(self.by_time.remove(&(known, source.clone()))),
            None if self.full_at.len() >= Self::SOURCES => self.forget_fullest(),
            None => {}
        }
        self.by_time.insert((full_at, source.clone()));
        self.full_at.insert(source, full_at);
        true
    }

    fn forget_fullest(&mut self) {
        if let Some((_, source)) = self.by_time.pop_first() {
            self.full_at.remove(&source);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        assert_eq!(self.full_at.len(), self.by_time.len());
        self.full_at.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{ApiResource, ObjectKey, ObjectRef};
    use k8s_openapi::api::core::v1::ConfigMap;

    fn source(name: &str) -> Source {
        let reporter = Reporter {
            controller: "c".into(),
            instance: "i".into(),
        };
        let object = ObjectRef::new(
            ApiResource::of::<ConfigMap>(),
            ObjectKey::namespaced("default", name),
        );
        (Arc::new(reporter), Target::named(&object))
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn twenty_five_at_once_then_one_every_five_minutes_for_each_object() {
        let mut limit = SpamLimit::default();
        let granted = (0..100).filter(|_| limit.take(seconds(0), source("a")));
        assert_eq!(granted.count(), 25);
        assert!(limit.take(seconds(0), source("b")), "another object");
        assert!(!limit.take(seconds(299), source("a")));
        assert!(limit.take(seconds(300), source("a")));
        assert!(!limit.take(seconds(301), source("a")));
        assert!(limit.take(seconds(900), source("a")));
        assert!(limit.take(seconds(900), source("a")));
        assert!(!limit.take(seconds(900), source("a")));
    }

    #[test]
    fn who_has_all_left_is_forgotten_and_the_number_of_sources_is_bounded() {
        let mut limit = SpamLimit::default();
        for number in 0..5000 {
            assert!(limit.take(seconds(0), source(&number.to_string())));
        }
        assert_eq!(limit.len(), 4096);
        assert!(limit.take(seconds(300), source("late")));
        assert_eq!(limit.len(), 1);
    }
}
