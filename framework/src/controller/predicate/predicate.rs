use std::{fmt, sync::Arc};

use super::{change::Change, versions::Version};
use crate::{
    controller::{
        caches::{Lookup, WiredCaches},
        error::Result,
    },
    resource::{Object, ObjectMeta, Selector},
};

/// Decides which changes of an object lead to a reconcile. Predicates are combined from small ones.
///
/// A predicate decides about updates, creations, deletions, or several of them. A change about which no predicate decides
/// passes. So [`generation`](Self::generation), which decides about updates, never drops a creation or a deletion, neither
/// its beginning nor its end, in any combination. To drop those, use [`creations`](Self::creations) and
/// [`deletions`](Self::deletions).
///
/// A predicate that panics is counted, and the change passes. A predicate that looks something up in the caches, for example by an
/// [index](crate::controller::Controller::index), is made by [`changes_with`](Self::changes_with).
///
/// ```
/// use pilothouse::{controller::Predicate, k8s::api::apps::v1::Deployment, resource::Object};
///
/// // Changes of the spec or of a label, but no creations of suspended objects.
/// let predicate = Predicate::<Deployment>::generation()
///     .or(Predicate::labels())
///     .and(Predicate::creations(|web: &Deployment| web.annotation("suspended").is_none()));
/// # let _ = predicate;
/// ```
pub struct Predicate<K> {
    judge: Judge<K>,
}

enum Judge<K> {
    /// Needs only the metadata.
    Metadata(Arc<JudgeOf<ObjectMeta>>),
    Object(Arc<JudgeOf<K>>),
    /// Needs the caches of the wired kinds.
    Caches(Arc<JudgeWith<K>>),
}

type JudgeOf<T> = dyn Fn(&Change<'_, T>) -> Option<bool> + Send + Sync;
type JudgeWith<T> = dyn Fn(&Change<'_, T>, &Lookup<'_>) -> Result<Option<bool>> + Send + Sync;

impl<K: Object> Predicate<K> {
    /// Passes updates for which `holds(old, new)` is true.
    pub fn new(holds: impl Fn(&K, &K) -> bool + Send + Sync + 'static) -> Self {
        Self::changes(about_updates(holds))
    }

    /// As [`new`](Self::new), for a condition that needs only the metadata.
    pub fn metadata(
        holds: impl Fn(&ObjectMeta, &ObjectMeta) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self::metadata_changes(about_updates(holds))
    }

    /// Passes creations of objects for which `holds` is true, including the first list. An object that is being deleted when
    /// it is seen first is not a creation.
    pub fn creations(holds: impl Fn(&K) -> bool + Send + Sync + 'static) -> Self {
        Self::changes(move |change| match change {
            Change::Created { object, .. } => Some(holds(object)),
            _ => None,
        })
    }

    /// Passes deletions, both their beginning and their end, of objects for which `holds` is true.
    ///
    /// For the reconciled kind the end of a deletion always passes. The beginning always passes for an object that was
    /// reconciled, or that has one of the controller's finalizers: the controller has to clean up after it.
    pub fn deletions(holds: impl Fn(&K) -> bool + Send + Sync + 'static) -> Self {
        Self::changes(move |change| match change {
            Change::DeletionBegan { new, .. } => Some(holds(new)),
            Change::Deleted { object } => Some(holds(object)),
            _ => None,
        })
    }

    /// Passes the changes for which `judge` returns true. `None` means that the predicate does not decide about the change.
    pub fn changes(judge: impl Fn(&Change<'_, K>) -> Option<bool> + Send + Sync + 'static) -> Self {
        Self {
            judge: Judge::Object(Arc::new(judge)),
        }
    }

    /// As [`changes`](Self::changes), for a predicate that looks something up in the caches of the wired kinds.
    ///
    /// It is not asked before all wired kinds have synced: until then every change passes, so each object of the first list of
    /// the reconciled kind is reconciled once. If it fails, this is counted and logged, and the change passes.
    ///
    /// A predicate is asked when the object changes. If the answer depends on other objects, watch those too.
    ///
    /// ```
    /// # use pilothouse::{controller::{Controller, Mapping, Predicate, Reconciler, Watched}, k8s::api::core::v1::{Secret, ServiceAccount}};
    /// # use pilothouse::resource::{Object, ObjectKey};
    /// # fn secrets(account: &ServiceAccount) -> Vec<ObjectKey> { Vec::new() }
    /// # fn wire<R: Reconciler<Resource = ServiceAccount>>(controller: Controller<R>) -> Controller<R> {
    /// // Only Secrets that a ServiceAccount names.
    /// let used = Predicate::<Secret>::changes_with(|change, caches| {
    ///     for secret in change.objects() {
    ///         if !caches.indexed(secrets, &secret.key())?.is_empty() {
    ///             return Ok(Some(true));
    ///         }
    ///     }
    ///     Ok(Some(false))
    /// });
    /// # let mapping = Mapping::objects(|secret: &Secret| vec![secret.key()]);
    /// controller.index(secrets).watch(Watched::new(mapping).when(used))
    /// # }
    /// ```
    pub fn changes_with(
        judge: impl Fn(&Change<'_, K>, &Lookup<'_>) -> Result<Option<bool>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            judge: Judge::Caches(Arc::new(judge)),
        }
    }

    fn metadata_changes(
        judge: impl Fn(&Change<'_, ObjectMeta>) -> Option<bool> + Send + Sync + 'static,
    ) -> Self {
        Self {
            judge: Judge::Metadata(Arc::new(judge)),
        }
    }

    /// Passes changes of objects whose labels match `selector`, before the change or after it. So it passes when an object
    /// begins or stops to match. This also decides about creations and deletions.
    pub fn selector(selector: Selector) -> Self {
        let none = Default::default();
        Self::metadata_changes(move |change| {
            let matches =
                |metadata: &ObjectMeta| selector.matches(metadata.labels.as_ref().unwrap_or(&none));
            Some(change.objects().any(matches))
        })
    }

    /// Passes updates that change the generation. A change of the spec changes it, a change of the status or the metadata does
    /// not. Many built-in kinds have no generation; for those every update passes.
    pub fn generation() -> Self {
        Self::metadata(|old, new| old.generation != new.generation || new.generation.is_none())
    }

    /// Passes updates that change the resource version, which is every real update, and no resyncs.
    pub fn resource_version() -> Self {
        Self::metadata_changes(|change| match change {
            Change::Updated { old, new } => Some(old.resource_version != new.resource_version),
            Change::Resync { .. } => Some(false),
            _ => None,
        })
    }

    /// Passes updates that change a label.
    pub fn labels() -> Self {
        Self::metadata(|old, new| old.labels != new.labels)
    }

    /// Passes updates that change an annotation.
    pub fn annotations() -> Self {
        Self::metadata(|old, new| old.annotations != new.annotations)
    }

    /// Passes updates that add or remove a finalizer.
    pub fn finalizers() -> Self {
        Self::metadata(|old, new| old.finalizers != new.finalizers)
    }

    /// Passes changes that both predicates pass. If only one decides about a change, its decision counts.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.with(other, |one, other| one && other)
    }

    /// Passes changes that at least one predicate passes. If only one decides about a change, its decision counts.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        self.with(other, |one, other| one || other)
    }

    fn with(self, other: Self, both: fn(bool, bool) -> bool) -> Self {
        let combine = move |one: Option<bool>, other: Option<bool>| match (one, other) {
            (Some(one), Some(other)) => Some(both(one, other)),
            (one, other) => one.or(other),
        };
        match (self.judge, other.judge) {
            (Judge::Metadata(one), Judge::Metadata(other)) => {
                Self::metadata_changes(move |change| combine(one(change), other(change)))
            }
            (one, other) => {
                let needs_caches = one.needs_caches() || other.needs_caches();
                let (one, other) = (Self { judge: one }, Self { judge: other });
                match needs_caches {
                    false => {
                        Self::changes(move |change| combine(one.judge(change), other.judge(change)))
                    }
                    true => Self::changes_with(move |change, caches| {
                        let (one, other) = (
                            one.judge_with(change, caches)?,
                            other.judge_with(change, caches)?,
                        );
                        Ok(combine(one, other))
                    }),
                }
            }
        }
    }

    /// Passes the changes that this predicate drops, and drops those that it passes. It decides about the same changes.
    #[must_use]
    #[allow(clippy::should_implement_trait)]
    pub fn not(self) -> Self {
        match self.judge {
            Judge::Metadata(judge) => {
                Self::metadata_changes(move |change| judge(change).map(|holds| !holds))
            }
            Judge::Object(judge) => Self::changes(move |change| judge(change).map(|holds| !holds)),
            Judge::Caches(judge) => Self::changes_with(move |change, caches| {
                Ok(judge(change, caches)?.map(|holds| !holds))
            }),
        }
    }

    /// Whether it passes `change`. Returns `None` if it does not decide about such changes, or if it looks something up: this
    /// has no caches.
    pub fn judge(&self, change: &Change<'_, K>) -> Option<bool> {
        match &self.judge {
            Judge::Metadata(judge) => judge(&change.map(Object::metadata)),
            Judge::Object(judge) => judge(change),
            Judge::Caches(_) => None,
        }
    }

    fn judge_with(&self, change: &Change<'_, K>, caches: &Lookup<'_>) -> Result<Option<bool>> {
        match &self.judge {
            Judge::Caches(judge) => judge(change, caches),
            _ => Ok(self.judge(change)),
        }
    }

    /// Whether the predicate reads objects, and not only their metadata.
    pub(crate) fn reads_objects(&self) -> bool {
        !matches!(self.judge, Judge::Metadata(_))
    }

    /// As [`judge`](Self::judge), for versions that may have to be decoded, and with the caches of a controller.
    ///
    /// # Errors
    /// The failure of a predicate that looks something up.
    pub(crate) fn judge_versions(
        &self,
        change: &Change<'_, Version<'_, K>>,
        caches: &WiredCaches,
    ) -> Result<Option<bool>> {
        match &self.judge {
            Judge::Metadata(judge) => Ok(judge(&change.map(Version::metadata))),
            Judge::Caches(_) if !caches.have_synced() => Ok(None),
            // Nothing is decided about an object that turns out not to decode.
            Judge::Object(judge) => Ok(change
                .try_map(Version::object)
                .and_then(|change| judge(&change))),
            Judge::Caches(judge) => match change.try_map(Version::object) {
                Some(change) => judge(&change, &Lookup::new(caches)),
                None => Ok(None),
            },
        }
    }
}

impl<K> Judge<K> {
    fn needs_caches(&self) -> bool {
        matches!(self, Self::Caches(_))
    }
}

/// Decides about updates, and about nothing else.
fn about_updates<T>(holds: impl Fn(&T, &T) -> bool) -> impl Fn(&Change<'_, T>) -> Option<bool> {
    move |change| match change {
        Change::Updated { old, new } => Some(holds(old, new)),
        _ => None,
    }
}

impl<K> Clone for Predicate<K> {
    fn clone(&self) -> Self {
        Self {
            judge: match &self.judge {
                Judge::Metadata(judge) => Judge::Metadata(judge.clone()),
                Judge::Object(judge) => Judge::Object(judge.clone()),
                Judge::Caches(judge) => Judge::Caches(judge.clone()),
            },
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
        Change::updated(old, new, Object::metadata)
    }

    fn created(object: &Deployment, initial: bool) -> Change<'_, Deployment> {
        Change::created(object, initial, Object::metadata)
    }

    #[test]
    fn predicates_can_be_combined() {
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
    fn only_predicates_about_deletions_and_creations_decide_about_them() {
        let (old, dying) = (deployment(1, "a"), dying());
        let object = &dying;
        let changes = || {
            [
                update(&old, object),
                created(object, true),
                Change::Deleted { object },
                created(&old, true),
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
    fn an_object_that_begins_or_stops_to_match_a_selector_passes() {
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
        assert_eq!(selected.judge(&created(&b, false)), Some(false));
        assert_eq!(selected.judge(&Change::Deleted { object: &b }), Some(false));
        assert_eq!(selected.judge(&Change::Deleted { object: &a }), Some(true));
    }
}
