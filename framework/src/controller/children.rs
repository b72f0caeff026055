use std::{
    any::TypeId,
    sync::{Arc, OnceLock},
};

use futures_util::future::BoxFuture;

use super::{
    Context, Controller, Environment, Error, Reconciler,
    owner_mark::{OWNER_UID_LABEL, OwnerMark, is_detached_child},
    sources::informer,
    write::told,
};
use crate::{
    cache::{Index, IndexHandle},
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
    fn id(&self) -> TypeId;
    /// Makes detached children be found by their owner.
    fn connect(&self, environment: &Environment);
    /// Deletes the children that the reconcile of `cx` did not ask for.
    fn prune<'a>(&'a self, cx: &'a Context<K>) -> BoxFuture<'a, Result<(), Error>>;
    /// Deletes all detached children, and says how many there still are.
    fn remove_detached<'a>(&'a self, cx: &'a Context<K>) -> BoxFuture<'a, Result<usize, Error>>;
}

struct Kind<C> {
    detached: OnceLock<IndexHandle<C, Arc<str>>>,
}

/// Children that no owner reference keeps.
impl<R: Reconciler> Controller<R> {
    /// It writes objects of kind `C` by [`apply_detached`](Context::apply_detached): in other
    /// namespaces than the reconciled object, or cluster-scoped while that is not. Every change of one
    /// leads to a reconcile of its owner. They are deleted by the finalizer, so one has to be
    /// [asked for](Self::finalizer).
    pub fn owns_detached<C: Resource>(mut self) -> Self {
        self.children.declare::<C>().detached = true;
        let writes = AccessRule::of::<C>(["create", "patch", "delete"]);
        self.access(writes).watches(|child: &C| {
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
    /// and its detached ones; a restart forgets none. They are deleted only as they were seen, by UID and
    /// resource version. A kind that is not owned any more can be pruned alone, to remove what
    /// a former version of the program made. Of two controllers of one kind that own the same kind
    /// of children neither may prune it: each would delete the other's.
    pub fn prunes<C: Resource>(mut self) -> Self {
        self.children.declare::<C>().pruned = true;
        let resource = ApiResource::of::<C>();
        match self.wired().iter().any(|one| one.resource == resource) {
            true => self,
            false => self.reads::<C>(),
        }
        .deletes::<C>()
    }
}

impl<K: Resource> Children<K> {
    /// What is declared of kind `C`, to be added to.
    pub(super) fn declare<C: Resource>(&mut self) -> &mut Declared<K> {
        let id = TypeId::of::<C>();
        let at = self.kinds.iter().position(|one| one.kind.id() == id);
        let at = at.unwrap_or_else(|| {
            self.kinds.push(Declared {
                kind: Arc::new(Kind::<C> {
                    detached: OnceLock::new(),
                }),
                detached: false,
                pruned: false,
            });
            self.kinds.len() - 1
        });
        &mut self.kinds[at]
    }

    /// What is declared of kind `C`.
    pub(super) fn of<C: Resource>(&self) -> Option<&Declared<K>> {
        let id = TypeId::of::<C>();
        self.kinds.iter().find(|one| one.kind.id() == id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Declared<K>> {
        self.kinds.iter()
    }

    pub(super) fn connect(&self, environment: &Environment) {
        for one in &self.kinds {
            if one.detached || one.pruned {
                one.kind.connect(environment);
            }
        }
    }
}

impl<K> Default for Children<K> {
    fn default() -> Self {
        Self { kinds: Vec::new() }
    }
}

impl<K: Resource, C: Resource> ChildKind<K> for Kind<C> {
    fn id(&self) -> TypeId {
        TypeId::of::<C>()
    }

    fn connect(&self, environment: &Environment) {
        self.detached
            .get_or_init(|| informer::<C>(environment).add_index(Index::label(OWNER_UID_LABEL)));
    }

    fn prune<'a>(&'a self, cx: &'a Context<K>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let owner = cx.owner("prune")?;
            let still = |child: &ObjectMeta| {
                is_controlled_child(&**owner, child) || is_detached_child(&**owner, child)
            };
            for child in self.all(cx, still)? {
                if !child.deleting && !cx.wanted.contains::<C>(&child.key) {
                    remove::<K, C>(cx, "prune", &child, &still).await?;
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
                    remove::<K, C>(cx, "delete", child, &still).await?;
                }
            }
            Ok(children.len())
        })
    }
}

impl<C: Resource> Kind<C> {
    /// The cached children of the reconciled object that are `ours`.
    fn all<K: Resource>(
        &self,
        cx: &Context<K>,
        ours: impl Fn(&ObjectMeta) -> bool,
    ) -> Result<Vec<Child>, Error> {
        let (Some(cache), uid) = (cx.cache::<C>(), cx.owner("list")?.uid()) else {
            return Ok(Vec::new());
        };
        let uid = uid.unwrap_or_default();
        let mut found = cache.by_owner(uid).items;
        if let Some(index) = self.detached.get() {
            found.extend(cache.by(index, uid).items);
        }
        let found = found.iter().map(|child| child.metadata());
        // One that bears both the reference and the mark is found twice.
        let mut children: Vec<Child> = found.filter(|child| ours(child)).map(Child::of).collect();
        children.sort_by(|one, other| one.key.cmp(&other.key));
        children.dedup_by(|one, other| one.key == other.key);
        Ok(children)
    }

    /// The cached detached children that do not decode; their label is read leniently.
    fn undecodable<K: Resource>(&self, cx: &Context<K>) -> Result<Vec<Child>, Error> {
        let (Some(cache), uid) = (cx.cache::<C>(), cx.owner("list")?.uid()) else {
            return Ok(Vec::new());
        };
        let found = self.detached.get().map(|index| {
            let found = cache.by(index, uid.unwrap_or_default()).undecodable;
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
    uid: Option<String>,
    version: Option<String>,
    deleting: bool,
}

impl Child {
    fn of(metadata: &ObjectMeta) -> Self {
        let name = metadata.name.as_deref().unwrap_or_default();
        Self {
            key: ObjectKey::new(metadata.namespace.as_deref(), name),
            uid: metadata.uid.clone(),
            version: metadata.resource_version.clone(),
            deleting: metadata.deletion_timestamp.is_some(),
        }
    }

    fn of_undecodable(object: &Arc<Undecodable>) -> Self {
        Self {
            key: object.key.clone(),
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
async fn remove<K: Resource, C: Resource>(
    cx: &Context<K>,
    verb: &'static str,
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
            .send_delete::<PartialObject<C>>(verb, &child.key, &params)
            .await
        {
            Err(error) if conflicts(&error) && attempt < ATTEMPTS => {}
            Err(error) => return Err(error),
            Ok(()) => return Ok(()),
        }
        let api = cx.api_of::<PartialObject<C>>(&child.key);
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
