use std::{
    any::TypeId,
    sync::{Arc, OnceLock},
};

use futures_util::future::BoxFuture;
use serde::{Serialize, de::DeserializeOwned};

use super::{
    Context, Controller, Environment, Error, Reconciler,
    owner_mark::{OWNER_UID_LABEL, OwnerMark, is_child_at, is_detached_child, is_left_child},
    readers::Readers,
    sources::informer,
    write::told,
};
use crate::{
    cache::{Index, IndexHandle, Lister},
    client::{DeleteParams, Preconditions},
    resource::{
        AccessRule, ApiResource, Object, ObjectKey, ObjectMeta, PartialObject, Resource,
        Undecodable, controller_of,
    },
};

/// The kinds of which a controller writes children, and what becomes of them.
pub(super) struct Children<K> {
    kinds: Vec<Declared<K>>,
}

/// A kind of children.
pub(super) struct Declared<K> {
    pub(super) kind: Arc<dyn ChildKind<K>>,
    /// Its objects bear the owner's mark and are removed by the finalizer.
    pub(super) detached: bool,
    /// What a reconcile does not apply is deleted.
    pub(super) pruned: bool,
}

/// What is done with the children of one kind, whatever their type.
pub(super) trait ChildKind<K>: Send + Sync {
    fn is(&self, id: TypeId, resource: &ApiResource) -> bool;
    /// Makes detached children be found by their owner.
    fn connect(&self, environment: &Environment);
    /// The same without a server.
    #[cfg(feature = "dev")]
    fn connect_offline(&self, readers: &Readers);
    /// Deletes the children that the reconcile of `cx` did not ask for.
    fn prune<'a>(&'a self, cx: &'a Context<K>) -> BoxFuture<'a, Result<(), Error>>;
    /// Whether there are detached children of an object of that name, which is gone.
    fn has_orphans(&self, readers: &Readers, owner: &ObjectKey) -> bool;
    /// Deletes them.
    fn remove_orphans<'a>(&'a self, cx: &'a Context<K>) -> BoxFuture<'a, Result<(), Error>>;
    /// Deletes all detached children, and says how many there still are.
    fn remove_detached<'a>(&'a self, cx: &'a Context<K>) -> BoxFuture<'a, Result<usize, Error>>;
}

struct Kind<C> {
    resource: ApiResource,
    detached: OnceLock<Detached<C>>,
}

/// By what detached children are found.
struct Detached<C> {
    by_uid: IndexHandle<C, Arc<str>>,
    /// [`OwnerMark::place`].
    by_place: IndexHandle<C, Arc<str>>,
}

/// Children that no owner reference keeps.
impl<R: Reconciler> Controller<R> {
    /// It writes objects of kind `C` by [`apply_detached`](Context::apply_detached): in other
    /// namespaces than the reconciled object, or cluster-scoped while that is not. Every change of one
    /// leads to a reconcile of its owner. They are deleted by the finalizer, so one has to be
    /// [asked for](Self::finalizer).
    pub fn owns_detached<C: Resource>(self) -> Self {
        self.owns_detached_of::<C>(ApiResource::of::<C>())
    }

    /// As [`owns_detached`](Self::owns_detached), for a kind known only at run time, whose objects are written as
    /// `C`s by [`apply_detached_of`](Context::apply_detached_of).
    pub fn owns_detached_of<C>(mut self, resource: ApiResource) -> Self
    where
        C: Object + Serialize + DeserializeOwned,
    {
        self.children.declare::<C>(&resource).detached = true;
        let writes = AccessRule::of_resource(&resource, ["create", "patch", "delete"]);
        self.access(writes).watches_of(resource, |child: &C| {
            let mark = OwnerMark::on(child.metadata());
            let owner = mark.and_then(|mark| mark.key::<R::Resource>());
            owner.into_iter().collect()
        })
    }

    /// After each reconcile that succeeded, its children of kind `C` that it did not ask for by
    /// [`apply`](Context::apply), [`apply_detached`](Context::apply_detached) or another write are
    /// deleted. So every reconcile has to apply all the children that are wanted, or to fail.
    ///
    /// Children are the cached objects whose controller is the reconciled object and that nobody else owns,
    /// and its detached ones, with those that a former object of its name left behind; a restart forgets none.
    /// Detached ones of an object that is gone without its finalizers having done their work, because somebody removed
    /// them by force, are deleted, too, when the server says that there is no such object. They are deleted only as they were seen, by UID and
    /// resource version. A kind that is not owned any more can be pruned alone, to remove what
    /// a former version of the program made. Of two controllers of one kind that own the same kind
    /// of children neither may prune it: each would delete the other's.
    ///
    /// A kind that is owned by its metadata alone is pruned so, too: `prunes::<PartialObject<C>>()`.
    pub fn prunes<C: Resource>(self) -> Self {
        self.prunes_of::<C>(ApiResource::of::<C>())
    }

    /// As [`prunes`](Self::prunes), for a kind known only at run time, whose objects are read as `C`s.
    pub fn prunes_of<C>(mut self, resource: ApiResource) -> Self
    where
        C: Object + Serialize + DeserializeOwned,
    {
        self.children.declare::<C>(&resource).pruned = true;
        let id = TypeId::of::<C>();
        let mut wirings = self.wirings.iter();
        let is_read = wirings.any(|one| {
            let wired = one.wired().filter(|_| one.read_as() == Some(id));
            wired.is_some_and(|wired| wired.resource == resource)
        });
        let deletes = AccessRule::of_resource(&resource, ["delete"]);
        match is_read || id == TypeId::of::<R::Resource>() {
            true => self,
            false => self.reads_of::<C>(resource),
        }
        .access(deletes)
    }
}

impl<K: Resource> Children<K> {
    /// What is declared of a kind that is read as `C`s, to be added to.
    fn declare<C>(&mut self, resource: &ApiResource) -> &mut Declared<K>
    where
        C: Object + Serialize + DeserializeOwned,
    {
        let id = TypeId::of::<C>();
        let mut kinds = self.kinds.iter();
        let at = kinds.position(|one| one.kind.is(id, resource));
        let at = at.unwrap_or_else(|| {
            self.kinds.push(Declared {
                kind: Arc::new(Kind::<C> {
                    resource: resource.clone(),
                    detached: OnceLock::new(),
                }),
                detached: false,
                pruned: false,
            });
            self.kinds.len() - 1
        });
        &mut self.kinds[at]
    }

    /// What is declared of a kind that is read as `C`s.
    pub(super) fn of<C: Object>(&self, resource: &ApiResource) -> Option<&Declared<K>> {
        let id = TypeId::of::<C>();
        self.kinds.iter().find(|one| one.kind.is(id, resource))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Declared<K>> {
        self.kinds.iter()
    }

    pub(super) fn connect(&self, environment: &Environment) {
        self.found().for_each(|one| one.kind.connect(environment));
    }

    #[cfg(feature = "dev")]
    pub(super) fn connect_offline(&self, readers: &Readers) {
        self.found()
            .for_each(|one| one.kind.connect_offline(readers));
    }

    /// Whether the cache has detached children of an object of that name, which is gone, that are ours to prune.
    pub(super) fn has_orphans(&self, readers: &Readers, owner: &ObjectKey) -> bool {
        self.swept().any(|one| one.kind.has_orphans(readers, owner))
    }

    /// Those of which nothing may be left when the owner is gone, however it went.
    fn swept(&self) -> impl Iterator<Item = &Declared<K>> {
        self.iter().filter(|one| one.detached && one.pruned)
    }

    /// Those of which the children have to be found.
    fn found(&self) -> impl Iterator<Item = &Declared<K>> {
        self.iter().filter(|one| one.detached || one.pruned)
    }
}

impl<K> Default for Children<K> {
    fn default() -> Self {
        Self { kinds: Vec::new() }
    }
}

impl<K, C> ChildKind<K> for Kind<C>
where
    K: Resource,
    C: Object + Serialize + DeserializeOwned,
{
    fn is(&self, id: TypeId, resource: &ApiResource) -> bool {
        id == TypeId::of::<C>() && self.resource == *resource
    }

    fn connect(&self, environment: &Environment) {
        self.detached.get_or_init(|| {
            let informer = informer::<C>(environment, &self.resource);
            Detached {
                by_uid: informer.add_index(Index::label(OWNER_UID_LABEL)),
                by_place: informer.add_index(by_place()),
            }
        });
    }

    #[cfg(feature = "dev")]
    fn connect_offline(&self, readers: &Readers) {
        if let Some(cache) = readers.get::<C>(&self.resource) {
            self.detached.get_or_init(|| Detached {
                by_uid: cache.add_index(Index::label(OWNER_UID_LABEL)),
                by_place: cache.add_index(by_place()),
            });
        }
    }

    fn prune<'a>(&'a self, cx: &'a Context<K>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let owner = cx.owner("prune")?;
            let still = |child: &ObjectMeta| {
                is_controlled_child(&**owner, child) || is_detached_child(&**owner, child)
            };
            let unwanted =
                |child: &Child| !child.deleting && !cx.wanted.contains(&self.resource, &child.key);
            for child in self.all(cx, still)?.iter().filter(|one| unwanted(one)) {
                remove(cx, "prune", &self.resource, child, &still).await?;
            }
            self.remove_left(cx, "prune", unwanted).await?;
            Ok(())
        })
    }

    fn has_orphans(&self, readers: &Readers, owner: &ObjectKey) -> bool {
        !self.orphans::<K>(readers, owner).is_empty()
    }

    fn remove_orphans<'a>(&'a self, cx: &'a Context<K>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let still = |child: &ObjectMeta| is_child_at::<K>(&cx.key, child);
            for child in self.orphans::<K>(&cx.shared.hub.readers, &cx.key) {
                let uid = child.owner.clone();
                // Of an owner that came meanwhile it bears another mark.
                let same = |child: &ObjectMeta| still(child) && Child::of(child).owner == uid;
                if !child.deleting {
                    remove(cx, "delete", &self.resource, &child, same).await?;
                }
            }
            Ok(())
        })
    }

    fn remove_detached<'a>(&'a self, cx: &'a Context<K>) -> BoxFuture<'a, Result<usize, Error>> {
        Box::pin(async move {
            let owner = cx.owner("delete")?;
            let still = |child: &ObjectMeta| is_detached_child(&**owner, child);
            let mut children = self.all(cx, still)?;
            children.extend(self.undecodable(cx)?);
            for child in &children {
                if !child.deleting {
                    remove(cx, "delete", &self.resource, child, &still).await?;
                }
            }
            let left = self.remove_left(cx, "delete", |child| !child.deleting);
            Ok(children.len() + left.await?)
        })
    }
}

impl<C: Object> Kind<C> {
    fn cache<K>(&self, cx: &Context<K>) -> Option<Lister<C>> {
        cx.shared.hub.readers.get(&self.resource)
    }

    /// The cached detached children of an object of that name.
    fn orphans<K: Resource>(&self, readers: &Readers, owner: &ObjectKey) -> Vec<Child> {
        let cache = readers.get::<C>(&self.resource);
        let (Some(cache), Some(index)) = (cache, self.detached.get()) else {
            return Vec::new();
        };
        let place = OwnerMark::place_at::<K>(owner).unwrap_or_default();
        let found = cache.by(&index.by_place, &*place).items;
        let found = found.iter().map(|child| child.metadata());
        let ours = found.filter(|child| is_child_at::<K>(owner, child));
        ours.map(Child::of).collect()
    }

    /// The cached children of the reconciled object that are `ours`.
    fn all<K: Resource>(
        &self,
        cx: &Context<K>,
        ours: impl Fn(&ObjectMeta) -> bool,
    ) -> Result<Vec<Child>, Error> {
        let (Some(cache), uid) = (self.cache(cx), cx.owner("list")?.uid()) else {
            return Ok(Vec::new());
        };
        let uid = uid.unwrap_or_default();
        let mut found = cache.by_owner(uid).items;
        if let Some(index) = self.detached.get() {
            found.extend(cache.by(&index.by_uid, uid).items);
        }
        let found = found.iter().map(|child| child.metadata());
        // One that bears both the reference and the mark is found twice.
        let mut children: Vec<Child> = found.filter(|child| ours(child)).map(Child::of).collect();
        children.sort_by(|one, other| one.key.cmp(&other.key));
        children.dedup_by(|one, other| one.key == other.key);
        Ok(children)
    }

    /// Deletes of the detached children that a former object of the owner's name left behind those that
    /// `goes` says, and tells how many there are of all.
    async fn remove_left<K: Resource>(
        &self,
        cx: &Context<K>,
        verb: &'static str,
        goes: impl Fn(&Child) -> bool,
    ) -> Result<usize, Error> {
        let owner = cx.owner(verb)?;
        let (Some(cache), Some(index)) = (self.cache(cx), self.detached.get()) else {
            return Ok(0);
        };
        let place = OwnerMark::of(&**owner).ok().and_then(|mark| mark.place());
        let found = cache.by(&index.by_place, &*place.unwrap_or_default());
        let still = |child: &ObjectMeta| is_left_child(&**owner, child);
        let left = found.items.iter().map(|child| child.metadata());
        let left: Vec<Child> = left.filter(|child| still(child)).map(Child::of).collect();
        // If it is our object that is the former one, these are another one's, who lives.
        if left.iter().any(&goes) && !cx.is_the_one_there(verb).await? {
            return Ok(0);
        }
        for child in left.iter().filter(|child| goes(child)) {
            remove(cx, verb, &self.resource, child, &still).await?;
        }
        Ok(left.len())
    }

    /// The cached detached children that do not decode; their label is read leniently.
    fn undecodable<K: Resource>(&self, cx: &Context<K>) -> Result<Vec<Child>, Error> {
        let (Some(cache), uid) = (self.cache(cx), cx.owner("list")?.uid()) else {
            return Ok(Vec::new());
        };
        let found = self.detached.get().map(|index| {
            let found = cache.by(&index.by_uid, uid.unwrap_or_default()).undecodable;
            let alone = |child: &&Arc<Undecodable>| child.owner_references.is_empty();
            found
                .iter()
                .filter(alone)
                .map(Child::of_undecodable)
                .collect()
        });
        Ok(found.unwrap_or_default())
    }
}

fn by_place<C: Object>() -> Index<C, Arc<str>> {
    Index::by(|child: &C| Some(OwnerMark::on(child.metadata())?.place()?.into()))
}

impl<K: Resource> Context<K> {
    /// Deletes the detached children of an object that is gone without having been cleaned up, of the kinds that are
    /// pruned: as the garbage collector does with what an owner reference leads to, and like it only when the
    /// server says that there is no such object, whatever the cache says.
    pub(super) async fn remove_orphans(&self) -> Result<(), Error> {
        let (children, watched) = (&self.shared.children, &self.shared.namespaces);
        // An owner that is not watched is nobody's business here.
        let is_watched = |name: &str| watched.is_empty() || watched.contains(name);
        if !self.key.namespace().is_none_or(is_watched)
            || !children.has_orphans(&self.shared.hub.readers, &self.key)
        {
            return Ok(());
        }
        let api = self.api_of::<K>(&self.key).metadata();
        let present = api.get_opt(self.key.name()).await;
        if present.map_err(|error| told("delete", error))?.is_some() {
            return Ok(());
        }
        for declared in children.swept() {
            declared.kind.remove_orphans(self).await?;
        }
        Ok(())
    }

    /// Whether the server has the reconciled object itself, not another one of its name.
    async fn is_the_one_there(&self, verb: &'static str) -> Result<bool, Error> {
        let owner = self.owner(verb)?;
        let api = self.api_of::<K>(&self.key).metadata();
        let present = api.get_opt(self.key.name()).await;
        let present = present.map_err(|error| told(verb, error))?;
        Ok(present.is_some_and(|present| present.metadata.uid.as_deref() == owner.uid()))
    }
}

/// Whether `owner` is the controller of `child` and nobody else owns it.
fn is_controlled_child<K: Object>(owner: &K, child: &ObjectMeta) -> bool {
    let uid = owner.uid().filter(|uid| !uid.is_empty());
    let controller = controller_of(child).map(|controller| &*controller.uid);
    let owners = child.owner_references.as_deref().unwrap_or_default();
    uid.is_some() && controller == uid && owners.len() == 1
}

/// A child to delete.
struct Child {
    key: ObjectKey,
    /// The UID of the owner of a detached one.
    owner: Option<String>,
    uid: Option<String>,
    version: Option<String>,
    deleting: bool,
}

impl Child {
    fn of(metadata: &ObjectMeta) -> Self {
        let name = metadata.name.as_deref().unwrap_or_default();
        Self {
            key: ObjectKey::new(metadata.namespace.as_deref(), name),
            owner: OwnerMark::on(metadata).map(|mark| mark.uid),
            uid: metadata.uid.clone(),
            version: metadata.resource_version.clone(),
            deleting: metadata.deletion_timestamp.is_some(),
        }
    }

    fn of_undecodable(object: &Arc<Undecodable>) -> Self {
        Self {
            key: object.key.clone(),
            owner: None,
            uid: object.uid.clone(),
            version: object.resource_version.clone(),
            deleting: false,
        }
    }
}

/// Whether somebody else changed the object.
pub(super) fn conflicts(error: &Error) -> bool {
    error.client().is_some_and(|error| error.is_conflict())
}

/// How often a deletion is tried again with what the server says.
const ATTEMPTS: usize = 4;

/// Deletes `child` as it was seen. If it was changed since and is `still` ours, it is deleted all
/// the same; one that is not, or that bears only its name, is left alone.
async fn remove<K: Resource>(
    cx: &Context<K>,
    verb: &'static str,
    resource: &ApiResource,
    child: &Child,
    still: impl Fn(&ObjectMeta) -> bool,
) -> Result<(), Error> {
    let mut version = child.version.clone();
    for attempt in 1.. {
        let mut params = DeleteParams::background();
        params.preconditions = Some(Preconditions {
            uid: child.uid.clone(),
            resource_version: version,
        });
        match cx
            .send_delete::<PartialObject>(verb, resource, &child.key, &params)
            .await
        {
            Err(error) if conflicts(&error) && attempt < ATTEMPTS => {}
            Err(error) => return Err(error),
            Ok(()) => return Ok(()),
        }
        let api = cx.api_in::<PartialObject>(resource, &child.key);
        let present = api.get_opt(child.key.name()).await;
        let present = present.map_err(|error| told(verb, error))?;
        let Some(present) = present.filter(|present| {
            present.metadata.uid == child.uid && !present.is_deleting() && still(&present.metadata)
        }) else {
            return Ok(());
        };
        version = present.metadata.resource_version;
    }
    Ok(())
}
