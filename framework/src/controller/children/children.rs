use std::{
    any::TypeId,
    sync::{Arc, OnceLock, Weak},
};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde::{Serialize, de::DeserializeOwned};

use super::removal::{FoundChild, is_copied, remove};
use crate::{
    cache::{Index, IndexHandle, Lister},
    controller::{
        action::Action,
        caches::WiredCaches,
        context::{Context, with_verb},
        environment::Environment,
        error::{Error, Result as CallResult, UNDECODABLE_RECHECK},
        owners::{OWNER_UID_LABEL, OwnerMark, is_child_at, is_detached_child, is_left_child},
        reconcilable::Reconcilable,
        sources::informer,
        state::ControllerState,
    },
    resource::{ApiResource, Object, ObjectKey, ObjectMeta, Undecodable, controller_of},
};

/// The kinds of children that are detached or pruned.
pub(crate) struct Children<K> {
    kinds: Vec<Declared<K>>,
    /// The objects that do not decode and because of which pruning waits, as far as the log tells.
    logged: Mutex<Vec<Weak<Undecodable>>>,
}

/// One kind of children, and what the controller declared for it.
pub(crate) struct Declared<K> {
    pub(crate) kind: Arc<dyn ChildKind<K>>,
    /// The children have the owner's mark, and the finalizer deletes them.
    pub(crate) detached: bool,
    /// Children that a reconcile does not apply are deleted.
    pub(crate) pruned: bool,
}

/// The work on the children of one kind, without their Rust type.
pub(crate) trait ChildKind<K>: Send + Sync {
    /// The type that the objects are read as, and the kind.
    fn id(&self) -> (TypeId, ApiResource);
    fn is(&self, id: TypeId, resource: &ApiResource) -> bool;
    /// Adds the indexes by which detached children are found by their owner.
    fn connect(&self, environment: &Environment);
    /// As [`connect`](Self::connect), on a cache without an informer.
    #[cfg(feature = "dev")]
    fn connect_without_informer(&self, caches: &WiredCaches);
    /// Deletes the children that the call of `cx` did not request.
    fn prune<'a>(&'a self, cx: &'a Context<K>) -> BoxFuture<'a, Result<(), Error>>;
    /// Whether [`prune`](Self::prune) would delete a child.
    fn would_prune(&self, cx: &Context<K>) -> Result<bool, Error>;
    /// Whether the cache has detached children of the object of `cx`.
    fn has_detached(&self, cx: &Context<K>) -> Result<bool, Error>;
    /// Whether the cache has detached children of the object `owner`, which is gone.
    fn has_orphans(&self, controller: &ControllerState, owner: &ObjectKey) -> bool;
    /// Deletes the detached children of the object of `cx`, which is gone.
    fn remove_orphans<'a>(&'a self, cx: &'a Context<K>) -> BoxFuture<'a, Result<(), Error>>;
    /// Deletes all detached children. Returns whether one still exists.
    fn remove_detached<'a>(&'a self, cx: &'a Context<K>) -> BoxFuture<'a, Result<bool, Error>>;
}

struct TypedKind<C> {
    resource: ApiResource,
    indexes: OnceLock<DetachedIndexes<C>>,
}

/// The indexes of detached children.
struct DetachedIndexes<C> {
    by_uid: IndexHandle<C, Arc<str>>,
    /// [`OwnerMark::place`].
    by_place: IndexHandle<C, Arc<str>>,
}

impl<K: Reconcilable> Children<K> {
    /// The declaration of a kind that is read as `C`. Adds an empty one if the kind is not declared.
    pub(crate) fn declare<C>(&mut self, resource: &ApiResource) -> &mut Declared<K>
    where
        C: Object + Serialize + DeserializeOwned,
    {
        let id = TypeId::of::<C>();
        let mut kinds = self.kinds.iter();
        let at = kinds.position(|one| one.kind.is(id, resource));
        let at = at.unwrap_or_else(|| {
            self.kinds.push(Declared {
                kind: Arc::new(TypedKind::<C> {
                    resource: resource.clone(),
                    indexes: OnceLock::new(),
                }),
                detached: false,
                pruned: false,
            });
            self.kinds.len() - 1
        });
        &mut self.kinds[at]
    }

    /// The kinds of detached children, with the type that each is read as.
    /// The kinds whose children are deleted when a reconcile does not apply them any more.
    pub(crate) fn pruned_kinds(&self) -> impl Iterator<Item = ApiResource> {
        let pruned = self.iter().filter(|one| one.pruned);
        pruned.map(|one| one.kind.id().1)
    }

    pub(crate) fn detached_kinds(&self) -> Vec<(TypeId, ApiResource)> {
        let detached = self.kinds.iter().filter(|one| one.detached);
        detached.map(|one| one.kind.id()).collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Declared<K>> {
        self.kinds.iter()
    }

    pub(crate) fn connect(&self, environment: &Environment) {
        self.searched()
            .for_each(|one| one.kind.connect(environment));
    }

    #[cfg(feature = "dev")]
    pub(crate) fn connect_without_informer(&self, caches: &WiredCaches) {
        self.searched()
            .for_each(|one| one.kind.connect_without_informer(caches));
    }

    /// Deletes the children that the call of `cx` did not request, unless the call read an object that does not decode.
    /// Returns `action`, or an earlier one if children wait for that.
    pub(crate) async fn prune(&self, cx: &Context<K>, action: Action) -> CallResult {
        let mut pruned = self.iter().filter(|one| one.pruned);
        let Some(undecodable) = cx.undecodable_read() else {
            for declared in pruned {
                declared.kind.prune(cx).await?;
            }
            return Ok(action);
        };
        let mut waits = false;
        while let Some(declared) = pruned.next().filter(|_| !waits) {
            waits = declared.kind.would_prune(cx)?;
        }
        if !waits {
            return Ok(action);
        }
        if self.is_first_wait_for(&undecodable) {
            tracing::warn!(
                "{} {} has children that this reconcile did not apply. They are not pruned, because the reconcile read an \
                 object that does not decode: {undecodable}. Mend or delete that object",
                cx.resource().kind,
                cx.key(),
            );
        }
        Ok(action.within(UNDECODABLE_RECHECK))
    }

    /// Whether no pruning has waited for this version of the object.
    fn is_first_wait_for(&self, object: &Arc<Undecodable>) -> bool {
        let mut logged = self.logged.lock();
        // The cache keeps an object until there is a newer version.
        logged.retain(|one| one.strong_count() > 0);
        let known = logged.iter().any(|one| one.as_ptr() == Arc::as_ptr(object));
        if !known {
            logged.push(Arc::downgrade(object));
        }
        !known
    }

    /// Whether the caches have detached children of the object of `cx`.
    pub(crate) fn has_detached(&self, cx: &Context<K>) -> Result<bool, Error> {
        for declared in self.iter().filter(|one| one.detached) {
            if declared.kind.has_detached(cx)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the caches have detached children of the object `owner`, which is gone, that this controller prunes.
    pub(crate) fn has_orphans(&self, controller: &ControllerState, owner: &ObjectKey) -> bool {
        self.detached_and_pruned()
            .any(|one| one.kind.has_orphans(controller, owner))
    }

    /// The kinds of which no child may be left when the owner is gone, even if its finalizer was removed by force.
    fn detached_and_pruned(&self) -> impl Iterator<Item = &Declared<K>> {
        self.iter().filter(|one| one.detached && one.pruned)
    }

    /// The kinds whose children have to be found in the cache.
    fn searched(&self) -> impl Iterator<Item = &Declared<K>> {
        self.iter().filter(|one| one.detached || one.pruned)
    }
}

impl<K> Default for Children<K> {
    fn default() -> Self {
        Self {
            kinds: Vec::new(),
            logged: Mutex::default(),
        }
    }
}

impl<K, C> ChildKind<K> for TypedKind<C>
where
    K: Reconcilable,
    C: Object + Serialize + DeserializeOwned,
{
    fn id(&self) -> (TypeId, ApiResource) {
        (TypeId::of::<C>(), self.resource.clone())
    }

    fn is(&self, id: TypeId, resource: &ApiResource) -> bool {
        id == TypeId::of::<C>() && self.resource == *resource
    }

    fn connect(&self, environment: &Environment) {
        self.indexes.get_or_init(|| {
            let informer = informer::<C>(environment, &self.resource);
            DetachedIndexes {
                by_uid: informer.add_index(Index::label(OWNER_UID_LABEL)),
                by_place: informer.add_index(by_place()),
            }
        });
    }

    #[cfg(feature = "dev")]
    fn connect_without_informer(&self, caches: &WiredCaches) {
        if let Some(cache) = caches.get::<C>(&self.resource) {
            self.indexes.get_or_init(|| DetachedIndexes {
                by_uid: cache.add_index(Index::label(OWNER_UID_LABEL)),
                by_place: cache.add_index(by_place()),
            });
        }
    }

    fn prune<'a>(&'a self, cx: &'a Context<K>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let owner = cx.owner("prune")?;
            let still = |child: &ObjectMeta| is_child(&**owner, child);
            let unwanted = |child: &FoundChild| self.is_unwanted(cx, child);
            for child in self.all(cx, still)?.iter().filter(|one| unwanted(one)) {
                remove(cx, "prune", &self.resource, child, &still).await?;
            }
            let left = self.left(cx)?.into_iter().filter(unwanted);
            self.remove_left(cx, "prune", left.collect()).await?;
            Ok(())
        })
    }

    fn would_prune(&self, cx: &Context<K>) -> Result<bool, Error> {
        let owner = cx.owner("prune")?;
        let mut children = self.all(cx, |child| is_child(&**owner, child))?;
        children.extend(self.left(cx)?);
        let would = |child: &FoundChild| {
            self.is_unwanted(cx, child) && !is_copied(&cx.shared().controller, child)
        };
        Ok(children.iter().any(would))
    }

    fn has_detached(&self, cx: &Context<K>) -> Result<bool, Error> {
        let owner = cx.owner("list")?;
        let mut children = self.all(cx, |child| is_detached_child(&**owner, child))?;
        children.extend(self.undecodable(cx)?);
        let copied = |child: &FoundChild| is_copied(&cx.shared().controller, child);
        Ok(children.iter().any(|child| !copied(child)))
    }

    fn has_orphans(&self, controller: &ControllerState, owner: &ObjectKey) -> bool {
        let orphans = self.orphans(&controller.caches, &controller.resource, owner);
        orphans.iter().any(|child| !is_copied(controller, child))
    }

    fn remove_orphans<'a>(&'a self, cx: &'a Context<K>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let (kind, key) = (cx.resource(), cx.key());
            let still = |child: &ObjectMeta| is_child_at(kind, key, child);
            for child in self.orphans(&cx.shared().controller.caches, kind, key) {
                let uid = child.owner.clone();
                // The mark is another one if a new owner has taken the child meanwhile.
                let same = |child: &ObjectMeta| still(child) && FoundChild::of(child).owner == uid;
                if !child.deleting {
                    remove(cx, "delete", &self.resource, &child, same).await?;
                }
            }
            Ok(())
        })
    }

    fn remove_detached<'a>(&'a self, cx: &'a Context<K>) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move {
            let owner = cx.owner("delete")?;
            let still = |child: &ObjectMeta| is_detached_child(&**owner, child);
            let mut children = self.all(cx, still)?;
            children.extend(self.undecodable(cx)?);
            let mut exists = false;
            // One child that is being deleted is enough to wait for, so the server is not asked about the others.
            children.sort_by_key(|child| child.deleting);
            for child in children {
                if !child.deleting || !exists {
                    exists |= remove(cx, "delete", &self.resource, &child, &still).await?;
                }
            }
            let left = self.remove_left(cx, "delete", self.left(cx)?).await?;
            Ok(exists || left)
        })
    }
}

impl<C: Object> TypedKind<C> {
    fn cache<K: Reconcilable>(&self, cx: &Context<K>) -> Option<Lister<C>> {
        cx.shared().controller.caches.get(&self.resource)
    }

    /// The cached detached children of the object `owner` of the kind `kind`, which is gone.
    fn orphans(
        &self,
        caches: &WiredCaches,
        kind: &ApiResource,
        owner: &ObjectKey,
    ) -> Vec<FoundChild> {
        let cache = caches.get::<C>(&self.resource);
        let (Some(cache), Some(index)) = (cache, self.indexes.get()) else {
            return Vec::new();
        };
        let place = OwnerMark::place_at(kind, owner).unwrap_or_default();
        let found = cache.by(&index.by_place, &*place).items;
        let found = found.iter().map(|child| child.metadata());
        let ours = found.filter(|child| is_child_at(kind, owner, child));
        ours.map(FoundChild::of).collect()
    }

    /// The cached children of the reconciled object for which `ours` holds.
    fn all<K: Reconcilable>(
        &self,
        cx: &Context<K>,
        ours: impl Fn(&ObjectMeta) -> bool,
    ) -> Result<Vec<FoundChild>, Error> {
        let (Some(cache), uid) = (self.cache(cx), cx.owner("list")?.uid()) else {
            return Ok(Vec::new());
        };
        let uid = uid.unwrap_or_default();
        let mut found = cache.by_owner(uid).items;
        if let Some(index) = self.indexes.get() {
            found.extend(cache.by(&index.by_uid, uid).items);
        }
        let found = found.iter().map(|child| child.metadata());
        // A child with both the reference and the mark is found twice.
        let mut children: Vec<FoundChild> = found
            .filter(|child| ours(child))
            .map(FoundChild::of)
            .collect();
        children.sort_by(|one, other| one.key.cmp(&other.key));
        children.dedup_by(|one, other| one.key == other.key);
        Ok(children)
    }

    /// The cached detached children that a former object of the owner's name left behind.
    fn left<K: Reconcilable>(&self, cx: &Context<K>) -> Result<Vec<FoundChild>, Error> {
        let owner = cx.owner("list")?;
        let (Some(cache), Some(index)) = (self.cache(cx), self.indexes.get()) else {
            return Ok(Vec::new());
        };
        let (kind, owner) = (cx.resource(), owner.metadata());
        let place = OwnerMark::of(kind, owner)
            .ok()
            .and_then(|mark| mark.place());
        let found = cache.by(&index.by_place, &*place.unwrap_or_default());
        let left = found.items.iter().map(|child| child.metadata());
        let left = left.filter(|child| is_left_child(kind, owner, child));
        Ok(left.map(FoundChild::of).collect())
    }

    /// Deletes some of the [`left`](Self::left) children. Returns whether one still exists.
    async fn remove_left<K: Reconcilable>(
        &self,
        cx: &Context<K>,
        verb: &'static str,
        mut left: Vec<FoundChild>,
    ) -> Result<bool, Error> {
        let owner = cx.owner(verb)?;
        left.retain(|child| !is_copied(&cx.shared().controller, child));
        // If the reconciled object is the former one, these children belong to the new one, which exists.
        if left.iter().any(|child| !child.deleting) && !is_owner_present(cx, verb).await? {
            return Ok(false);
        }
        let still = |child: &ObjectMeta| is_left_child(cx.resource(), owner.metadata(), child);
        let mut exists = false;
        left.sort_by_key(|child| child.deleting);
        for child in left {
            if !child.deleting || !exists {
                exists |= remove(cx, verb, &self.resource, &child, still).await?;
            }
        }
        Ok(exists)
    }

    /// Whether the call of `cx` did not request a child.
    fn is_unwanted<K: Reconcilable>(&self, cx: &Context<K>, child: &FoundChild) -> bool {
        !child.deleting && !cx.has_requested(&self.resource, &child.key)
    }

    /// The cached detached children that do not decode. Their label is read leniently.
    fn undecodable<K: Reconcilable>(&self, cx: &Context<K>) -> Result<Vec<FoundChild>, Error> {
        let (Some(cache), uid) = (self.cache(cx), cx.owner("list")?.uid()) else {
            return Ok(Vec::new());
        };
        let found = self.indexes.get().map(|index| {
            let found = cache.by(&index.by_uid, uid.unwrap_or_default()).undecodable;
            let alone = |child: &&Arc<Undecodable>| child.owner_references.is_empty();
            found
                .iter()
                .filter(alone)
                .map(FoundChild::of_undecodable)
                .collect()
        });
        Ok(found.unwrap_or_default())
    }
}

fn by_place<C: Object>() -> Index<C, Arc<str>> {
    Index::by(|child: &C| Some(OwnerMark::on(child.metadata())?.place()?.into()))
}

/// Deletes the detached children of an object that is gone and was never cleaned up, for the kinds that are pruned.
///
/// The garbage collector does the same for children with an owner reference. Like the garbage collector, this deletes
/// only if the server says that the owner does not exist. The cache alone is no proof.
pub(crate) async fn remove_orphans<K: Reconcilable>(
    children: &Children<K>,
    cx: &Context<K>,
) -> Result<(), Error> {
    let shared = cx.shared();
    // Another operator may own objects in namespaces that this one does not watch.
    let is_watched = |name: &str| shared.namespaces.is_empty() || shared.namespaces.contains(name);
    if !cx.key().namespace().is_none_or(is_watched)
        || !children.has_orphans(&shared.controller, cx.key())
    {
        return Ok(());
    }
    if present_uid(cx, "delete").await?.is_some() {
        return Ok(());
    }
    for declared in children.detached_and_pruned() {
        declared.kind.remove_orphans(cx).await?;
    }
    Ok(())
}

/// Asks the server for the object with the reconciled key. Returns its UID, or `None` if it does not exist.
async fn present_uid<K: Reconcilable>(
    cx: &Context<K>,
    verb: &'static str,
) -> Result<Option<Option<String>>, Error> {
    let api = cx.own_api().metadata();
    let present = api.get_opt(cx.key().name()).await;
    let present = present.map_err(|error| with_verb(verb, error))?;
    Ok(present.map(|present| present.metadata.uid))
}

/// Whether the server has the reconciled object itself, and not another object of its name.
async fn is_owner_present<K: Reconcilable>(
    cx: &Context<K>,
    verb: &'static str,
) -> Result<bool, Error> {
    let uid = cx.owner(verb)?.uid();
    let present = present_uid(cx, verb).await?;
    Ok(present.is_some_and(|present| present.as_deref() == uid))
}

/// Whether `child` belongs to `owner` alone, by an owner reference or by the mark of a detached child.
fn is_child<K: Object>(owner: &K, child: &ObjectMeta) -> bool {
    is_controlled_child(owner, child) || is_detached_child(owner, child)
}

/// Whether `owner` is the controller of `child` and its only owner. A namespaced object owns nothing in other namespaces.
fn is_controlled_child<K: Object>(owner: &K, child: &ObjectMeta) -> bool {
    if owner.namespace().is_some() && owner.namespace() != child.namespace.as_deref() {
        return false;
    }
    let uid = owner.uid().filter(|uid| !uid.is_empty());
    let controller = controller_of(child).map(|controller| &*controller.uid);
    let owners = child.owner_references.as_deref().unwrap_or_default();
    uid.is_some() && controller == uid && owners.len() == 1
}
