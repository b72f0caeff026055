use std::{fmt, sync::Arc};

use crate::resource::Object;

/// Which changes of an object are worth a reconcile; small ones are put together.
///
/// It is asked about changes only. That an object appeared, that its deletion began and that it is
/// gone always count. One that panics is counted, and the change passes.
pub struct Predicate<K> {
    holds: Arc<Test<K>>,
}

type Test<K> = dyn Fn(&K, &K) -> bool + Send + Sync;

impl<K: Object> Predicate<K> {
    /// Changes for which `holds(old, new)`.
    pub fn new(holds: impl Fn(&K, &K) -> bool + Send + Sync + 'static) -> Self {
        Self {
            holds: Arc::new(holds),
        }
    }

    /// The generation changed: the spec did, but neither status nor metadata. Many built-in kinds
    /// have no generation; for those every change passes.
    pub fn generation() -> Self {
        Self::new(|old, new| {
            let (old, new) = (old.metadata().generation, new.metadata().generation);
            old != new || new.is_none()
        })
    }

    /// A label changed.
    pub fn labels() -> Self {
        Self::new(|old, new| old.metadata().labels != new.metadata().labels)
    }

    /// An annotation changed.
    pub fn annotations() -> Self {
        Self::new(|old, new| old.metadata().annotations != new.metadata().annotations)
    }

    /// A finalizer was added or removed.
    pub fn finalizers() -> Self {
        Self::new(|old, new| old.metadata().finalizers != new.metadata().finalizers)
    }

    /// Both hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::new(move |old, new| self.holds(old, new) && other.holds(old, new))
    }

    /// At least one holds.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::new(move |old, new| self.holds(old, new) || other.holds(old, new))
    }

    /// It does not hold.
    #[must_use]
    #[allow(clippy::should_implement_trait)]
    pub fn not(self) -> Self {
        Self::new(move |old, new| !self.holds(old, new))
    }

    /// Whether the change from `old` to `new` counts.
    pub fn holds(&self, old: &K, new: &K) -> bool {
        (self.holds)(old, new)
    }
}

impl<K> Clone for Predicate<K> {
    fn clone(&self) -> Self {
        Self {
            holds: self.holds.clone(),
        }
    }
}

impl<K> fmt::Debug for Predicate<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Predicate").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::apps::v1::Deployment;

    fn deployment(generation: i64, label: &str) -> Deployment {
        let mut deployment = Deployment::default();
        deployment.metadata.generation = Some(generation);
        deployment.metadata.labels = Some([("app".to_owned(), label.to_owned())].into());
        deployment
    }

    #[test]
    fn predicates_are_put_together() {
        let either = Predicate::generation().or(Predicate::labels());
        let both = Predicate::generation().and(Predicate::labels());
        let neither = either.clone().not();
        for (new, expected) in [
            (deployment(1, "a"), (false, false, true)),
            (deployment(2, "a"), (true, false, false)),
            (deployment(2, "b"), (true, true, false)),
        ] {
            let old = deployment(1, "a");
            let found = (
                either.holds(&old, &new),
                both.holds(&old, &new),
                neither.holds(&old, &new),
            );
            assert_eq!(found, expected);
        }
    }
}
