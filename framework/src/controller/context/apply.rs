use std::any::Any;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{apply_body::body, child::Child, context::Context, send::with_verb};
use crate::{
    cache::Lister,
    client::{Api, EncodedObject, Patch, PatchParams},
    controller::{
        applied_fields::{APPLIED_ANNOTATION, contains, field_set},
        error::Error,
        owners::{OwnerMark, is_annotated_by},
        reconcilable::Reconcilable,
        state::{Applied, ChildId, KeyState, Written, child_id},
    },
    resource::{
        ApiResource, CanOwn, Object, ObjectKey, ObjectMeta, OwnerReference, PartialObject,
        Resource, control, controller_of,
    },
};

/// The verb of an apply in errors.
const APPLY: &str = "apply";

/// Server-side apply of children.
impl<K: Reconcilable> Context<K> {
    /// Applies `child` with the reconciled object as its owner. Returns the child as the server has it.
    ///
    /// This is a forced server-side apply with the operator's name as the field manager. Fields that `child` has belong to
    /// the operator. Fields that an earlier apply had and this one has not are removed. All other fields stay as they are.
    /// The controller reference is set. An empty namespace becomes the namespace of the reconciled object. Fields that only the
    /// server writes (UID, resource version, managed fields, …) are left out.
    ///
    /// An existing object that is not controlled by the reconciled object is an error and stays as it is, unless this operator
    /// has applied it as a child before (`metadata.managedFields`): then it lost its owner reference, and gets it back.
    /// [`adopt`](Self::adopt) and [`Child::adopting`] take over an object without a controller.
    ///
    /// Whether an object exists is read from the cache. So an object that somebody creates at the same moment may be taken
    /// over, as long as the watch has not delivered it. The server is asked before the first
    /// apply in a namespace that the operator does not watch, and of a kind whose cache has a selector.
    ///
    /// No request is sent if the body equals the last body that this process applied and the cached child is still as
    /// that apply left it. So a reconcile of an unchanged object sends nothing.
    ///
    /// No request is sent either if another process applied the child and only fields of others, such as the status, have
    /// changed since. So a restart with nothing changed sends nothing. Two conditions must hold:
    ///
    /// * The annotation [`APPLIED_ANNOTATION`](crate::controller::APPLIED_ANNOTATION), which each apply writes, shows that
    ///   the same fields were applied.
    /// * Each field of the body equals the field of the cached child. Quantities are compared by their amount, list items
    ///   by the keys by which the server merges them.
    ///
    /// In case of doubt the apply is sent: if only the metadata of the kind is cached, if a transform removes fields from
    /// the cache, if the child has fields of others where an apply replaces the whole. For kinds that are not built into
    /// Kubernetes there is such a doubt wherever an object has a field that the body has not. An upgrade of the operator
    /// that writes other fields, another field manager or another API version leads to one write per child.
    ///
    /// The event of the write leads to no further reconcile if the call succeeds, applies the child once, and reads no object of its
    /// kind ([R2](crate#guarantees)). So use the returned object, and not [`get`](Self::get), to learn how the child is.
    ///
    /// [`ready_or_wait`](crate::resource::HasReadiness::ready_or_wait) on the answer ends the reconcile until the child is ready.
    ///
    /// [`apply_child`](Self::apply_child) applies detached children and children of kinds known only at run time.
    ///
    /// # Errors
    /// * [`Error::NotWired`] if `wire` does not declare `.owns::<C>()`.
    /// * [`Error::NoName`], [`Error::NoNamespace`], [`Error::OtherNamespace`] if the child's name or namespace is wrong.
    /// * [`Error::OwnedByAnother`] if another object owns the child.
    /// * [`Error::NotAdopted`] if the child exists, belongs to nobody, and was never applied by this operator.
    /// * [`Error::Gone`] if the reconciled object is gone.
    /// * [`Error::BeingDeleted`] if the reconciled object is being deleted and the garbage collector deletes or orphans its
    ///   children: a child that the garbage collector has released is not taken back.
    /// * [`Error::Client`] if the request failed.
    pub async fn apply<C: Resource>(&self, child: C) -> Result<C, Error>
    where
        K::Scope: CanOwn<C::Scope>,
    {
        let mut child = Child::new(child);
        if let Some(cache) = self.cache::<C>() {
            return self.apply_owned(&cache, &mut child).await;
        }
        // The metadata is enough to know the owner and the version.
        if let Some(cache) = self.cache::<PartialObject<C>>() {
            return self.apply_owned(&cache, &mut child).await;
        }
        Err(child.not_wired(APPLY))
    }

    /// Applies a [`Child`] as [`apply`](Self::apply) does, with its options: detached, or of a kind known only at run time.
    ///
    /// # Errors
    /// As [`apply`](Self::apply), and:
    /// * [`Error::NotWired`] if `wire` does not declare the kind with the same options.
    /// * [`Error::OtherKind`] if the object names another kind than its `ApiResource`.
    /// * [`Error::OtherScope`] if the child is cluster-scoped, the reconciled object is not, and the child is not detached.
    /// * [`Error::NoFinalizer`] if the child is detached and `wire` declares no finalizer.
    /// * [`Error::NotWatched`] if the child is detached and in a namespace that the operator does not watch.
    pub async fn apply_child<C>(&self, mut child: Child<C>) -> Result<C, Error>
    where
        C: Object + Serialize + DeserializeOwned + Clone,
    {
        if child.detached {
            return self.apply_detached(&mut child).await;
        }
        let resource = &child.resource;
        let caches = &self.shared.controller.caches;
        if let Some(cache) = caches.get::<C>(resource) {
            return self.apply_owned(&cache, &mut child).await;
        }
        if let Some(cache) = caches.get::<PartialObject>(resource) {
            return self.apply_owned(&cache, &mut child).await;
        }
        Err(child.not_wired(APPLY))
    }

    /// The child is borrowed. If it were passed from future to future, each of them would have room for it.
    async fn apply_owned<C, P: Object>(
        &self,
        cache: &Lister<P>,
        child: &mut Child<C>,
    ) -> Result<C, Error>
    where
        C: Object + Serialize + DeserializeOwned + Clone,
    {
        let verb = APPLY;
        let is_owned = self.shared.controller.caches.is_owned(&child.resource);
        let not_owned = (!is_owned).then(|| child.not_wired(verb));
        let Child {
            resource,
            object: child,
            adopting,
            ..
        } = child;
        let owner = self.owner(verb)?;
        let key = self.prepare(verb, resource, child)?;
        self.check_namespace(verb, resource, child)?;
        // Its changes would lead to no reconcile.
        if let Some(error) = not_owned {
            return Err(error);
        }
        let controlled = control(self.resource(), owner.metadata(), child.metadata_mut());
        controlled.map_err(|source| Error::Owner {
            kind: resource.kind.clone(),
            source,
        })?;
        let present = cache.get(&key).ok().flatten();
        if let Some(present) = &present {
            self.check_owner(verb, resource, &**owner, &**present)?;
        }
        if owner.is_deleting() && is_released(&**owner, present.as_deref()) {
            return Err(Error::BeingDeleted {
                verb,
                kind: self.kind(),
                key: self.key.clone(),
            });
        }
        let is_known = match &present {
            Some(present) => belongs_to_an_owner(present.metadata()),
            // An object that does not decode counts as present.
            None if cache.contains(&key) => false,
            None => {
                self.is_watched(&key) && !cache.is_selective()
                    || self.has_applied(&child_id::<C>(resource, &key))
            }
        };
        if !is_known && !*adopting {
            // The cache may be behind an adoption, or may never have the child.
            let present = self.on_server(verb, resource, &key).await?;
            let adopt = "`cx.adopt(&object)` or `Child::new(..).adopting()`";
            self.check_ours(verb, resource, &**owner, present.as_ref(), adopt)?;
        }
        self.apply_unless_unchanged(verb, resource, cache, child, key, None)
            .await
    }

    /// The metadata of an object as the server has it, with the managed fields.
    pub(super) async fn on_server(
        &self,
        verb: &'static str,
        resource: &ApiResource,
        key: &ObjectKey,
    ) -> Result<Option<PartialObject>, Error> {
        let api = self.api_in::<PartialObject>(resource, key);
        let present = api.with_managed_fields().get_opt(key.name()).await;
        present.map_err(|error| with_verb(verb, error))
    }

    /// Whether the caches hold the objects in the namespace of `key`.
    fn is_watched(&self, key: &ObjectKey) -> bool {
        let watched = &self.shared.namespaces;
        let namespace = key.namespace();
        watched.is_empty() || namespace.is_none_or(|namespace| watched.contains(namespace))
    }

    /// Whether this process has applied this child for the reconciled object.
    pub(super) fn has_applied(&self, id: &ChildId) -> bool {
        let key_states = &self.shared.controller.key_states;
        let known = key_states.with(&self.key, |state| {
            let applied = state.applied.get(id);
            applied.is_some_and(|applied| applied.written.is_some())
        });
        known.unwrap_or(false)
    }

    /// Applies a child that is complete, unless it is known to be as an apply would leave it. With `version` the apply
    /// succeeds only if the server has this version of the child.
    pub(super) async fn apply_unless_unchanged<C, P: Object>(
        &self,
        verb: &'static str,
        resource: &ApiResource,
        cache: &Lister<P>,
        child: &mut C,
        key: ObjectKey,
        version: Option<String>,
    ) -> Result<C, Error>
    where
        C: Object + Serialize + DeserializeOwned + Clone,
    {
        let first = self.requested.note(resource, &key);
        let wanted = body(verb, child, resource, &key)?;
        let fingerprint = self.shared.fingerprints.of(&wanted);

        let id = child_id::<C>(resource, &key);
        if let Some(present) = self.unchanged::<C, P>(resource, &id, fingerprint, cache) {
            self.shared.controller.metrics.writes_skipped.inc();
            return Ok(present);
        }
        let failed = |source| Error::serialize(verb, resource, &key, source);
        let present = cache.get(&key).ok().flatten();
        let mark = field_set(&self.shared.field_manager, resource, &wanted).map_err(failed)?;
        let fits = has_room_for_annotation(child, present.as_deref());
        // The cache may still have the child as it was before a write of this run.
        if first
            && fits
            && let Some(present) = &present
            && self.may_be_as_applied(&id, fingerprint, &**present)
            && let Some(present) = as_applied::<C, P>(resource, &mark, &wanted, present)
        {
            self.remember(id, fingerprint, &present, None);
            self.shared.controller.metrics.writes_skipped.inc();
            return Ok(present);
        }
        let metadata = child.metadata_mut();
        if fits {
            let annotations = metadata.annotations.get_or_insert_default();
            annotations.insert(APPLIED_ANNOTATION.to_owned(), mark);
        }
        metadata.resource_version = version;
        let wanted = body(verb, child, resource, &key)?;
        let patch = Patch::ApplyBytes(wanted.into());
        let api = self.api_in::<C>(resource, &key);
        let params = self.forced();
        let call = api.call("patch", Some(key.name()), None);
        let send = api.patch_with_answer(call, &params, &patch);
        let (answer, encoded): (C, _) = self.write(verb, resource, &key, send).await?;
        self.remember(id, fingerprint, &answer, Some(encoded));
        Ok(answer)
    }

    /// The API for objects of the kind `resource` in the namespace of `key`.
    pub(crate) fn api_in<C>(&self, resource: &ApiResource, key: &ObjectKey) -> Api<C> {
        Api::of(&self.shared.client, resource.clone(), key.namespace())
    }

    /// Completes a child: sets its types, sets the namespace of the reconciled object if it has none, and removes the
    /// fields that only the server writes. Returns its key.
    pub(super) fn prepare<C: Object>(
        &self,
        verb: &'static str,
        resource: &ApiResource,
        child: &mut C,
    ) -> Result<ObjectKey, Error> {
        child.fill_types(resource);
        if child.name().is_empty() {
            return Err(Error::NoName {
                kind: resource.kind.clone(),
            });
        }
        if resource.namespaced && child.namespace().is_none() {
            let key = self.key_beside(verb, resource, child.name())?;
            child.metadata_mut().namespace = key.namespace().map(str::to_owned);
        }
        let metadata = child.metadata_mut();
        metadata.managed_fields = None;
        metadata.resource_version = None;
        metadata.uid = None;
        metadata.creation_timestamp = None;
        metadata.generation = None;
        if let Some(annotations) = &mut metadata.annotations {
            // It came from a child that was read, or from an object of which this child is a copy.
            annotations.remove(APPLIED_ANNOTATION);
            if annotations.is_empty() {
                metadata.annotations = None;
            }
        }
        Ok(child.key())
    }

    /// Refuses a child that the reconciled object cannot own: a namespaced object owns only objects in its namespace.
    pub(crate) fn check_namespace<C: Object>(
        &self,
        verb: &'static str,
        resource: &ApiResource,
        child: &C,
    ) -> Result<(), Error> {
        let is_namespaced = self.resource().namespaced;
        if is_namespaced && !resource.namespaced {
            return Err(Error::OtherScope {
                verb,
                kind: resource.kind.clone(),
                child: child.key(),
                owner: self.key.clone(),
            });
        }
        if is_namespaced && child.namespace() != self.key.namespace() {
            return Err(Error::OtherNamespace {
                verb,
                kind: resource.kind.clone(),
                child: child.key(),
                owner: self.key.clone(),
            });
        }
        Ok(())
    }

    /// Refuses an object that another object controls, or that is the detached child of another object.
    pub(crate) fn check_owner(
        &self,
        verb: &'static str,
        resource: &ApiResource,
        owner: &K,
        present: &impl Object,
    ) -> Result<(), Error> {
        let controller = controller_of(present.metadata())
            .filter(|controller| Some(&*controller.uid) != owner.uid())
            .map(|controller| format!("{} {}", controller.kind, controller.name));
        let ours =
            OwnerMark::of(self.resource(), owner.metadata()).map_err(|source| Error::Owner {
                kind: resource.kind.clone(),
                source,
            })?;
        // The mark of a former object of the same name does not count: that object is gone. Our label alone is what is left if
        // somebody removed the annotation.
        let mark = OwnerMark::on(present.metadata())
            .filter(|mark| mark.uid != ours.uid && !mark.is_at_the_place_of(&ours))
            .map(|mark| mark.to_string());
        match controller.or(mark) {
            None => Ok(()),
            Some(owner) => Err(Error::OwnedByAnother {
                verb,
                kind: resource.kind.clone(),
                child: present.key(),
                owner,
            }),
        }
    }

    /// As [`check_owner`](Self::check_owner), and refuses an object that belongs to nobody and that this operator never
    /// applied. `adopt` says how to take it over.
    pub(super) fn check_ours(
        &self,
        verb: &'static str,
        resource: &ApiResource,
        owner: &K,
        present: Option<&PartialObject>,
        adopt: &'static str,
    ) -> Result<(), Error> {
        let Some(present) = present else {
            return Ok(());
        };
        self.check_owner(verb, resource, owner, present)?;
        // A child that lost its owner, or whose owner was deleted without it and created again.
        let was_ours = is_annotated_by(
            &self.shared.field_manager,
            APPLIED_ANNOTATION,
            present.metadata(),
        );
        match was_ours || belongs_to_an_owner(present.metadata()) {
            true => Ok(()),
            false => Err(Error::NotAdopted {
                verb,
                kind: resource.kind.clone(),
                child: present.key(),
                owner: format!("{} {}", self.resource().kind, self.key),
                adopt,
            }),
        }
    }

    /// The child as it is now, if this process applied this body and the child has not changed since.
    fn unchanged<C, P: Object>(
        &self,
        resource: &ApiResource,
        id: &ChildId,
        body: u128,
        cache: &Lister<P>,
    ) -> Option<C>
    where
        C: Object + DeserializeOwned + Clone,
    {
        // One snapshot, so that the child and the version of the collection belong together.
        let snapshot = cache.snapshot();
        let cached = snapshot.get(&id.3).ok()?;
        let child = cached.as_ref().and_then(|child| child.resource_version());
        let controller = &self.shared.controller;
        // The cache may not have our write yet. If somebody changed the child after it, another reconcile follows, as long
        // as read-your-writes waits for the cache.
        let mut cache_is_behind = false;
        let with = |state: &mut KeyState| {
            let applied = state.applied.get_mut(id)?;
            let written = applied.written.as_ref()?;
            if written.body != body {
                return None;
            }
            let version = &written.version;
            let known = match &cached {
                Some(cached) if child == Some(version) => {
                    let whole: &dyn Any = &**cached;
                    if let Some(whole) = whole.downcast_ref::<C>() {
                        applied.answer = None;
                        Known::Cached(whole)
                    } else {
                        // Only the metadata of the kind is cached: only the answer has the whole object.
                        Known::Answered(applied.answer.clone()?)
                    }
                }
                _ if is_behind(snapshot.resource_version(), child, version) => {
                    cache_is_behind = true;
                    Known::Answered(applied.answer.clone()?)
                }
                _ => return None,
            };
            applied.run = self.run;
            Some(known)
        };
        let known = controller.key_states.with(&self.key, with).flatten()?;
        if cache_is_behind && !controller.writes.awaits(&self.key, resource, &id.3) {
            return None;
        }
        match known {
            Known::Cached(whole) => Some(whole.clone()),
            Known::Answered(answer) => answer.read(),
        }
    }

    /// Whether the cached child may be as this body leaves it: this process has not applied the child before, or it applied
    /// the same body and the cached child is newer.
    fn may_be_as_applied(&self, id: &ChildId, body: u128, present: &impl Object) -> bool {
        let key_states = &self.shared.controller.key_states;
        let may_be = key_states.with(&self.key, |state| {
            let Some(applied) = state.applied.get(id) else {
                return true;
            };
            applied.written.as_ref().is_some_and(|written| {
                let present = present.resource_version().unwrap_or_default();
                written.body == body && is_older(Some(&written.version), present)
            })
        });
        may_be.unwrap_or(true)
    }

    fn remember<C: Object>(
        &self,
        id: ChildId,
        body: u128,
        answer: &C,
        kept: Option<EncodedObject>,
    ) {
        let Some(version) = answer.resource_version() else {
            return;
        };
        let written = Written {
            body,
            version: version.to_owned(),
        };
        let applied = Applied {
            written: Some(written),
            answer: kept,
            run: self.run,
        };
        let key_states = &self.shared.controller.key_states;
        key_states.with(&self.key, |state| state.applied.insert(id, applied));
    }

    pub(crate) fn forced(&self) -> PatchParams {
        PatchParams::apply(self.shared.field_manager.as_str()).force()
    }
}

/// Whether the garbage collector deletes or orphans the children of `owner`, which is being deleted, or has already
/// orphaned this child. If the child became a child of `owner` again, it would be deleted together with it.
fn is_released<K: Object, C: Object>(owner: &K, child: Option<&C>) -> bool {
    let finalizers = owner.metadata().finalizers.as_deref().unwrap_or_default();
    let mut finalizers = finalizers.iter();
    let owners = child.map(|child| child.metadata().owner_references.as_deref());
    let is_ours = |owners: Option<&[OwnerReference]>| {
        let mut owners = owners.unwrap_or_default().iter();
        owners.any(|one| Some(&*one.uid) == owner.uid())
    };
    finalizers.any(|one| one == "orphan" || one == "foregroundDeletion")
        || owners.is_some_and(|owners| !is_ours(owners))
}

/// Whether an object names an owner: by a controller reference, or by the mark of a detached child.
fn belongs_to_an_owner(object: &ObjectMeta) -> bool {
    controller_of(object).is_some() || OwnerMark::on(object).is_some()
}

/// Where a child that is as it was applied can be read.
enum Known<'a, C> {
    Cached(&'a C),
    Answered(EncodedObject),
}

/// The cached child, if an apply of `wanted` with the annotation `mark` would certainly change nothing in it.
fn as_applied<C, P: Object>(
    resource: &ApiResource,
    mark: &str,
    wanted: &[u8],
    present: &P,
) -> Option<C>
where
    C: Object + Serialize + Clone,
{
    if present.annotation(APPLIED_ANNOTATION) != Some(mark) {
        return None;
    }
    // `None` if the cache holds only the metadata: then the rest cannot be compared.
    let present: &dyn Any = present;
    let present = present.downcast_ref::<C>()?;
    let whole = !C::PARTIAL || C::METADATA_ONLY;
    let wanted: Value = serde_json::from_slice(wanted).ok()?;
    let child = serde_json::to_value(present).ok()?;
    contains(resource, whole, &wanted, &child).then(|| present.clone())
}

/// The API server accepts at most this many bytes in all annotations of an object.
const MOST_ANNOTATIONS: usize = 256 << 10;
/// The largest size of our annotation.
const ROOM: usize = 128;

/// Whether the child has room for our annotation. Otherwise the API server would refuse the apply because of it.
fn has_room_for_annotation<C: Object, P: Object>(child: &C, present: Option<&P>) -> bool {
    let of = |metadata: &ObjectMeta| {
        let all = metadata.annotations.iter().flatten();
        all.map(|(name, value)| name.len() + value.len())
            .sum::<usize>()
    };
    let present = present.map_or(0, |present| of(present.metadata()));
    of(child.metadata()) + present + ROOM <= MOST_ANNOTATIONS
}

/// Whether a cache has not reached `version` of the child yet. `collection` is the version of the cache's collection,
/// `child` the version of its child, if it has one. Both count: during a list the objects are ahead of their collection, and
/// the cache reports a change of the child only once.
fn is_behind(collection: Option<&str>, child: Option<&str>, version: &str) -> bool {
    is_older(collection, version) && child.is_none_or(|child| is_older(Some(child), version))
}

/// Whether `version` is older than `other`. Returns `false` for resource versions that are not numbers: they have no order.
fn is_older(version: Option<&str>, other: &str) -> bool {
    let number = |text: &str| text.parse::<u64>().ok();
    match (version.and_then(number), number(other)) {
        (Some(version), Some(other)) => version < other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_that_holds_a_later_version_of_the_child_is_not_behind() {
        for (collection, child, expected) in [
            (Some("10"), None, true),
            (Some("10"), Some("12"), true),
            // The watch has reached it.
            (Some("20"), Some("12"), false),
            (Some("30"), None, false),
            // A list is under way and has delivered a change by somebody else.
            (Some("10"), Some("25"), false),
            // These versions have no order.
            (None, None, false),
            (Some("a"), Some("b"), false),
            (Some("10"), Some("b"), false),
        ] {
            let found = is_behind(collection, child, "20");
            assert_eq!(found, expected, "{collection:?} {child:?}");
        }
    }
}
