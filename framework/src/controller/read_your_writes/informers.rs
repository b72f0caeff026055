use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use parking_lot::RwLock;

use super::{
    cached::Cached,
    demand::{Caches, View},
};
use crate::{
    cache::{Field, Subscription},
    resource::{ApiResource, ObjectKey, ObjectMeta},
};

/// The informers of the controller, by number. A number is never used twice, so that a demand on an informer that is gone is
/// never taken for a demand on another one.
#[derive(Default)]
pub(super) struct Informers(RwLock<FollowedInformers>);

#[derive(Default)]
struct FollowedInformers {
    followed: BTreeMap<usize, FollowedInformer>,
    next: usize,
    /// The kinds of all informers so far. The index of a kind is its number.
    kinds: Vec<ApiResource>,
}

struct FollowedInformer {
    cached: Arc<dyn Cached>,
    subscription: Subscription,
    /// The number of sources that read it.
    sources: usize,
}

/// The number of an informer that is followed for a source.
#[derive(Debug)]
pub(crate) struct Followed(pub(super) usize);

impl Informers {
    /// The number of an informer. A new informer gets a number, and `subscribe` adds a listener to it.
    pub(super) fn follow(
        &self,
        cached: Arc<dyn Cached>,
        subscribe: impl FnOnce(&dyn Cached, usize) -> Subscription,
    ) -> Followed {
        let mut state = self.0.write();
        let is_it = |entry: &FollowedInformer| cached.is(&*entry.cached);
        let known = state.followed.iter_mut().find(|(_, entry)| is_it(entry));
        if let Some((number, entry)) = known {
            entry.sources += 1;
            return Followed(*number);
        }
        let number = state.next;
        state.next += 1;
        let resource = cached.resource();
        if !state.kinds.iter().any(|kind| is_same(kind, resource)) {
            state.kinds.push(resource.clone());
        }
        let entry = FollowedInformer {
            subscription: subscribe(&*cached, number),
            cached,
            sources: 1,
        };
        state.followed.insert(number, entry);
        Followed(number)
    }

    /// Undoes one [`follow`](Self::follow). Returns the subscription to end if it was the last one.
    pub(super) fn unfollow(&self, number: usize) -> Option<Subscription> {
        let mut state = self.0.write();
        let entry = state.followed.get_mut(&number)?;
        entry.sources -= 1;
        if entry.sources > 0 {
            return None;
        }
        let entry = state.followed.remove(&number);
        drop(state);
        entry.map(|entry| entry.subscription)
    }

    pub(super) fn all(&self) -> Vec<Arc<dyn Cached>> {
        let state = self.0.read();
        let entries = state.followed.values();
        entries.map(|entry| entry.cached.clone()).collect()
    }

    /// Number and kind of the informers that read `resource` and for which `pick` holds.
    pub(super) fn of(
        &self,
        resource: &ApiResource,
        pick: impl Fn(&dyn Cached) -> bool,
    ) -> Vec<(usize, usize)> {
        let state = self.0.read();
        let mut kinds = state.kinds.iter();
        let Some(kind) = kinds.position(|kind| is_same(kind, resource)) else {
            return Vec::new();
        };
        let picked = state.followed.iter().filter(|(_, entry)| {
            is_same(entry.cached.resource(), resource) && pick(&*entry.cached)
        });
        picked.map(|(number, _)| (*number, kind)).collect()
    }

    /// As [`of`](Self::of), for the informers that may hold an object with this metadata and these fields.
    pub(super) fn for_one_like(
        &self,
        resource: &ApiResource,
        metadata: &ObjectMeta,
        field: &dyn Fn(&str) -> Option<Field>,
    ) -> Vec<(usize, usize)> {
        self.of(resource, |cached| cached.scope().may_hold(metadata, field))
    }

    pub(super) fn get(&self, informer: usize) -> Option<Arc<dyn Cached>> {
        let state = self.0.read();
        let entry = state.followed.get(&informer)?;
        Some(entry.cached.clone())
    }

    pub(super) fn kind(&self, number: usize) -> Option<ApiResource> {
        self.0.read().kinds.get(number).cloned()
    }

    pub(super) fn relist(&self, informers: &BTreeSet<usize>) {
        for informer in informers.iter().filter_map(|one| self.get(*one)) {
            informer.relist();
        }
    }

    pub(super) fn uid(&self, informer: usize, object: &ObjectKey) -> Option<String> {
        self.look(informer, object, |view| {
            view.held.and_then(|held| held.uid).map(str::to_owned)
        })
    }

    pub(super) fn is_selective(&self, informer: usize) -> bool {
        self.get(informer).is_some_and(|one| {
            let scope = one.scope();
            scope.label_selector.is_some() || scope.field_selector.is_some()
        })
    }
}

/// Whether both are the same kind, in any version.
fn is_same(one: &ApiResource, other: &ApiResource) -> bool {
    (&one.group, &one.plural) == (&other.group, &other.plural)
}

impl Caches<ObjectKey> for Informers {
    fn has(&self, informer: usize) -> bool {
        self.0.read().followed.contains_key(&informer)
    }

    fn look<T>(&self, informer: usize, object: &ObjectKey, look: impl FnOnce(View<'_>) -> T) -> T {
        let mut look = Some(look);
        let mut seen = None;
        if let Some(cached) = self.get(informer) {
            cached.look(object, &mut |view| {
                seen = look.take().map(|look| look(view));
            });
        }
        match (seen, look) {
            (Some(seen), _) => seen,
            (None, Some(look)) => look(View::default()),
            (None, None) => unreachable!("a cache calls `look` once"),
        }
    }
}
