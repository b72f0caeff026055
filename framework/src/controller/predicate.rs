use std::{fmt, sync::Arc};

use super::Change;
use crate::resource::{Object, Selector};

/// Which changes of an object are worth a reconcile; small ones are put together.
///
/// A predicate has a say about updates, or creations, or deletions, or several of them; what nobody
/// has a say about passes. So [`generation`](Self::generation), which is about updates, swallows no
/// creation and no deletion, neither its beginning nor its end, however it is combined: to leave
/// out those, say so with [`creations`](Self::creations) and [`deletions`](Self::deletions).
///
/// One that panics is counted, and the change passes.
///
/// ```
/// use pilothouse::{controller::Predicate, k8s::api::apps::v1::Deployment, resource::Object};
///
/// // Changes of the spec or of a label; nothing of objects that come into being suspended.
/// let predicate = Predicate::<Deployment>::generation()
///     .or(Predicate::labels())
///     .and(Predicate::creations(|web: &Deployment| web.annotation("suspended").is_none()));
/// # let _ = predicate;
/// ```
pub struct Predicate<K> {
    judge: Arc<Judge<K>>,
}

type Judge<K> = dyn Fn(&Change<'_, K>) -> Option<bool> + Send + Sync;

impl<K: Object> Predicate<K> {
    /// Updates for which `holds(old, new)`.
    pub fn new(holds: impl Fn(&K, &K) -> bool + Send + Sync + 'static) -> Self {
        Self::changes(move |change| match change {
            Change::Updated { old, new } => Some(holds(old, new)),
            _ => None,
        })
    }

    /// Creations of objects for which `holds`, the first list included. An object that is being
    /// deleted when it is seen first is no creation.
    pub fn creations(holds: impl Fn(&K) -> bool + Send + Sync + 'static) -> Self {
        Self::changes(move |change| match change {
            Change::Created { object, .. } => Some(holds(object)),
            _ => None,
        })
    }

    /// Deletions, their beginning and their end, of objects for which `holds`.
    ///
    /// Of the reconciled kind the end always counts, and so does the beginning for an object that
    /// has been reconciled or that one of the controller's finalizers keeps: what is kept of it has
    /// to go.
    pub fn deletions(holds: impl Fn(&K) -> bool + Send + Sync + 'static) -> Self {
        Self::changes(move |change| match change {
            Change::DeletionBegan { new, .. } => Some(holds(new)),
            Change::Deleted { object } => Some(holds(object)),
            _ => None,
        })
    }

    /// Any change, as `judge` says; `None` is to have no say about it.
    pub fn changes(judge: impl Fn(&Change<'_, K>) -> Option<bool> + Send + Sync + 'static) -> Self {
        Self {
            judge: Arc::new(judge),
        }
    }

    /// Objects whose labels are those that `selector` means. That one enters or leaves counts:
    /// before the change or after it the labels have to match. This has a say about creations and
    /// deletions, too.
    pub fn selector(selector: Selector) -> Self {
        let none = Default::default();
        Self::changes(move |change| {
            let matches = |object: &K| {
                let labels = object.metadata().labels.as_ref();
                selector.matches(labels.unwrap_or(&none))
            };
            Some(change.objects().any(matches))
        })
    }

    /// The generation changed: the spec did, but neither status nor metadata. Many built-in kinds
    /// have no generation; for those every update passes.
    pub fn generation() -> Self {
        Self::new(|old, new| {
            let (old, new) = (old.metadata().generation, new.metadata().generation);
            old != new || new.is_none()
        })
    }

    /// The resource version changed: anything did.
    pub fn resource_version() -> Self {
        Self::changes(|change| match change {
            Change::Updated { old, new } => Some(old.resource_version() != new.resource_version()),
            Change::Resync { .. } => Some(false),
            _ => None,
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

    /// Both hold; what only one has a say about is as that one says.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.with(other, |one, other| one && other)
    }

    /// At least one holds; what only one has a say about is as that one says.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        self.with(other, |one, other| one || other)
    }

    fn with(self, other: Self, both: fn(bool, bool) -> bool) -> Self {
        Self::changes(
            move |change| match (self.judge(change), other.judge(change)) {
                (Some(one), Some(other)) => Some(both(one, other)),
                (one, other) => one.or(other),
            },
        )
    }

    /// It does not hold. What it has no say about it still has no say about.
    #[must_use]
    #[allow(clippy::should_implement_trait)]
    pub fn not(self) -> Self {
        Self::changes(move |change| self.judge(change).map(|holds| !holds))
    }

    /// Whether it holds for `change`; `None` if it has no say about such.
    pub fn judge(&self, change: &Change<'_, K>) -> Option<bool> {
        (self.judge)(change)
    }
}

impl<K> Clone for Predicate<K> {
    fn clone(&self) -> Self {
        Self {
            judge: self.judge.clone(),
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
    use k8s_openapi::{
        api::apps::v1::Deployment, apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp,
    };

    fn deployment(generation: i64, label: &str) -> Deployment {
        let mut deployment = Deployment::default();
        deployment.metadata.generation = Some(generation);
        deployment.metadata.labels = Some([("app".to_owned(), label.to_owned())].into());
        deployment
    }

    fn dying() -> Deployment {
        let mut dying = deployment(2, "a");
        dying.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        dying
    }

    fn update<'a>(old: &'a Deployment, new: &'a Deployment) -> Change<'a, Deployment> {
        Change::updated(old, new)
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
            let found = [&either, &both, &neither].map(|one| one.judge(&update(&old, &new)));
            assert_eq!(found, [expected.0, expected.1, expected.2].map(Some));
        }
    }

    #[test]
    fn deletions_and_creations_are_left_to_those_who_ask_about_them() {
        let (old, dying) = (deployment(1, "a"), dying());
        let object = &dying;
        let changes = || {
            [
                Change::updated(&old, object),
                Change::created(object, true),
                Change::Deleted { object },
                Change::created(&old, true),
            ]
        };
        for predicate in [
            Predicate::generation(),
            Predicate::labels().not(),
            Predicate::generation().and(Predicate::finalizers()),
            Predicate::annotations().or(Predicate::resource_version().not()),
        ] {
            assert_eq!(changes().map(|change| predicate.judge(&change)), [None; 4]);
        }
        let deletions = Predicate::generation().or(Predicate::deletions(|_| false));
        let found = changes().map(|change| deletions.judge(&change));
        assert_eq!(found, [Some(false), Some(false), Some(false), None]);
        let creations = Predicate::creations(|_| false).and(Predicate::labels());
        let found = changes().map(|change| creations.judge(&change));
        assert_eq!(found, [None, None, None, Some(false)]);
    }

    #[test]
    fn an_object_that_enters_or_leaves_a_selection_counts() {
        let selected = Predicate::selector(Selector::default().eq("app", "a"));
        let (a, b) = (deployment(1, "a"), deployment(1, "b"));
        for (old, new, expected) in [
            (&a, &a, true),
            (&a, &b, true),
            (&b, &a, true),
            (&b, &b, false),
        ] {
            assert_eq!(selected.judge(&update(old, new)), Some(expected));
        }
        assert_eq!(selected.judge(&Change::created(&b, false)), Some(false));
        assert_eq!(selected.judge(&Change::Deleted { object: &b }), Some(false));
        assert_eq!(selected.judge(&Change::Deleted { object: &a }), Some(true));
    }
}
