use std::collections::HashSet;

use parking_lot::Mutex;
use serde::{Serialize, de::DeserializeOwned};

use super::{child::Child, context::Context};
use crate::{
    cache::Lister,
    controller::{
        error::Error,
        owners::OwnerMark,
        reconcilable::Reconcilable,
        sources::leaves_out,
        state::{ChildId, child_id},
    },
    resource::{ApiResource, Object},
};

/// Detached children: see [`Child::detached`](Child::detached).
impl<K: Reconcilable> Context<K> {
    pub(super) async fn apply_detached<C>(&self, child: &mut Child<C>) -> Result<C, Error>
    where
        C: Object + Serialize + DeserializeOwned + Clone,
    {
        let verb = "apply detached";
        let cache = self.detached_cache::<C>(&child.resource);
        let cache = cache.ok_or_else(|| child.not_wired(verb))?;
        let Child {
            resource,
            object: child,
            adopting,
            ..
        } = child;
        let owner = self.owner(verb)?;
        let key = self.prepare(verb, resource, child)?;
        let rules = &self.shared.finalizers;
        if rules.is_empty() {
            let own = self.resource();
            // The domain of a finalizer is the author's own. The groups of Kubernetes are not.
            let is_own = |group: &&str| group.contains('.') && !group.ends_with(".k8s.io");
            let group = Some(&*own.group).filter(is_own);
            return Err(Error::NoFinalizer {
                kind: resource.kind.clone(),
                child: key,
                finalizer: format!(
                    "{}/{}",
                    group.unwrap_or("example.com"),
                    own.kind.to_lowercase()
                ),
            });
        }
        let controller = &self.shared.controller;
        let left_out = leaves_out(controller, rules.predicate.as_ref(), &**owner);
        if !rules.guard_children_of(owner, left_out) {
            return Err(Error::FinalizerNotNeeded {
                kind: resource.kind.clone(),
                child: key,
                owner: format!("{} {}", self.kind(), self.key),
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
        let mark =
            OwnerMark::of(self.resource(), owner.metadata()).map_err(|source| Error::Owner {
                kind: resource.kind.clone(),
                source,
            })?;
        let written = mark.put(child.metadata_mut());
        written.map_err(|source| Error::serialize(verb, resource, &key, source))?;

        let ours = |present: &C| OwnerMark::on(present.metadata()).as_ref() == Some(&mark);
        let cached = cache.get(&key).ok().flatten();
        let id = child_id::<C>(resource, &key);
        let is_known = match &cached {
            Some(present) => ours(present),
            None => self.has_applied(&id),
        };
        if is_known {
            return self
                .apply_unless_unchanged(verb, resource, &cache, child, key, None)
                .await;
        }
        let Some(_first) = self.shared.first_applies.begin(id) else {
            return Err(Error::OwnedByAnother {
                verb,
                kind: resource.kind.clone(),
                child: key,
                owner: "an object whose reconcile is applying it now".into(),
            });
        };
        let present = self.on_server(verb, resource, &key).await?;
        match &present {
            Some(present) if *adopting => self.check_owner(verb, resource, &**owner, present)?,
            present => {
                let adopt = "`Child::new(..).detached().adopting()`";
                self.check_ours(verb, resource, &**owner, present.as_ref(), adopt)?;
            }
        }
        let version = present.and_then(|present| present.metadata.resource_version);
        self.apply_unless_unchanged(verb, resource, &cache, child, key, version)
            .await
    }

    fn detached_cache<C: Object>(&self, resource: &ApiResource) -> Option<Lister<C>> {
        let id = std::any::TypeId::of::<C>();
        let mut kinds = self.shared.detached_kinds.iter();
        let is_declared = kinds.any(|(read_as, kind)| *read_as == id && kind == resource);
        let caches = &self.shared.controller.caches;
        is_declared.then(|| caches.get(resource)).flatten()
    }
}

/// The detached children that are being applied for the first time. If two owners both find no object on the server, only
/// one of them goes on.
#[derive(Debug, Default)]
pub(crate) struct FirstApplies {
    children: Mutex<HashSet<ChildId>>,
}

/// A first apply that is under way, until it is dropped.
struct FirstApply<'a> {
    all: &'a FirstApplies,
    child: ChildId,
}

impl FirstApplies {
    /// Returns `None` if another call is applying the child for the first time.
    fn begin(&self, child: ChildId) -> Option<FirstApply<'_>> {
        let all = self;
        let free = self.children.lock().insert(child.clone());
        free.then_some(FirstApply { all, child })
    }
}

impl Drop for FirstApply<'_> {
    fn drop(&mut self) {
        self.all.children.lock().remove(&self.child);
    }
}
