use std::{
    any::TypeId,
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{Context, Error, owner_mark::OwnerMark, write::told};
use crate::resource::{ApiResource, ObjectKey, Resource};

impl<K: Resource> Context<K> {
    /// Makes a `child` be as it is written here that no owner reference can reach: in another
    /// namespace than the reconciled object, or cluster-scoped while that is not. Returns it as the
    /// server has it.
    ///
    /// As [`apply`](Self::apply), but instead of a reference the child bears its owner in the label
    /// [`OWNER_UID_LABEL`](super::OWNER_UID_LABEL) and the annotation
    /// [`OWNER_ANNOTATION`](super::OWNER_ANNOTATION). Its changes lead to reconciles of the owner;
    /// when that is deleted, the finalizer deletes the child and waits until it is gone.
    ///
    /// An object of that name that nobody owns is taken over. Before the first apply the server is asked
    /// whether there is one, since two owners may want the same and the cache can be behind.
    ///
    /// # Errors
    /// [`Error::NotWired`] if `wire` does not say `.owns_detached::<C>()`; [`Error::NoFinalizer`] if it
    /// asks for no finalizer; [`Error::OwnedByAnother`]; else as [`apply`](Self::apply).
    pub async fn apply_detached<C: Resource>(&self, mut child: C) -> Result<C, Error> {
        let verb = "apply_detached";
        let declared = self.shared.children.of::<C>().filter(|one| one.detached);
        let cache = declared.and_then(|_| self.cache::<C>());
        let cache = cache.ok_or(Error::NotWired {
            verb,
            kind: C::KIND,
            line: "owns_detached",
        })?;
        let owner = self.owner(verb)?;
        let key = self.place(verb, &mut child)?;
        if self.shared.finalizers.is_empty() {
            let group = Some(K::GROUP).filter(|group| !group.is_empty());
            return Err(Error::NoFinalizer {
                kind: C::KIND,
                child: key,
                finalizer: format!(
                    "{}/{}",
                    group.unwrap_or("example.com"),
                    K::KIND.to_lowercase()
                ),
            });
        }
        let watched = &self.shared.namespaces;
        if let Some(namespace) = key.namespace()
            && !watched.is_empty()
            && !watched.contains(namespace)
        {
            return Err(Error::NotWatched {
                kind: C::KIND,
                child: key,
                watched: watched.iter().cloned().collect::<Vec<_>>().join(", "),
            });
        }
        let mark = OwnerMark::of(&**owner).map_err(|source| Error::Owner {
            kind: C::KIND,
            source,
        })?;
        let written = mark.put(child.metadata_mut());
        let resource = ApiResource::of::<C>();
        written.map_err(|source| Error::serialize(verb, &resource, &key, source))?;

        let ours = |present: &C| OwnerMark::on(present.metadata()).as_ref() == Some(&mark);
        let cached = cache.get(&key).ok().flatten();
        if cached.is_some_and(|present| ours(&present)) || self.has_applied::<C>(&key) {
            return self.apply_as(verb, &cache, child, key, None).await;
        }
        let id = (TypeId::of::<C>(), key.clone());
        let Some(_claim) = self.shared.claims.claim(id) else {
            return Err(Error::OwnedByAnother {
                verb,
                kind: C::KIND,
                child: key,
                owner: "an object whose reconcile applies it just now".into(),
            });
        };
        let present = self.api_of::<C>(&key).metadata().get_opt(key.name()).await;
        let present = present.map_err(|error| told(verb, error))?;
        if let Some(present) = &present {
            self.check_owner::<C>(verb, &**owner, present)?;
        }
        let version = present.and_then(|present| present.metadata.resource_version);
        self.apply_as(verb, &cache, child, key, version).await
    }

    /// Whether this process has applied that child for the reconciled object.
    fn has_applied<C: Resource>(&self, key: &ObjectKey) -> bool {
        let id = (TypeId::of::<C>(), key.clone());
        let states = &self.shared.hub.states;
        let known = states.with(&self.key, |state| state.applied.contains_key(&id));
        known.unwrap_or(false)
    }
}

/// The children that are applied for the first time just now: of two owners that both find nothing on
/// the server only one goes on.
#[derive(Debug, Default)]
pub(super) struct Claims {
    children: Mutex<HashSet<(TypeId, ObjectKey)>>,
}

/// A claim, until it is dropped.
struct Claim<'a> {
    claims: &'a Claims,
    child: (TypeId, ObjectKey),
}

impl Claims {
    fn claim(&self, child: (TypeId, ObjectKey)) -> Option<Claim<'_>> {
        let claims = self;
        let free = self.lock().insert(child.clone());
        free.then_some(Claim { claims, child })
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<(TypeId, ObjectKey)>> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.claims.lock().remove(&self.child);
    }
}
