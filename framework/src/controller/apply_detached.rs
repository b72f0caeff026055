use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::{Serialize, de::DeserializeOwned};

use super::{
    Context, Error,
    applied::{ChildId, child_id},
    owner_mark::OwnerMark,
    write::told,
};
use crate::{
    cache::Lister,
    resource::{ApiResource, Object, PartialObject, Resource},
};

impl<K: Resource> Context<K> {
    /// Makes a `child` be as it is written here that no owner reference can reach: in another
    /// namespace than the reconciled object, or cluster-scoped while that is not. Returns it as the
    /// server has it.
    ///
    /// As [`apply`](Self::apply), but instead of a reference the child bears its owner in the label
    /// [`OWNER_UID_LABEL`](super::OWNER_UID_LABEL) and the annotation
    /// [`OWNER_ANNOTATION`](super::OWNER_ANNOTATION). Its changes lead to reconciles of the owner;
    /// when that is deleted, the finalizer deletes the child and waits until it is gone. Where somebody
    /// removed the finalizer by force, the child stays, until an object of the owner's name is reconciled; it is
    /// deleted if the controller [prunes](super::Controller::prunes) the kind, at the next event of
    /// the child or the next start, once the server says that its owner does not exist.
    ///
    /// An object of that name that nobody owns is taken over. Before the first apply the server is asked
    /// whether there is one, since two owners may want the same and the cache can be behind.
    ///
    /// # Errors
    /// [`Error::NotWired`] if `wire` does not say `.owns_detached::<C>()`; [`Error::NoFinalizer`] if it
    /// asks for no finalizer; [`Error::OwnedByAnother`]; else as [`apply`](Self::apply).
    pub async fn apply_detached<C: Resource>(&self, child: C) -> Result<C, Error> {
        let (verb, resource) = ("apply_detached", ApiResource::of::<C>());
        let cache = self.detached_cache::<C>(&resource).ok_or(Error::NotWired {
            verb,
            kind: C::KIND,
            line: "owns_detached",
        })?;
        self.apply_marked(verb, &resource, &cache, child).await
    }

    /// As [`apply_detached`](Self::apply_detached), of a kind known only at run time.
    ///
    /// # Errors
    /// [`Error::NotWiredOf`] if `wire` does not say `.owns_detached_of(..)`; [`Error::OtherKind`] if the object says
    /// that it is of another kind; else as [`apply_detached`](Self::apply_detached).
    pub async fn apply_detached_of<C>(&self, resource: &ApiResource, child: C) -> Result<C, Error>
    where
        C: Object + Serialize + DeserializeOwned + Clone,
    {
        let verb = "apply_detached_of";
        let cache = self.detached_cache::<C>(resource);
        let cache =
            cache.ok_or_else(|| Error::not_wired_of::<C>(verb, resource, "owns_detached_of"))?;
        self.apply_marked(verb, resource, &cache, child).await
    }

    fn detached_cache<C: Object>(&self, resource: &ApiResource) -> Option<Lister<C>> {
        let declared = self.shared.children.of::<C>(resource)?;
        let readers = &self.shared.hub.readers;
        declared.detached.then(|| readers.get(resource)).flatten()
    }

    async fn apply_marked<C>(
        &self,
        verb: &'static str,
        resource: &ApiResource,
        cache: &Lister<C>,
        mut child: C,
    ) -> Result<C, Error>
    where
        C: Object + Serialize + DeserializeOwned + Clone,
    {
        let owner = self.owner(verb)?;
        let key = self.place(verb, resource, &mut child)?;
        if self.shared.finalizers.is_empty() {
            let group = Some(K::GROUP).filter(|group| !group.is_empty());
            return Err(Error::NoFinalizer {
                kind: resource.kind.clone(),
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
                kind: resource.kind.clone(),
                child: key,
                watched: watched.iter().cloned().collect::<Vec<_>>().join(", "),
            });
        }
        let mark = OwnerMark::of(&**owner).map_err(|source| Error::Owner {
            kind: resource.kind.clone(),
            source,
        })?;
        let written = mark.put(child.metadata_mut());
        written.map_err(|source| Error::serialize(verb, resource, &key, source))?;

        let ours = |present: &C| OwnerMark::on(present.metadata()).as_ref() == Some(&mark);
        let cached = cache.get(&key).ok().flatten();
        let id = child_id::<C>(resource, &key);
        if cached.is_some_and(|present| ours(&present)) || self.has_applied(&id) {
            return self.apply_as(verb, resource, cache, child, key, None).await;
        }
        let Some(_claim) = self.shared.claims.claim(id) else {
            return Err(Error::OwnedByAnother {
                verb,
                kind: resource.kind.clone(),
                child: key,
                owner: "an object whose reconcile applies it just now".into(),
            });
        };
        let api = self.api_in::<PartialObject>(resource, &key);
        let present = api.get_opt(key.name()).await;
        let present = present.map_err(|error| told(verb, error))?;
        if let Some(present) = &present {
            self.check_owner(verb, resource, &**owner, present)?;
        }
        let version = present.and_then(|present| present.metadata.resource_version);
        self.apply_as(verb, resource, cache, child, key, version)
            .await
    }

    /// Whether this process has applied that child for the reconciled object.
    fn has_applied(&self, id: &ChildId) -> bool {
        let states = &self.shared.hub.states;
        let known = states.with(&self.key, |state| {
            let applied = state.applied.get(id);
            applied.is_some_and(|applied| applied.written.is_some())
        });
        known.unwrap_or(false)
    }
}

/// The children that are applied for the first time just now: of two owners that both find nothing on
/// the server only one goes on.
#[derive(Debug, Default)]
pub(super) struct Claims {
    children: Mutex<HashSet<ChildId>>,
}

/// A claim, until it is dropped.
struct Claim<'a> {
    claims: &'a Claims,
    child: ChildId,
}

impl Claims {
    fn claim(&self, child: ChildId) -> Option<Claim<'_>> {
        let claims = self;
        let free = self.lock().insert(child.clone());
        free.then_some(Claim { claims, child })
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<ChildId>> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.claims.lock().remove(&self.child);
    }
}
