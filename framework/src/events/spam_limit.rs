use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use super::{reporter::Reporter, target::Target};

/// Limits what one reporter does about one object: 25 times at once, and once more every 300 s, as in client-go.
///
/// One limit is for new series. Another one is for new notes of existing series that are written at once. Repeated
/// events have no limit.
#[derive(Debug, Default)]
pub(super) struct SpamLimit {
    /// For each source that has used some of its 25: when it will have all of them again.
    full_at: HashMap<Arc<Source>, Duration>,
    by_time: BTreeSet<(Duration, Arc<Source>)>,
}

/// A reporter and the object that its events are about.
pub(super) type Source = (Arc<Reporter>, Target);

impl SpamLimit {
    /// How often it may be done at once.
    pub(super) const BURST: u32 = 25;
    /// The time after which it may be done once more.
    pub(super) const REFILL: Duration = Duration::from_secs(300);
    /// The number of sources that are remembered. Beyond that, the source that has used least is forgotten.
    const SOURCES: usize = 4096;

    /// Takes one from the limit of `source`. Returns `false` if nothing is left.
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
        (Arc::new(reporter), Target::from_ref(&object))
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn each_object_gets_25_series_at_once_and_one_more_every_five_minutes() {
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
    fn unused_sources_are_forgotten_and_their_number_is_bounded() {
        let mut limit = SpamLimit::default();
        for number in 0..5000 {
            assert!(limit.take(seconds(0), source(&number.to_string())));
        }
        assert_eq!(limit.len(), 4096);
        assert!(limit.take(seconds(300), source("late")));
        assert_eq!(limit.len(), 1);
    }
}
